import Foundation
import PowerSyncTesting
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1)))
struct QueueConcurrencyTests {
    @Test
    func fileThatIsDeletedWhileItsUploadRunsGoesEverywhere() async throws {
        try await QueueHarness.run { harness, queue in
            let gate = harness.remote.hold(.upload)
            try await queue.startSync()
            let saved = try await queue.saveFile(data: Data("a".utf8), mediaType: "image/jpeg", fileExtension: "jpg")
            try await gate.waitForArrivals(1)
            try await queue.deleteFile(attachmentId: saved.id)
            gate.open()
            try await harness.waitForRows { $0.isEmpty }
            #expect(harness.remote.files.isEmpty)
            #expect(harness.local.files.isEmpty)
        }
    }

    @Test
    func deletionThatARunningUploadHidesBeginsWhenThatHasEndedWithoutATimer() async throws {
        let options = AttachmentQueueOptions.test {
            $0.maxConcurrentTransfers = 2
            $0.syncInterval = .zero
        }
        try await QueueHarness.run(options) { harness, queue in
            let gate = harness.remote.hold(.upload)
            try await queue.startSync()
            let first = try await queue.saveFile(data: Data("a".utf8), mediaType: "image/jpeg", fileExtension: "jpg")
            try await gate.waitForArrivals(1)
            try await queue.deleteFile(attachmentId: first.id)
            // Its upload shows that the deletion of the first one was looked at.
            let second = try await queue.saveFile(data: Data("b".utf8), mediaType: "image/jpeg", fileExtension: "jpg")
            try await gate.waitForArrivals(2)
            gate.open()
            try await harness.waitForRows { $0[first.id] == nil && $0[second.id]?.state == .synced }
            #expect(Array(harness.remote.files.keys) == [second.filename])
        }
    }

    @Test
    func downloadDoesNotReplaceTheFileOfAnotherAttachmentThatIsNotUploadedYet() async throws {
        let options = AttachmentQueueOptions.test { $0.maxConcurrentTransfers = 2 }
        try await QueueHarness.run(remote: ["x.jpg": "theirs"], options) { harness, queue in
            let gate = harness.remote.hold(.upload)
            try await queue.startSync()
            try await queue.saveFile(data: Data("ours".utf8), mediaType: "image/jpeg", fileExtension: "jpg", id: "x")
            try await gate.waitForArrivals(1)
            try await harness.insert(Attachment(id: "y", filename: "x.jpg", state: .queuedDownload))
            try await harness.log.wait(for: .warning, containing: "which is not uploaded yet, has its file at")
            #expect(harness.local[harness.path("x.jpg")] == Data("ours".utf8))
            gate.open()
            try await harness.wait(for: "x", .synced)
            #expect(harness.remote.files["x.jpg"] == Data("ours".utf8))
        }
    }

    @Test
    func fileThatIsUnlinkedWhileItsDownloadRunsIsArchivedWithTheFile() async throws {
        try await QueueHarness.run(remote: ["a.jpg": "abc"]) { harness, queue in
            let gate = harness.remote.hold(.download)
            try await queue.startSync()
            try await harness.link("a")
            try await gate.waitForArrivals(1)
            try await harness.unlink("a")
            try await harness.wait(for: "a", .archived)
            gate.open()
            let rows = try await harness.waitForRows { $0["a"]?.localUri != nil }
            #expect(rows["a"]?.state == .archived)
            #expect(rows["a"]?.hasSynced == true)
            #expect(harness.local[harness.path("a.jpg")] == Data("abc".utf8))
        }
    }

    @Test
    func fileThatIsUnlinkedAndLinkedAgainWhileItsDownloadRunsIsDownloadedOnce() async throws {
        try await QueueHarness.run(remote: ["a.jpg": "abc"]) { harness, queue in
            let gate = harness.remote.hold(.download)
            try await queue.startSync()
            try await harness.link("a")
            try await gate.waitForArrivals(1)
            try await harness.unlink("a")
            try await harness.wait(for: "a", .archived)
            try await harness.link("a")
            try await harness.wait(for: "a", .queuedDownload)
            gate.open()
            try await harness.wait(for: "a", .synced)
            #expect(harness.remote.calls.count == 1)
        }
    }

    @Test
    func clearingWhileADownloadRunsLeavesNeitherARowNorAFile() async throws {
        try await QueueHarness.run(remote: ["a.jpg": "abc"]) { harness, queue in
            let gate = harness.remote.hold(.download)
            try await queue.startSync()
            try await harness.link("a")
            try await gate.waitForArrivals(1)
            try await queue.clearQueue()
            gate.open()
            #expect(try await harness.rows().isEmpty)
            #expect(harness.local.files.isEmpty)
            try await harness.link("b")
            try await harness.wait(for: "a", .synced)
        }
    }

    @Test
    func hundredFilesThatAreSavedAtOnceAreUploadedOnceEach() async throws {
        try await QueueHarness.run(.test { $0.maxConcurrentTransfers = 8 }) { harness, queue in
            try await queue.startSync()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<100 {
                    group.addTask {
                        try await queue.saveFile(
                            data: Data("\(number)".utf8),
                            mediaType: "text/plain",
                            fileExtension: "txt"
                        ) {
                            try $0.execute(
                                sql: "INSERT INTO users (id, photo_id) VALUES (uuid(), ?)",
                                parameters: [$1.id]
                            )
                        }
                    }
                }
                try await group.waitForAll()
            }
            let rows = try await harness.waitForRows { rows in
                rows.count == 100 && rows.values.allSatisfy { $0.state == .synced }
            }
            #expect(harness.local.files.count == 100)
            #expect(Set(harness.remote.calls.map(\.id)) == Set(rows.keys))
            #expect(harness.remote.calls.count == 100)
        }
    }

    @Test
    func tenStartsAtOnceLeaveOneEngine() async throws {
        try await QueueHarness.run(remote: ["a.jpg": "a", "b.jpg": "b"]) { harness, queue in
            try await harness.link(["a", "b"])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<10 { group.addTask { try await queue.startSync() } }
                try await group.waitForAll()
            }
            try await harness.waitForRows { $0["a"]?.state == .synced && $0["b"]?.state == .synced }
            #expect(Set(harness.local.files.keys) == [harness.path("a.jpg"), harness.path("b.jpg")])
            #expect(harness.remote.mostConcurrentCalls == 1)
            #expect(harness.log.messages(.error).isEmpty)
        }
    }

    /// A transfer that ignores its cancellation is waited for half a second, and its result ignored.
    @Test
    func transferThatIgnoresItsCancellationIsWaitedForHalfASecond()
        async throws
    {
        try await QueueHarness.run(remote: ["a.jpg": "abc"]) { harness, queue in
            let gate = harness.remote.hold(.download, ignoringCancellation: true)
            try await queue.startSync()
            try await harness.link("a")
            try await gate.waitForArrivals(1)
            let stop = Task { try await queue.stopSyncing() }
            try await harness.clock.waitForTimer(of: .milliseconds(500))
            harness.clock.advance(by: .milliseconds(500))
            try await stop.value
            // While the old attempt holds the file, a new start does not begin another one.
            try await queue.startSync()
            gate.open()
            try await harness.wait(for: "a", .synced)
            #expect(harness.remote.calls.count == 2)
            #expect(harness.remote.mostConcurrentCalls == 1)
        }
    }

    @Test
    func stoppingEnds50SlowDownloadsAndNoneBeginsAfterwards() async throws {
        let ids = (0..<50).map { "file\($0)" }
        try await QueueHarness.run(.test { $0.maxConcurrentTransfers = 50 }) { harness, queue in
            let gate = harness.remote.hold(.download)
            try await queue.startSync()
            try await harness.link(ids)
            try await gate.waitForArrivals(50)
            try await queue.stopSyncing()
            gate.open()
            #expect(harness.remote.calls.count == 50)
            #expect(try await harness.rows().values.allSatisfy { $0.state == .queuedDownload })
            #expect(harness.local.files.isEmpty)
        }
    }

    @Test
    func closedQueueRecordsWhatTheAppWantsAndStartsNoMore() async throws {
        try await QueueHarness.run { harness, queue in
            try await queue.startSync()
            try await queue.close()
            try await queue.close()
            #expect(await queue.closed)
            await #expect(throws: PowerSyncAttachmentError.self) { try await queue.startSync() }
            await #expect(throws: PowerSyncAttachmentError.self) { try await queue.stopSyncing() }
            await #expect(throws: PowerSyncAttachmentError.self) { try await queue.clearQueue() }
            let kept = try await queue.saveFile(data: Data("a".utf8), mediaType: "text/plain", fileExtension: "txt")
            let deleted = try await queue.saveFile(data: Data("b".utf8), mediaType: "text/plain", fileExtension: "txt")
            try await queue.deleteFile(attachmentId: deleted.id)
            let next = harness.makeQueue()
            try await next.startSync()
            let rows = try await harness.waitForRows { $0[deleted.id] == nil && $0[kept.id]?.state != .queuedUpload }
            #expect(rows.count == 1)
            #expect(harness.remote.files.keys.sorted() == [kept.filename])
            try await next.close()
        }
    }

    @Test
    func startedQueueThatIsDroppedEndsItsTasks() async throws {
        let harness = QueueHarness(remote: InMemoryRemoteStorage(files: ["a.jpg": Data("abc".utf8)]))
        let gate = harness.remote.hold(.download)
        var queue: AttachmentQueue? = harness.makeQueue()
        let progress = try #require(queue).attachmentProgress
        try await queue?.startSync()
        try await harness.link("a")
        try await gate.waitForArrivals(1)
        weak let weakRunner = queue?.runner
        queue = nil
        #expect(weakRunner == nil)
        // The runner ends the stream of its progress with its last reference.
        for await _ in progress {}
        try await harness.database.close()
    }

    @Test
    func twoQueuesOfOneTableAreReportedAndTransferEachRowOnce() async throws {
        try await QueueHarness.run(remote: ["a.jpg": "abc"]) { harness, queue in
            let second = harness.makeQueue()
            let gate = harness.remote.hold(.download)
            try await queue.startSync()
            try await second.startSync()
            try await harness.log.wait(for: .error, containing: "Two started attachment queues")
            try await harness.link("a")
            try await gate.waitForArrivals(1)
            gate.open()
            try await harness.wait(for: "a", .synced)
            #expect(harness.remote.calls.count == 1)
            try await second.close()
        }
    }

    @Test
    func twoQueuesOfTwoTablesShareADirectory() async throws {
        let files = ["a.jpg": Data("a".utf8), "d.pdf": Data("d".utf8)]
        let harness = QueueHarness(remote: InMemoryRemoteStorage(files: files))
        let database = harness.database
        let photos = harness.makeQueue()
        let documents = harness.makeQueue(.test { $0.tableName = "document_files" }) {
            try database.watch("SELECT file_id FROM documents") {
                WatchedAttachmentItem(id: try $0.getString(index: 0), fileExtension: "pdf")
            }
        }
        try await photos.startSync()
        try await documents.startSync()
        try await harness.link("a")
        try await database.execute("INSERT INTO documents (id, file_id) VALUES (uuid(), 'd')")
        try await harness.wait(for: "a", .synced)
        try await harness.waitForRows(in: "document_files") { $0["d"]?.state == .synced }
        #expect(harness.log.messages(.error).isEmpty)
        #expect(try await harness.rows().keys.sorted() == ["a"])
        try await photos.close()
        try await documents.close()
        try await database.close()
    }

    @Test
    func queueCannotBeCalledFromInsideItsOwnContext() async throws {
        try await QueueHarness.run { harness, queue in
            try await queue.attachmentsService.withContext { _ in
                await #expect(throws: PowerSyncAttachmentError.self) { try await queue.startSync() }
                await #expect(throws: PowerSyncAttachmentError.self) { try await queue.stopSyncing() }
                await #expect(throws: PowerSyncAttachmentError.self) { try await queue.clearQueue() }
                await #expect(throws: PowerSyncAttachmentError.self) {
                    try await queue.saveFile(data: Data("a".utf8), mediaType: "text/plain", fileExtension: "txt")
                }
            }
            #expect(harness.local.files.isEmpty)
        }
    }

    @Test
    func manyReferencesAreQueuedInOneTransactionAndStoppingIsPrompt() async throws {
        try await QueueHarness.run { harness, queue in
            let gate = harness.remote.hold(.download)
            try await harness.link((0..<5_000).map { "file\($0)" })
            try await queue.startSync()
            try await gate.waitForArrivals(1)
            #expect(try await queue.stats()[.queuedDownload].count == 5_000)
            try await queue.stopSyncing()
            #expect(harness.remote.calls.count == 1)
        }
    }

    @Test
    func signingOutWhileStartedEmptiesTheTableAndNewReferencesAreDownloaded() async throws {
        try await QueueHarness.run(remote: ["a.jpg": "a", "b.jpg": "b"]) { harness, queue in
            try await queue.startSync()
            try await harness.link("a")
            try await harness.wait(for: "a", .synced)
            try await harness.database.disconnectAndClear()
            #expect(try await harness.rows().isEmpty)
            try await harness.link("b")
            try await harness.wait(for: "b", .synced)
        }
    }

    @Test
    func rowsThatSurviveSigningOutAreArchived() async throws {
        try await QueueHarness.run(remote: ["a.jpg": "a"]) { harness, queue in
            try await queue.startSync()
            try await harness.link("a")
            try await harness.wait(for: "a", .synced)
            try await harness.database.disconnectAndClear(clearLocal: false)
            try await harness.wait(for: "a", .archived)
        }
    }

    @Test
    func beforeTheFirstSyncNothingIsArchivedIfTheAppSaysSo() async throws {
        try await QueueHarness.run(.test { $0.archiveOnlyAfterFirstSync = true }) { harness, queue in
            try await harness.insert(Attachment(id: "a", filename: "a.jpg", state: .synced, hasSynced: true))
            try await queue.processWatchedAttachments(items: [])
            #expect(try await harness.rows()["a"]?.state == .synced)
        }
    }

    @Test
    func queueGoesOnAfterTheSchemaWasReplaced() async throws {
        try await QueueHarness.run(remote: ["a.jpg": "a", "b.jpg": "b"]) { harness, queue in
            try await queue.startSync()
            try await harness.link("a")
            try await harness.wait(for: "a", .synced)
            let schema = Schema(tables: QueueHarness.schema.tables + [Table(name: "notes", columns: [.text("body")])])
            try await harness.database.updateSchema(schema: schema)
            try await harness.link("b")
            try await harness.wait(for: "b", .synced)
        }
    }

    @Test
    func closingTheDatabaseEndsTheQueueQuietly() async throws {
        let harness = QueueHarness(remote: InMemoryRemoteStorage(files: ["a.jpg": Data("abc".utf8)]))
        let queue = harness.makeQueue()
        try await queue.startSync()
        try await harness.link("a")
        try await harness.wait(for: "a", .synced)
        try await harness.database.close()
        try await harness.log.wait(for: .debug, containing: "The database is closed")
        #expect(harness.log.messages(.error).isEmpty)
        try await queue.close()
    }
}
