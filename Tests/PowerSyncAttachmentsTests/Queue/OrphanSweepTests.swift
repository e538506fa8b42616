import Foundation
import NIOConcurrencyHelpers
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// Sweeping the file system, where a file has many paths.
@Suite(.timeLimit(.minutes(1)))
struct OrphanSweepTests {
    /// A directory with a saved file and what continues its upload, the part of a download that waits, and a file that no row leads to.
    ///
    /// All are two hours old.
    private struct Scene {
        static let used = ["saved.txt", "saved.txt.upload.pstmp", "waiting.jpg.download.pstmp"]
        static let all = ["orphan.txt"] + used

        let folder: AttachmentsFolder
        let harness: QueueHarness
        let queue: AttachmentQueue

        var names: [String] {
            get throws { try FileManager.default.contentsOfDirectory(atPath: folder("files")).sorted() }
        }

        func prepare() async throws {
            harness.date.withLockedValue { $0 = Date() }
            try await queue.waitForInit()
            try await queue.saveFile(
                data: Data("saved".utf8),
                mediaType: "text/plain",
                fileExtension: "txt",
                id: "saved"
            )
            try await harness.insert(Attachment(id: "waiting", filename: "waiting.jpg", state: .queuedDownload))
            try folder.write(Data("part".utf8), to: "files/waiting.jpg.download.pstmp")
            try folder.write(Data("journal".utf8), to: "files/saved.txt.upload.pstmp")
            try folder.write(Data("orphan".utf8), to: "files/orphan.txt")
            // Files cannot be made older: the system knows when that was done.
            harness.date.withLockedValue { $0.addTimeInterval(7200) }
        }

        func sweep() async throws -> Int {
            try await queue.sweepOrphanFiles(olderThan: .seconds(3600))
        }
    }

    /// Runs a test.
    ///
    /// - Parameters:
    ///   - directory: How the path of the directory goes on behind that of its folder.
    ///   - localStorage: Keeps the files.
    ///   - root: How the paths of an app begin that makes them itself, with `~` for the folder.
    ///   - body: The test.
    /// - Throws: What it throws.
    private func withScene(
        directory: String = "/files",
        localStorage: any LocalStorageAdapter = FileManagerStorageAdapter(),
        root: String? = nil,
        _ body: (Scene) async throws -> Void
    ) async throws {
        try await AttachmentsFolder.run { folder async throws in
            try folder.makeDirectory("files")
            try folder.link("alias", to: folder("files"))
            let harness = QueueHarness()
            let root = root?.replacingOccurrences(of: "~", with: folder.path)
            let queue = harness.makeQueue(
                .test { options in
                    if let root { options.getLocalUri = { "\(root)/\($0)" } }
                },
                directory: folder.path + directory,
                localStorage: localStorage
            )
            let scene = Scene(folder: folder, harness: harness, queue: queue)
            try await harness.closing(queue) {
                try await scene.prepare()
                try await body(scene)
            }
        }
    }

    @Test
    func filesOfAnotherQueueInTheSameDirectoryStay() async throws {
        try await withScene { scene async throws in
            let other = scene.harness.makeQueue(
                .test { $0.tableName = "document_files" },
                directory: scene.folder("files"),
                localStorage: FileManagerStorageAdapter()
            )
            let theirs = try await other.saveFile(data: Data("theirs".utf8), mediaType: "a/b", fileExtension: "pdf")
            scene.harness.date.withLockedValue { $0.addTimeInterval(7200) }
            #expect(try await scene.sweep() == 1)
            #expect(try scene.names == (Scene.used + [theirs.filename]).sorted())
            try await other.close()
        }
    }

    @Test(arguments: ["/files", "/files/"])
    func pathOfTheDirectoryMayEndWithASlash(directory: String) async throws {
        try await withScene(directory: directory) { scene async throws in
            #expect(try await scene.sweep() == 1)
            #expect(try scene.names == Scene.used)
        }
    }

    @Test
    func fileThatWasLinkedJustNowIsNotOldWhateverTheAgeOfItsContent() async throws {
        try await withScene { scene async throws in
            scene.harness.date.withLockedValue { $0 = Date() }
            try scene.folder.write(Data("photo".utf8), to: "photo.jpg")
            try scene.folder.age("photo.jpg", seconds: 7 * 86_400)
            // The first step of saving it, whose row is still to come.
            try await FileManagerStorageAdapter()
                .linkFile(sourcePath: scene.folder("photo.jpg"), targetPath: scene.folder("files/photo.jpg"))
            #expect(try await scene.sweep() == 0)
            #expect(try scene.names == ["orphan.txt", "photo.jpg"] + Scene.used)
            scene.harness.date.withLockedValue { $0.addTimeInterval(7200) }
            #expect(try await scene.sweep() == 2)
            #expect(try scene.names == Scene.used)
        }
    }

    @Test
    func pathsOfTheAppMayLeadThroughASymbolicLink() async throws {
        try await withScene(root: "~/alias") { scene async throws in
            #expect(try await scene.harness.rows()["saved"]?.localUri == scene.folder("alias/saved.txt"))
            #expect(try await scene.sweep() == 1)
            #expect(try scene.names == Scene.used)
            #expect(try await scene.sweep() == 0)
        }
    }

    @Test
    func fileOfARowThatCannotBeReadIsKept() async throws {
        try await withScene { scene async throws in
            try await scene.harness.database.execute("UPDATE attachments SET state = 77 WHERE id = 'saved'")
            #expect(try await scene.sweep() == 1)
            #expect(try scene.names == Scene.used)
        }
    }

    @Test
    func nothingIsRemovedWhileAPathCannotBeExamined() async throws {
        try await withScene { scene async throws in
            try scene.folder.link("circle", to: "circle")
            try await scene.harness.insert(
                Attachment(
                    id: "lost",
                    filename: "lost.jpg",
                    state: .synced,
                    hasSynced: true,
                    localUri: scene.folder("circle/lost.jpg")
                )
            )
            await #expect(throws: PowerSyncAttachmentError.self) { try await scene.sweep() }
            #expect(try scene.names == Scene.all)
        }
    }

    @Test
    func nothingIsRemovedWhenTheStorageNamesFilesOtherwiseThanItListsThem() async throws {
        try await withScene(localStorage: URLStorage(), root: "file://~/files") { scene async throws in
            await #expect(throws: PowerSyncAttachmentError.self) { try await scene.sweep() }
            #expect(try scene.names == Scene.all)
        }
    }
}

/// The file system, with URLs for paths of files.
private struct URLStorage: LocalStorageAdapter {
    let base = FileManagerStorageAdapter()

    private func path(_ url: String) -> String {
        url.hasPrefix("file://") ? String(url.dropFirst("file://".count)) : url
    }

    func saveFile(filePath: String, data: Data) async throws -> Int64 {
        try await base.saveFile(filePath: path(filePath), data: data)
    }

    func readFile(filePath: String, mediaType: String?) async throws -> Data {
        try await base.readFile(filePath: path(filePath), mediaType: mediaType)
    }

    func deleteFile(filePath: String) async throws {
        try await base.deleteFile(filePath: path(filePath))
    }

    func fileExists(filePath: String) async throws -> Bool {
        try await base.fileExists(filePath: path(filePath))
    }

    func makeDir(path: String) async throws {
        try await base.makeDir(path: path)
    }

    func rmDir(path: String) async throws {
        try await base.rmDir(path: path)
    }

    func copyFile(sourcePath: String, targetPath: String) async throws {
        try await base.copyFile(sourcePath: path(sourcePath), targetPath: path(targetPath))
    }

    func files(path: String, notChangedSince date: Date) async throws -> [String] {
        try await base.files(path: path, notChangedSince: date)
    }
}
