import Foundation
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// Two queues, each with a table of its own, and files in one directory.
@Suite(.timeLimit(.minutes(1))) struct SharedDirectoryTests {
    @Test
    func byAQueueOfAnotherTableInTheSameFolderGetsAnotherPath() async throws {
        try await AttachmentsFolder.run { folder async throws in
            let harness = QueueHarness()
            let storage = FileManagerStorageAdapter()
            let photos = harness.makeQueue(directory: folder.path, localStorage: storage)
            let documents = harness.makeQueue(
                .test { $0.tableName = "document_files" },
                directory: folder.path,
                localStorage: storage
            )
            try await harness.closing(photos) {
                var paths: [String?] = []
                for (queue, text) in [(photos, "photo"), (documents, "document")] {
                    let saved = try await queue.saveFile(
                        data: Data(text.utf8),
                        mediaType: "image/jpeg",
                        fileExtension: "jpg",
                        id: "a"
                    )
                    #expect(saved.filename == "a.jpg")
                    paths.append(saved.localUri)
                }
                let (photo, document) = (try #require(paths[0]), try #require(paths[1]))
                #expect(try await storage.readFile(filePath: photo) == Data("photo".utf8))
                #expect(try await storage.readFile(filePath: document) == Data("document".utf8))
                try await documents.close()
            }
        }
    }

    @Test
    func byDownloadsOfTwoQueuesAtOnceGivesEachItsOwnContent() async throws {
        let harness = QueueHarness(remote: InMemoryRemoteStorage(files: ["x.jpg": Data("photo".utf8)]))
        let others = InMemoryRemoteStorage(files: ["x.jpg": Data("document".utf8)])
        let photos = harness.makeQueue { AsyncThrowingStream { _ in } }
        let documents = harness.makeQueue(.test { $0.tableName = "document_files" }, storage: .remote(others)) {
            AsyncThrowingStream { _ in }
        }
        try await harness.closing(photos) {
            let gate = harness.remote.hold(.download)
            let row = Attachment(id: "x", filename: "x.jpg", state: .queuedDownload)
            try await photos.startSync()
            try await harness.insert(row)
            try await gate.waitForArrivals(1)
            try await documents.startSync()
            try await harness.insert(row, table: "document_files")
            try await harness.log.wait(for: .warning, containing: "Another attachment is being saved, downloaded")
            gate.open()
            let photo = try #require(try await harness.wait(for: "x", .synced)?.localUri)
            // The wait of the second one ends with a new start.
            try await photos.stopSyncing()
            try await documents.startSync()
            let rows = try await harness.waitForRows(in: "document_files") { $0["x"]?.state == .synced }
            let document = try #require(rows["x"]?.localUri)
            #expect(harness.local[photo] == Data("photo".utf8))
            #expect(harness.local[document] == Data("document".utf8))
            try await documents.close()
        }
    }

    @Test
    func thatTwoQueuesHaveFromEarlierKeepsItsFileWhenItExpiresInOneOfThem() async throws {
        try await QueueHarness.run(.test { $0.archivedCacheLimit = 0 }) { harness, queue in
            let other = harness.makeQueue(.test { $0.tableName = "document_files" }) { AsyncThrowingStream { _ in } }
            let path = harness.path("a.jpg")
            harness.local[path] = Data("theirs".utf8)
            try await harness.insert(
                Attachment(id: "a", filename: "a.jpg", state: .queuedUpload, localUri: path),
                table: "document_files"
            )
            try await harness.insert(Attachment(id: "a", filename: "a.jpg", state: .archived, localUri: path))
            try await queue.expireCache()
            #expect(try await harness.rows().isEmpty)
            #expect(harness.local[path] == Data("theirs".utf8))
            try await other.close()
        }
    }

    @Test
    func thatTwoQueuesHaveFromEarlierKeepsItsFileWhenOneOfThemDeletesIt() async throws {
        try await QueueHarness.run { harness, queue in
            let other = harness.makeQueue(.test { $0.tableName = "document_files" }) { AsyncThrowingStream { _ in } }
            let path = harness.path("a.jpg")
            harness.local[path] = Data("theirs".utf8)
            try await harness.insert(
                Attachment(id: "a", filename: "a.jpg", state: .queuedUpload, localUri: path),
                table: "document_files"
            )
            try await harness.insert(Attachment(id: "a", filename: "a.jpg", state: .queuedDelete, localUri: path))
            try await queue.startSync()
            try await harness.waitForRows { $0.isEmpty }
            #expect(harness.local[path] == Data("theirs".utf8))
            try await other.close()
        }
    }
}
