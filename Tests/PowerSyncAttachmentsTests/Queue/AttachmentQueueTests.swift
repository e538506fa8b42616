import Foundation
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1)))
struct AttachmentQueueTests {
    @Test
    func referenceWithoutAFileIsDownloaded() async throws {
        try await QueueHarness.run(remote: ["a.jpg": "abc"]) { harness, queue in
            try await queue.startSync()
            try await harness.link("a")
            let row = try #require(try await harness.wait(for: "a", .synced))
            #expect(row.localUri == harness.path("a.jpg"))
            #expect(row.size == 3)
            #expect(row.hasSynced == true)
            #expect(try await queue.localStorage.readFile(filePath: harness.path("a.jpg")) == Data("abc".utf8))
        }
    }

    @Test
    func savedFileIsLinkedByTheHookAndUploaded() async throws {
        try await QueueHarness.run { harness, queue in
            try await queue.startSync()
            let saved = try await queue.saveFile(data: Data("abc".utf8), mediaType: "image/jpeg", fileExtension: "jpg")
            {
                #expect($1.state == .queuedUpload)
                try $0.execute(sql: "INSERT INTO users (id, photo_id) VALUES (uuid(), ?)", parameters: [$1.id])
            }
            let row = try #require(try await harness.wait(for: saved.id, .synced))
            #expect(row.mediaType == "image/jpeg")
            #expect(harness.remote[saved.filename] == Data("abc".utf8))
            #expect(harness.remote.calls == [.init(.upload, id: saved.id)])
        }
    }

    @Test
    func whileItsDirectoryCannotBeMadeAQueueTakesNoFileForLost() async throws {
        struct NoVolume: Error {}
        let harness = QueueHarness()
        let row = Attachment(id: "a", filename: "a.jpg", state: .queuedUpload, localUri: harness.path("a.jpg"))
        try await harness.insert(row)
        harness.local.fail(.makeDirectory, path: QueueHarness.directory, with: NoVolume(), times: 1)
        let queue = harness.makeQueue()
        try await harness.closing(queue) {
            await #expect(throws: NoVolume.self) { try await queue.waitForInit() }
            #expect(try await harness.rows()["a"]?.state == .queuedUpload)
            _ = try await harness.local.saveFile(filePath: harness.path("a.jpg"), data: Data("abc".utf8))
            try await queue.startSync()
            try await harness.wait(for: "a", .synced)
            #expect(harness.remote["a.jpg"] == Data("abc".utf8))
        }
    }

    @Test
    func clearingAndThenClosingSucceeds() async throws {
        try await QueueHarness.run { harness, queue in
            try await queue.saveFile(data: Data("abc".utf8), mediaType: "image/jpeg", fileExtension: "jpg")
            try await queue.clearQueue()
            try await queue.close()
            #expect(try await harness.rows().isEmpty)
            #expect(harness.local.files.isEmpty)
        }
    }

    @Test
    func unlinkingArchivesAndLinkingAgainRestoresWithoutASecondDownload() async throws {
        try await QueueHarness.run(remote: ["a.jpg": "abc"]) { harness, queue in
            try await queue.startSync()
            try await harness.link("a")
            try await harness.wait(for: "a", .synced)
            try await harness.unlink("a")
            try await harness.wait(for: "a", .archived)
            try await harness.link("a")
            try await harness.wait(for: "a", .synced)
            #expect(harness.remote.calls == [.init(.download, id: "a")])
        }
    }

    @Test
    func withoutACacheTheRowAndTheFileGoWhenTheReferenceDoes() async throws {
        try await QueueHarness.run(remote: ["a.jpg": "abc"], .test { $0.archivedCacheLimit = 0 }) { harness, queue in
            try await queue.startSync()
            try await harness.link("a")
            try await harness.wait(for: "a", .synced)
            try await harness.unlink("a")
            try await harness.waitForRows { $0.isEmpty }
            #expect(harness.local.files.isEmpty)
            #expect(harness.remote["a.jpg"] != nil)
        }
    }

    @Test
    func deletedFileGoesFromBothStoragesWithItsRow() async throws {
        try await QueueHarness.run(remote: ["a.jpg": "abc"]) { harness, queue in
            try await queue.startSync()
            try await harness.link("a")
            try await harness.wait(for: "a", .synced)
            try await queue.deleteFile(attachmentId: "a") { context, attachment in
                try context.execute(sql: "DELETE FROM users WHERE photo_id = ?", parameters: [attachment.id])
            }
            try await harness.waitForRows { $0.isEmpty }
            #expect(harness.remote.files.isEmpty)
            #expect(harness.local.files.isEmpty)
        }
    }

    @Test
    func rowsBecomeSyncedOneByOne() async throws {
        try await QueueHarness.run(remote: ["a.jpg": "a", "b.jpg": "b"]) { harness, queue in
            let gate = harness.remote.hold(.download, id: "b")
            try await queue.startSync()
            try await harness.link(["a", "b"])
            let rows = try await harness.waitForRows { $0["a"]?.state == .synced }
            #expect(rows["b"]?.state == .queuedDownload)
            gate.open()
            try await harness.wait(for: "b", .synced)
        }
    }

    @Test
    func savingDoesNotWaitForADownloadThatHangs() async throws {
        try await QueueHarness.run(remote: ["a.jpg": "a"]) { harness, queue in
            let gate = harness.remote.hold(.download)
            try await queue.startSync()
            try await harness.link("a")
            try await gate.waitForArrivals(1)
            let saved = try await queue.saveFile(data: Data("b".utf8), mediaType: "image/jpeg", fileExtension: "jpg") {
                try $0.execute(sql: "INSERT INTO users (id, photo_id) VALUES (uuid(), ?)", parameters: [$1.id])
            }
            #expect(try await harness.rows()["a"]?.state == .queuedDownload)
            try await queue.deleteFile(attachmentId: saved.id)
            gate.open()
            try await harness.waitForRows { $0.keys.sorted() == ["a"] && $0["a"]?.state == .synced }
        }
    }

    @Test
    func fileThatWasSavedOfflineIsUploadedOnceAfterARestart() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "test.db").path
        let before = QueueHarness(path: path)
        let first = before.makeQueue()
        let saved = try await first.saveFile(data: Data("a".utf8), mediaType: "image/jpeg", fileExtension: "jpg") {
            try $0.execute(sql: "INSERT INTO users (id, photo_id) VALUES (uuid(), ?)", parameters: [$1.id])
        }
        try await first.close()
        try await before.database.close()

        let after = QueueHarness(path: path, local: before.local)
        let second = after.makeQueue()
        try await second.startSync()
        try await after.wait(for: saved.id, .synced)
        #expect(after.remote.calls == [.init(.upload, id: saved.id)])
        try await second.close()
        try await after.database.close()
    }

    @Test
    func withoutAStartASavedFileWaitsForItsUpload() async throws {
        try await QueueHarness.run { harness, queue in
            let saved = try await queue.saveFile(data: Data("a".utf8), mediaType: "image/jpeg", fileExtension: nil)
            try await queue.waitForInit()
            #expect(saved.filename == "\(saved.id).attachment")
            #expect(try await harness.rows()[saved.id] == saved)
            #expect(harness.local[harness.path(saved.filename)] == Data("a".utf8))
            #expect(harness.remote.calls.isEmpty)
        }
    }

    @Test
    func nameAndMetaDataOfAWatchedItemAreKept() async throws {
        let harness = QueueHarness(remote: InMemoryRemoteStorage(files: ["docs/a.pdf": Data("pdf".utf8)]))
        let queue = harness.makeQueue(references: {
            AsyncThrowingStream {
                $0.yield([
                    WatchedAttachmentItem(
                        id: "a",
                        filename: "docs/a.pdf",
                        metaData: #"{"pages":3}"#,
                        mediaType: "application/pdf"
                    )
                ])
            }
        })
        try await queue.startSync()
        let row = try #require(try await harness.wait(for: "a", .synced))
        #expect(row.filename == "docs/a.pdf")
        #expect(row.metaData == #"{"pages":3}"#)
        #expect(row.mediaType == "application/pdf")
        #expect(harness.local[harness.path("docs/a.pdf")] == Data("pdf".utf8))
        try await queue.close()
        try await harness.database.close()
    }

    @Test(arguments: ["../../x", "a/b", "a\\b", "a\0b"])
    func extensionThatLeadsElsewhereIsRefused(fileExtension: String) async throws {
        try await QueueHarness.run { harness, queue in
            await #expect(throws: PowerSyncAttachmentError.self) {
                try await queue.saveFile(data: Data("a".utf8), mediaType: "image/jpeg", fileExtension: fileExtension)
            }
            #expect(harness.local.files.isEmpty)
            let rows = try await harness.rows()
            #expect(rows.isEmpty)
        }
    }

    @Test(arguments: ["", nil])
    func noExtensionGivesTheDefaultOne(fileExtension: String?) async throws {
        try await QueueHarness.run { harness, queue in
            let saved = try await queue.saveFile(
                data: Data("a".utf8),
                mediaType: "image/jpeg",
                fileExtension: fileExtension
            )
            #expect(saved.filename == "\(saved.id).attachment")
        }
    }

    @Test
    func watchedNamesThatLeadElsewhereAreSkipped() async throws {
        let names = ["../../etc/passwd", "/etc/passwd", "a/../../b", "a\0b", String(repeating: "x", count: 300)]
        let harness = QueueHarness(remote: InMemoryRemoteStorage(files: ["good.jpg": Data("good".utf8)]))
        let queue = harness.makeQueue()
        var items = names.enumerated().map { WatchedAttachmentItem(id: "bad\($0)", filename: $1) }
        items.append(WatchedAttachmentItem(id: "good", fileExtension: "jpg"))
        try await queue.processWatchedAttachments(items: items)
        #expect(try await harness.rows().keys.sorted() == ["good"])
        #expect(harness.log.messages(.warning).count == names.count)
        try await queue.close()
        try await harness.database.close()
    }

    @Test
    func rowWhoseNameLeadsElsewhereIsNeverTransferredAndItsFileNeverRemoved() async throws {
        try await QueueHarness.run(.test { $0.errorHandler = DefaultSyncErrorHandler() }) { harness, queue in
            harness.local["/secret"] = Data("secret".utf8)
            try await harness.insert(
                Attachment(id: "a", filename: "../secret", state: .queuedUpload, localUri: "/secret"),
                Attachment(id: "b", filename: "../secret", state: .queuedDelete, localUri: "/secret")
            )
            try await queue.startSync()
            try await harness.waitForRows { $0["a"]?.state == .archived && $0["b"]?.state == .archived }
            #expect(harness.remote.calls.isEmpty)
            #expect(harness.local["/secret"] == Data("secret".utf8))
        }
    }
}
