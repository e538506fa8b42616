import Foundation
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct FileManagerStorageAdapterTests {
    private let storage = FileManagerStorageAdapter()

    private func inode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
    }

    @Test
    func fileAppearsUnderItsNameWhenItsLastChunkIsOnTheDiskAndNothingElseStays() async throws {
        try await AttachmentsFolder.run { folder async throws in
            try folder.write(Data("old".utf8), to: "a")
            let (chunks, continuation) = AsyncThrowingStream.makeStream(of: Data.self)
            async let size = storage.saveFile(filePath: folder("a"), chunks: AttachmentChunks(Waiting(chunks: chunks)))
            continuation.yield(.pattern(600_000))
            continuation.yield(.pattern(600_000))
            #expect(try folder.read("a") == Data("old".utf8))
            continuation.finish()
            #expect(try await size == 1_200_000)
            #expect(try folder.names == ["a"])
            #expect(try folder.read("a") == Data.pattern(600_000) + Data.pattern(600_000))
        }
    }

    @Test
    func filesAndDirectoriesAreForNobodyButTheUserOfTheProcess() async throws {
        try await AttachmentsFolder.run { folder async throws in
            _ = try await storage.saveFile(filePath: folder("new/sub/a"), data: .pattern(10))
            try await storage.makeDir(path: folder("made/sub"))
            try await storage.copyFile(sourcePath: folder("new/sub/a"), targetPath: folder("copied/sub/a"))
            for (name, expected) in [
                ("new", 0o700), ("new/sub", 0o700), ("new/sub/a", 0o600), ("made", 0o700), ("made/sub", 0o700),
                ("copied", 0o700), ("copied/sub", 0o700), ("copied/sub/a", 0o600),
            ] {
                let attributes = try FileManager.default.attributesOfItem(atPath: folder(name))
                #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == expected, "\(name)")
            }
        }
    }

    @Test
    func saveThatIsCancelledOrFailsLeavesNeitherFileNorUnfinishedFile() async throws {
        try await AttachmentsFolder.run { folder async throws in
            let (chunks, continuation) = AsyncThrowingStream.makeStream(of: Data.self)
            continuation.yield(.pattern(600_000))
            let path = folder("sub/a")
            let task = Task {
                try await storage.saveFile(filePath: path, chunks: AttachmentChunks(Waiting(chunks: chunks)))
            }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(try Set(folder.names).subtracting(["sub"]) == [])

            await #expect(throws: CocoaError.self) {
                try await storage.saveFile(
                    filePath: path,
                    chunks: AttachmentChunks(Chunks(sizes: [600_000], error: CocoaError(.fileReadCorruptFile)))
                )
            }
            #expect(try Set(folder.names).subtracting(["sub"]) == [])
        }
    }

    /// A directory in the place of a file, and a file in the place of a directory, are errors that leave nothing.
    @Test
    func obstacles() async throws {
        try await AttachmentsFolder.run { folder async throws in
            try folder.makeDirectory("d")
            try folder.write(Data(), to: "f")
            for path in [folder("d"), folder("f/a")] {
                let error = await #expect(throws: PowerSyncAttachmentError.self) {
                    try await storage.saveFile(filePath: path, data: Data("x".utf8))
                }
                guard case .ioError? = error else {
                    Issue.record("not an I/O error: \(String(describing: error))")
                    continue
                }
            }
            await #expect(throws: PowerSyncAttachmentError.self) { try await storage.readFile(filePath: folder("d")) }
            await #expect(throws: PowerSyncAttachmentError.self) { try await storage.deleteFile(filePath: folder("d")) }
            await #expect(throws: PowerSyncAttachmentError.self) { try await storage.makeDir(path: folder("f")) }
            #expect(try await !storage.fileExists(filePath: folder("d")))
            #expect(try folder.names == ["d", "f"])
        }
    }

    @Test
    func nameOf255BytesTheLongestCanBeWrittenALongerOneIsAnIOError() async throws {
        try await AttachmentsFolder.run { folder async throws in
            let name = String(repeating: "x", count: 255)
            try await storage.saveFile(filePath: folder(name), data: .pattern(10))
            #expect(try folder.names == [name])
            let error = await #expect(throws: PowerSyncAttachmentError.self) {
                try await storage.saveFile(filePath: folder(name + "x"), data: .pattern(10))
            }
            guard case .ioError(let cause as POSIXError)? = error else {
                Issue.record("not an I/O error: \(String(describing: error))")
                return
            }
            #expect(cause.code == .ENAMETOOLONG)
        }
    }

    @Test
    func nulDoesNotCutAPathShort() async throws {
        try await AttachmentsFolder.run { folder async throws in
            try folder.write(Data("safe".utf8), to: "a")
            let path = folder("a\0b")
            await expectInvalidPath { try await storage.saveFile(filePath: path, data: Data()) }
            await expectInvalidPath { _ = try await storage.readFile(filePath: path) }
            await expectInvalidPath { try await storage.deleteFile(filePath: path) }
            await expectInvalidPath { try await storage.moveFile(sourcePath: path, targetPath: folder("b")) }
            await expectInvalidPath { try await storage.copyFile(sourcePath: folder("a"), targetPath: path) }
            await expectInvalidPath { try await storage.rmDir(path: path) }
            await expectInvalidPath { try await storage.deleteFile(filePath: "") }
            #expect(try folder.read("a") == Data("safe".utf8))
        }
    }

    @Test(
        arguments: ["/", "//", "/tmp/..", NSHomeDirectory(), NSHomeDirectory() + "/"]
    )
    func rootAndTheHomeDirectoryAreNotRemoved(path: String) async {
        await expectInvalidPath { try await storage.rmDir(path: path) }
    }

    @Test
    func withADirectoryPathsOutsideAndLinksThatLeadOutsideAreRefused() async throws {
        try await AttachmentsFolder.run { folder async throws in
            try folder.makeDirectory("in")
            try folder.makeDirectory("out")
            try folder.write(Data("secret".utf8), to: "out/secret")
            try folder.link("in/link", to: folder("out"))
            try folder.link("in/file", to: folder("out/secret"))
            let storage = FileManagerStorageAdapter(directory: folder("in"))
            for path in [folder("out/secret"), folder("in/link/secret"), folder("in/file"), folder("in/../out/secret")]
            {
                await expectInvalidPath { try await storage.saveFile(filePath: path, data: Data()) }
                await expectInvalidPath { _ = try await storage.readFile(filePath: path) }
                await expectInvalidPath { try await storage.deleteFile(filePath: path) }
                await expectInvalidPath { _ = try await storage.fileExists(filePath: path) }
                await expectInvalidPath { try await storage.rmDir(path: path) }
            }
            #expect(try folder.read("out/secret") == Data("secret".utf8))
            // The app's own file may come from anywhere, and the directory itself may be made and removed.
            try await storage.moveFile(sourcePath: folder("out/secret"), targetPath: folder("in/a"))
            #expect(try folder.read("in/a") == Data("secret".utf8))
            try await storage.rmDir(path: folder("in"))
            try await storage.makeDir(path: folder("in"))
            #expect(try folder.names == ["in", "out"])
        }
    }

    @Test
    func movingOnOneVolumeRenamesTheFileAndDoesNotReadIt() async throws {
        try await AttachmentsFolder.run { folder async throws in
            try folder.write(.pattern(1000), to: "a")
            let number = try inode(folder("a"))
            try await storage.moveFile(sourcePath: folder("a"), targetPath: folder("x/b"))
            #expect(try inode(folder("x/b")) == number)
            #expect(try folder.names == ["x", "x/b"])
        }
    }

    /// A second path on one volume is another name of the file, also outside the directory of the adapter.
    @Test
    func linkingNames() async throws {
        try await AttachmentsFolder.run { folder async throws in
            try folder.makeDirectory("attachments")
            try folder.write(.pattern(1000), to: "a")
            let confined = FileManagerStorageAdapter(directory: folder("attachments"))
            let number = try inode(folder("a"))
            try await confined.linkFile(sourcePath: folder("a"), targetPath: folder("attachments/b"))
            #expect(try inode(folder("attachments/b")) == number)
            try await confined.removeSource(sourcePath: folder("a"))
            #expect(try folder.names == ["attachments", "attachments/b"])
        }
    }

    @Test
    func secondPathOfASymbolicLinkLeadsToAFileOfItsOwn() async throws {
        try await AttachmentsFolder.run { folder async throws in
            try folder.write(.pattern(1000), to: "a")
            try folder.link("link", to: folder("a"))
            try await storage.linkFile(sourcePath: folder("link"), targetPath: folder("x/b"))
            try await storage.removeSource(sourcePath: folder("link"))
            try folder.write(Data(), to: "a")
            #expect(try folder.read("x/b") == .pattern(1000))
            #expect(try folder.names == ["a", "x", "x/b"])
        }
    }

    @Test(.enabled(if: otherVolume != nil))
    func secondPathOnAnotherVolumeIsACopy() async throws {
        let other = try #require(FileManagerStorageAdapterTests.otherVolume)
        try await AttachmentsFolder.run { folder async throws in
            try await AttachmentsFolder.run(in: other) { there in
                try folder.write(.pattern(9_000_001), to: "a")
                try await storage.linkFile(sourcePath: folder("a"), targetPath: there("x/b"))
                #expect(try there.names == ["x", "x/b"])
                #expect(try there.read("x/b") == .pattern(9_000_001))
                #expect(try folder.names == ["a"])
            }
        }
    }

    /// A directory on another volume than temporary files.
    private static let otherVolume: String? = {
        let device = { (path: String) in
            try? FileManager.default.attributesOfItem(atPath: path)[.systemNumber] as? Int
        }
        let here = device(FileManager.default.temporaryDirectory.path)
        return ["/dev/shm", "/run", "/var/tmp"].first { path in
            FileManager.default.isWritableFile(atPath: path) && device(path) != nil && device(path) != here
        }
    }()

    @Test(.enabled(if: otherVolume != nil))
    func movingToAnotherVolumeCopiesAndThenRemovesTheSource() async throws {
        let other = try #require(FileManagerStorageAdapterTests.otherVolume)
        try await AttachmentsFolder.run { folder async throws in
            try await AttachmentsFolder.run(in: other) { there in
                try folder.write(.pattern(9_000_001), to: "a")
                try await storage.moveFile(sourcePath: folder("a"), targetPath: there("x/b"))
                #expect(try folder.names == [])
                #expect(try there.names == ["x", "x/b"])
                #expect(try there.read("x/b") == .pattern(9_000_001))
            }
        }
    }

    @Test
    func movingOrCopyingAMissingFileReportsItAndLeavesTheTargetAlone() async throws {
        try await AttachmentsFolder.run { folder async throws in
            try folder.write(Data("kept".utf8), to: "target")
            for operation in [storage.moveFile, storage.copyFile] {
                let error = await #expect(throws: PowerSyncAttachmentError.self) {
                    try await operation(folder("missing"), folder("target"))
                }
                guard case .fileNotFound(folder("missing"))? = error else {
                    Issue.record("not a missing file: \(String(describing: error))")
                    continue
                }
            }
            #expect(try folder.read("target") == Data("kept".utf8))
            #expect(try folder.names == ["target"])
        }
    }

    /// Old unfinished files are removed, those of downloads a week later, and everything else stays.
    @Test
    func sweep() async throws {
        try await AttachmentsFolder.run { folder async throws in
            try folder.makeDirectory("in/sub")
            try folder.makeDirectory("out")
            let old = ["in/a.jpg.1f.pstmp", "in/sub/b.jpg.download.pstmp.state.pstmp.1f.pstmp"]
            let downloads = ["in/sub/b.jpg.download.pstmp", "in/sub/b.jpg.download.pstmp.state.pstmp"]
            let kept = ["in/a.jpg", "in/pstmp", "in/a.pstmp.jpg", "in/a.download", "out/c.1f.pstmp"]
            for name in old + downloads + kept { try folder.write(Data("x".utf8), to: name) }
            // Files cannot be made older, since the system knows when that was done, but younger: this one is of next month.
            try folder.write(Data("x".utf8), to: "in/young.1f.pstmp")
            try folder.age("in/young.1f.pstmp", seconds: -30 * 86_400)
            try folder.link("in/link", to: folder("out"))
            try folder.link("in/link.pstmp", to: folder("in/a.jpg"))
            let expected = ["in", "in/sub", "in/link", "in/link.pstmp", "in/young.1f.pstmp", "out"] + kept
            for days in [0, 6, 7] {
                let date = Date(timeIntervalSinceNow: 100 + TimeInterval(days) * 86_400)
                try await storage.removeTemporaryFiles(path: folder("in"), olderThan: date)
                let rest = days < 7 ? downloads : []
                #expect(try Set(folder.names) == Set(expected + rest))
            }
        }
    }

    @Test
    func fileThatHasJustGotANameIsYoungHoweverOldItsContentIs() async throws {
        try await AttachmentsFolder.run { folder async throws in
            try folder.makeDirectory("in")
            // As the links have that are about to get the names of attachments.
            let names = ["in/linked", "in/linked.1f.pstmp", "in/linked.download.pstmp", "in/moved"]
            for name in names { try folder.write(Data("x".utf8), to: String(name.dropFirst("in/".count))) }
            for name in names {
                let source = String(name.dropFirst("in/".count))
                try folder.age(source, seconds: 30 * 86_400)
                if name == "in/moved" {
                    try await storage.moveFile(sourcePath: folder(source), targetPath: folder(name))
                } else {
                    try await storage.linkFile(sourcePath: folder(source), targetPath: folder(name))
                }
            }
            let oneHourAgo = Date(timeIntervalSinceNow: -3600)
            #expect(try await storage.files(path: folder("in"), notChangedSince: oneHourAgo) == [])
            try await storage.removeTemporaryFiles(path: folder("in"), olderThan: oneHourAgo)
            #expect(try Set(folder.names).isSuperset(of: names))
            let inOneHour = Date(timeIntervalSinceNow: 3600)
            #expect(
                try await Set(storage.files(path: folder("in"), notChangedSince: inOneHour))
                    == Set(names.map { folder($0) })
            )
        }
    }

    @Test
    func manyFilesAreWrittenAndReadAtTheSameTime() async throws {
        try await AttachmentsFolder.run { folder async throws in
            try await withThrowingTaskGroup { group in
                for number in 0..<100 {
                    group.addTask {
                        // Ten at a time fight for a name.
                        let path = folder("\(number % 10)")
                        try await storage.saveFile(filePath: path, data: .pattern(50_000))
                        #expect(try await storage.readFile(filePath: path) == .pattern(50_000))
                    }
                }
                try await group.waitForAll()
            }
            #expect(try folder.names == (0..<10).map(String.init))
        }
    }
}

/// A stream that also tells when it is cancelled.
private struct Waiting: AsyncSequence, Sendable {
    typealias Element = Data
    typealias Failure = any Error

    let chunks: AsyncThrowingStream<Data, any Error>

    func makeAsyncIterator() -> AsyncThrowingStream<Data, any Error>.Iterator { chunks.makeAsyncIterator() }
}
