import Foundation
import NIOConcurrencyHelpers
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// Saving and downloading where something is already at the path of the file name.
@Suite(.timeLimit(.minutes(1))) struct TakenPathTests {
    /// What is at the path.
    enum Owner: CaseIterable, Sendable {
        /// The file of another attachment of the table, which is not uploaded yet.
        case row
        /// The file of an attachment of another queue, which is not uploaded yet.
        case otherQueue
        case fileWithoutRow, directory, link, linkToNothing
    }

    enum Source: CaseIterable, Sendable {
        case data, stream, copied, moved
    }

    private struct Refused: Error {}

    private static let content = Data("new".utf8)
    private static let theirs = Data("theirs".utf8)

    /// A folder with a queue over real files, whose file names all lead to one path.
    private struct Scene: Sendable {
        let folder: AttachmentsFolder
        let harness: QueueHarness
        let storage: InterruptedStorage
        let queue: AttachmentQueue

        var path: String { folder("attachments/taken.mov") }
        var source: String { folder("camera/1.mov") }

        static func run(_ body: (Scene) async throws -> Void) async throws {
            try await AttachmentsFolder.run { folder async throws in
                let harness = QueueHarness(
                    remote: InMemoryRemoteStorage(files: ["a.mov": TakenPathTests.content, "b.mov": Data("b".utf8)])
                )
                let storage = InterruptedStorage()
                let options = AttachmentQueueOptions.test {
                    $0.getLocalUri = { _ in folder("attachments/taken.mov") }
                }
                let queue = harness.makeQueue(
                    options,
                    directory: folder("attachments"),
                    localStorage: InterruptedExclusiveStorage(base: storage)
                ) { AsyncThrowingStream { _ in } }
                try await harness.closing(queue) {
                    try await queue.waitForInit()
                    try await body(Scene(folder: folder, harness: harness, storage: storage, queue: queue))
                }
            }
        }

        /// Empties the table and the folder, and puts something at the path.
        func prepare(_ owner: Owner) async throws {
            storage.arm(nil)
            try await harness.database.execute("DELETE FROM attachments")
            try await harness.database.execute("DELETE FROM document_files")
            try? FileManager.default.removeItem(atPath: folder.path)
            try folder.makeDirectory("camera")
            try folder.write(TakenPathTests.content, to: "camera/1.mov")
            try folder.makeDirectory("attachments")
            switch owner {
            case .row, .otherQueue:
                try folder.write(TakenPathTests.theirs, to: "attachments/taken.mov")
                try await harness.insert(
                    Attachment(id: "theirs", filename: "theirs.mov", state: .queuedUpload, localUri: path),
                    table: owner == .row ? "attachments" : "document_files"
                )
            case .fileWithoutRow:
                try folder.write(TakenPathTests.theirs, to: "attachments/taken.mov")
            case .directory:
                try folder.makeDirectory("attachments/taken.mov")
                try folder.write(TakenPathTests.theirs, to: "attachments/taken.mov/inside")
            case .link:
                try folder.write(TakenPathTests.theirs, to: "attachments/target")
                try folder.link("attachments/taken.mov", to: folder("attachments/target"))
            case .linkToNothing:
                try folder.link("attachments/taken.mov", to: folder("attachments/nothing"))
            }
        }

        func save(
            _ source: Source,
            id: String?,
            hook: @escaping @Sendable () throws -> Void = {}
        ) async throws -> Attachment {
            let hook: @Sendable (any ConnectionContext, Attachment) throws -> Void = { _, _ in try hook() }
            switch source {
            case .data:
                return try await queue.saveFile(
                    data: TakenPathTests.content,
                    mediaType: "video/quicktime",
                    fileExtension: "mov",
                    id: id,
                    updateHook: hook
                )
            case .stream:
                return try await queue.saveFile(
                    stream: AsyncStream<Data> { continuation in
                        continuation.yield(TakenPathTests.content)
                        continuation.finish()
                    },
                    mediaType: "video/quicktime",
                    fileExtension: "mov",
                    id: id,
                    updateHook: hook
                )
            case .copied, .moved:
                return try await queue.saveFile(
                    fromFile: self.source,
                    move: source == .moved,
                    mediaType: "video/quicktime",
                    fileExtension: "mov",
                    id: id,
                    updateHook: hook
                )
            }
        }

        /// Everything in the folder with what it is.
        var state: [String: String] {
            get throws {
                var state: [String: String] = [:]
                for name in try folder.names {
                    if let target = try? FileManager.default.destinationOfSymbolicLink(atPath: folder(name)) {
                        state[name] = "-> \(target)"
                    } else {
                        state[name] =
                            (try? folder.read(name)).map { String(decoding: $0, as: UTF8.self) } ?? "directory"
                    }
                }
                return state
            }
        }
    }

    @Test(arguments: Owner.allCases, Source.allCases)
    func keepsWhatIsThereANewFileGetsAnotherPath(owner: Owner, source: Source) async throws {
        try await Scene.run { scene async throws in
            for id in [nil, "a"] {
                try await scene.prepare(owner)
                let before = try scene.state
                let saved = try await scene.save(source, id: id)
                let path = try #require(saved.localUri)
                #expect(path != scene.path)
                #expect(AttachmentPath.candidates(for: scene.path, id: saved.id)[1] == path)
                #expect(saved.size == Int64(Self.content.count))
                var after = try scene.state
                #expect(after.removeValue(forKey: String(path.dropFirst(scene.folder.path.count + 1))) == "new")
                if source == .moved { after["camera/1.mov"] = "new" }
                #expect(after == before)
            }
        }
    }

    /// The failing step is each call to the storage, the hook, and a cancellation.
    @Test(arguments: Owner.allCases, Source.allCases)
    func keepsWhatIsThereWhenTheSaveFails(owner: Owner, source: Source) async throws {
        try await Scene.run { scene async throws in
            try await scene.prepare(owner)
            _ = try await scene.save(source, id: "a")
            let calls = scene.storage.calls
            for (number, call) in calls.enumerated() where call != "removeSource" {
                for fault in InterruptedStorage.Fault.allCases where fault != .held {
                    // A storage that has created a file says so.
                    if call == "createFile", fault == .failsAfter { continue }
                    try await scene.prepare(owner)
                    let (before, rows) = (try scene.state, try await scene.harness.rows())
                    scene.storage.arm(fault, at: number)
                    await #expect(throws: (any Error).self, "\(fault) at \(call)") {
                        // A cancelled task cannot be used for more.
                        try await Task { try await scene.save(source, id: "a") }.value
                    }
                    #expect(try scene.state == before, "\(fault) at \(call)")
                    #expect(try await scene.harness.rows() == rows, "\(fault) at \(call)")
                }
            }
            try await scene.prepare(owner)
            let before = try scene.state
            await #expect(throws: Refused.self) { try await scene.save(source, id: "a") { throw Refused() } }
            #expect(try scene.state == before)
        }
    }

    @Test(arguments: AttachmentState.allCases)
    func byTheFileNameOfAnotherAttachmentIsAnErrorThatNamesBoth(state: AttachmentState) async throws {
        try await QueueHarness.run { harness, _ in
            let queue = FixedNameQueue(harness: harness)
            try await harness.insert(Attachment(id: "first", filename: "photo.jpg", state: state))
            let error = await #expect(throws: PowerSyncAttachmentError.self) {
                try await queue.saveFile(data: Data("2".utf8), mediaType: "image/jpeg", fileExtension: nil) { _, _ in }
            }
            #expect(error?.description.contains("The attachment first has the file name photo.jpg already") == true)
            #expect(harness.local.files.isEmpty)
            #expect(try await harness.rows().count == 1)
        }
    }

    @Test
    func isSavedToOnceByQueueTypesOfTheAppsThatNameAllFilesAlike() async throws {
        try await QueueHarness.run { harness, _ in
            let saved = await withTaskGroup(of: Attachment?.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        try? await FixedNameQueue(harness: harness).saveFile(
                            data: Data("\(number)".utf8),
                            mediaType: "image/jpeg",
                            fileExtension: nil
                        ) { _, _ in }
                    }
                }
                return await group.reduce(into: [Attachment]()) { if let saved = $1 { $0.append(saved) } }
            }
            let row = try #require(saved.first)
            #expect(saved.count == 1)
            #expect(try await harness.rows() == [row.id: row])
            #expect(harness.local.files.count == 1)
            let path = try #require(row.localUri)
            #expect(harness.local[path]?.isEmpty == false)
        }
    }

    @Test(arguments: Owner.allCases)
    func keepsWhatIsThereWhenADownloadArrives(owner: Owner) async throws {
        try await Scene.run { scene async throws in
            // The other attachment is uploaded already: downloads wait for those that are not.
            try await scene.prepare(owner)
            try await scene.harness.database.execute("UPDATE attachments SET state = 3, has_synced = 1")
            let before = try scene.state
            try await scene.queue.startSync()
            try await scene.harness.insert(Attachment(id: "a", filename: "a.mov", state: .queuedDownload))
            let row = try #require(try await scene.harness.wait(for: "a", .synced))
            let path = try #require(row.localUri)
            #expect(AttachmentPath.candidates(for: scene.path, id: "a")[1] == path)
            var after = try scene.state
            #expect(after.removeValue(forKey: String(path.dropFirst(scene.folder.path.count + 1))) == "new")
            #expect(after == before)
        }
    }

    @Test
    func isGivenToTheDownloadWhoseProcessHasEndedBeforeItsRowWasWritten() async throws {
        try await Scene.run { scene async throws in
            try await scene.prepare(.fileWithoutRow)
            try scene.folder.write(Self.content, to: "attachments/taken.mov")
            try await scene.queue.startSync()
            try await scene.harness.insert(Attachment(id: "a", filename: "a.mov", state: .queuedDownload))
            let row = try #require(try await scene.harness.wait(for: "a", .synced))
            #expect(row.localUri == scene.path)
            #expect(try scene.folder.names.filter { $0.hasPrefix("attachments/") } == ["attachments/taken.mov"])
        }
    }

    @Test(arguments: [1, 2])
    func byOneOfTwoReferencesWithOneFileNameGivesTheOtherOneAPathOfItsOwn(limit: Int) async throws {
        let harness = QueueHarness(remote: InMemoryRemoteStorage(files: ["x.jpg": Data("x".utf8)]))
        let queue = harness.makeQueue(.test { $0.maxConcurrentTransfers = limit }) {
            AsyncThrowingStream { continuation in
                continuation.yield(["a", "b"].map { WatchedAttachmentItem(id: $0, filename: "x.jpg") })
            }
        }
        try await harness.closing(queue) {
            let gate = harness.remote.hold(.download)
            try await queue.startSync()
            try await gate.waitForArrivals(1)
            if limit > 1 {
                try await harness.log.wait(for: .warning, containing: "Another attachment is being saved, downloaded")
                gate.open()
                try await harness.waitForRows { rows in rows.values.contains { $0.state == .synced } }
                // The wait of the second one ends with a new start.
                try await queue.startSync()
            } else {
                gate.open()
            }
            let rows = try await harness.waitForRows { $0["a"]?.state == .synced && $0["b"]?.state == .synced }
            let paths = Set(rows.values.compactMap(\.localUri))
            #expect(paths.count == 2)
            #expect(paths == Set(harness.local.files.keys))
            #expect(harness.local.files.values.allSatisfy { $0 == Data("x".utf8) })

            // Deleting one leaves the other.
            try await queue.deleteFile(attachmentId: "a")
            try await harness.waitForRows { $0["a"]?.state != .queuedDelete }
            let kept = try #require(rows["b"]?.localUri)
            #expect(Array(harness.local.files.keys) == [kept])
        }
    }

    @Test
    func isFoundAgainAfterTheDirectoryHasMoved() async throws {
        try await AttachmentsFolder.run { folder async throws in
            let harness = QueueHarness()
            try folder.makeDirectory("old")
            let first = harness.makeQueue(directory: folder("old"), localStorage: FileManagerStorageAdapter())
            try folder.write(Self.theirs, to: "old/a.jpg")
            let saved = try await first.saveFile(
                data: Self.content,
                mediaType: "image/jpeg",
                fileExtension: "jpg",
                id: "a"
            )
            #expect(saved.localUri != folder("old/a.jpg"))
            try await first.close()
            try FileManager.default.moveItem(atPath: folder("old"), toPath: folder("new"))
            let second = harness.makeQueue(directory: folder("new"), localStorage: FileManagerStorageAdapter())
            try await harness.closing(second) {
                try await second.waitForInit()
                let path = try #require(try await harness.rows()["a"]?.localUri)
                #expect(path == AttachmentPath.candidates(for: folder("new/a.jpg"), id: "a")[1])
                #expect(try Data(contentsOf: URL(filePath: path)) == Self.content)
            }
        }
    }

    @Test
    func leavesNineOthersAndThenAnErrorThatNamesThem() async throws {
        try await QueueHarness.run { harness, queue async throws in
            let candidates = AttachmentPath.candidates(for: harness.path("a.jpg"), id: "a")
            #expect(Set(candidates).count == 10)
            for path in candidates { harness.local[path] = Self.theirs }
            let error = await #expect(throws: PowerSyncAttachmentError.self) {
                try await queue.saveFile(data: Self.content, mediaType: "image/jpeg", fileExtension: "jpg", id: "a")
            }
            #expect(error?.description.contains("There is no free path for the file a.jpg") == true)
            #expect(harness.local.files.values.allSatisfy { $0 == Self.theirs })
            #expect(try await harness.rows().isEmpty)
        }
    }

    @Test(
        arguments: [
            "/d/photo.jpg", "/d/.hidden", "/d/none", "/d/a.b.c", "/d/" + String(repeating: "ü", count: 127),
            "/d/" + String(repeating: "x", count: 250) + ".jpeg", "/d/." + String(repeating: "x", count: 254),
        ]
    )
    func hasOthersInTheSameDirectoryThatNoFileSystemRefuses(path: String) {
        let candidates = AttachmentPath.candidates(for: path, id: "id")
        #expect(candidates.first == path)
        #expect(Set(candidates).count == 10)
        for candidate in candidates {
            #expect(candidate.hasPrefix("/d/"))
            let name = candidate.dropFirst(3)
            #expect(name.utf8.count <= 255 && !name.contains("/") && !name.isEmpty)
            #expect(AttachmentPath.current(candidate, for: path, id: "id") == candidate)
        }
    }
}
