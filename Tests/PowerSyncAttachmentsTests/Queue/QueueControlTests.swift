import Foundation
import NIOConcurrencyHelpers
import PowerSyncTesting
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1)))
struct QueueControlTests {
    private struct Refused: Error {}

    @Test
    func pauseInterruptsTransfersWithoutAFailureAndResumingBeginsThemAgain() async throws {
        let handler = ScriptedErrorHandler { _ in false }
        try await QueueHarness.run(remote: ["a.jpg": "abc"], .test { $0.errorHandler = handler }) { harness, queue in
            var progress = queue.attachmentProgress(of: "a").makeAsyncIterator()
            let gate = harness.remote.hold(.download)
            try await queue.startSync()
            try await harness.link("a")
            try await gate.waitForArrivals(1)
            await queue.pauseTransfers()
            while let state = await progress.next(), state.phase != .interrupted {}
            #expect(try await harness.rows()["a"]?.state == .queuedDownload)
            gate.open()
            await queue.resumeTransfers()
            try await harness.wait(for: "a", .synced)
            #expect(handler.questions.isEmpty)
            #expect(harness.remote.calls.count == 2)
        }
    }

    @Test
    func pauseOutlivesAStop() async throws {
        try await QueueHarness.run(remote: ["a.jpg": "abc"]) { harness, queue in
            await queue.pauseTransfers()
            try await queue.startSync()
            try await harness.link("a")
            try await harness.wait(for: "a", .queuedDownload)
            try await queue.startSync()
            #expect(harness.remote.calls.isEmpty)
            await queue.resumeTransfers()
            try await harness.wait(for: "a", .synced)
        }
    }

    @Test
    func prioritizedFilesGoFirst() async throws {
        let files = ["a.jpg": "a", "b.jpg": "b", "c.jpg": "c"]
        try await QueueHarness.run(remote: files) { harness, queue in
            await queue.pauseTransfers()
            await queue.prioritize(["c", "b"])
            try await harness.link(["a", "b", "c"])
            try await queue.startSync()
            try await harness.waitForRows { $0.count == 3 }
            await queue.resumeTransfers()
            try await harness.waitForRows { $0.values.allSatisfy { $0.state == .synced } }
            #expect(harness.remote.calls.map(\.id) == ["c", "b", "a"])
        }
    }

    @Test
    func transferThatThePolicyRefusesWaitsAndIsNoFailure() async throws {
        let isOnWiFi = NIOLockedValueBox(false)
        let asked = AsyncStream.makeStream(of: String.self)
        let options = AttachmentQueueOptions.test {
            $0.transferPolicy = { attachment, direction in
                asked.continuation.yield("\(direction) \(attachment.id)")
                return isOnWiFi.withLockedValue { $0 }
            }
        }
        try await QueueHarness.run(remote: ["a.jpg": "abc"], options) { harness, queue in
            try await queue.startSync()
            try await harness.link("a")
            var questions = asked.stream.makeAsyncIterator()
            #expect(await questions.next() == "download a")
            #expect(harness.remote.calls.isEmpty)
            isOnWiFi.withLockedValue { $0 = true }
            try await queue.triggerSync()
            try await harness.wait(for: "a", .synced)
        }
    }

    @Test
    func policyThatChangesItsMindWhileItIsAskedIsAskedAgain() async throws {
        let asked = AsyncStream.makeStream(of: String.self)
        let (answers, answer) = AsyncStream.makeStream(of: Bool.self)
        let options = AttachmentQueueOptions.test {
            $0.maxConcurrentTransfers = 2
            $0.transferPolicy = { attachment, _ in
                asked.continuation.yield(attachment.id)
                guard attachment.id == "a" else { return true }
                return await answers.first { _ in true } ?? false
            }
        }
        try await QueueHarness.run(remote: ["a.jpg": "abc", "b.jpg": "def"], options) { harness, queue in
            try await queue.startSync()
            try await harness.link("a")
            var questions = asked.stream.makeAsyncIterator()
            #expect(await questions.next() == "a")
            try await queue.triggerSync()
            // Who is asked about another one has looked, and passed over the first, which is not decided.
            try await harness.link("b")
            #expect(await questions.next() == "b")
            answer.yield(false)
            #expect(await questions.next() == "a")
            answer.yield(true)
            try await harness.wait(for: "a", .synced)
        }
    }

    @Test
    func progressIsToldPerFileAndForAllFiles() async throws {
        try await QueueHarness.run(remote: ["a.jpg": "abc"]) { harness, queue in
            let gate = harness.remote.hold(.download)
            try await queue.startSync()
            try await harness.link("a")
            try await gate.waitForArrivals(1)
            // A late subscriber sees what runs.
            var files = queue.attachmentProgress.makeAsyncIterator()
            let running = await files.next()
            #expect(running?.attachmentId == "a")
            #expect(running?.direction == .download)
            #expect(running?.phase == .running)
            gate.open()
            var last = running
            while last?.phase == .running { last = await files.next() }
            #expect(last?.phase == .finished)
            #expect(last?.transferredBytes == 3)
            #expect(await queue.overallProgress.first { $0.finishedTransfers == 1 }?.fraction == 1)
        }
    }

    @Test
    func looksThatChangesCauseAreThrottledAndTheLastChangeIsNotLost() async throws {
        let files = ["a.jpg": "a", "b.jpg": "b"]
        try await QueueHarness.run(remote: files, .test { $0.syncThrottle = .seconds(5) }) { harness, queue in
            try await queue.startSync()
            try await harness.clock.waitForTimer(of: .seconds(5))
            try await harness.link(["a", "b"])
            try await harness.waitForRows { $0.count == 2 }
            #expect(harness.remote.calls.isEmpty)
            harness.clock.advance(by: .seconds(5))
            try await harness.waitForRows { $0.values.allSatisfy { $0.state == .synced } }
        }
    }

    @Test(arguments: [Duration.zero, .seconds(-1)])
    func withoutAnIntervalThereIsNoTimer(interval: Duration) async throws {
        try await QueueHarness.run(remote: ["a.jpg": "a"], .test { $0.syncInterval = interval }) { harness, queue in
            try await queue.startSync()
            try await harness.link("a")
            try await harness.wait(for: "a", .synced)
            #expect(harness.clock.pendingTimers.isEmpty)
        }
    }

    @Test
    func withoutDownloadsRowsThatWaitForOneAreLeftAlone() async throws {
        try await QueueHarness.run(remote: ["a.jpg": "a"], .test { $0.downloadAttachments = false }) { harness, queue in
            try await harness.insert(Attachment(id: "a", filename: "a.jpg", state: .queuedDownload))
            try await harness.link("a")
            try await queue.startSync()
            let saved = try await queue.saveFile(data: Data("b".utf8), mediaType: "text/plain", fileExtension: "txt") {
                try $0.execute(sql: "INSERT INTO users (id, photo_id) VALUES (uuid(), ?)", parameters: [$1.id])
            }
            try await harness.wait(for: saved.id, .synced)
            #expect(try await harness.rows()["a"]?.state == .queuedDownload)
            #expect(harness.remote.calls.map(\.operation) == [.upload])
        }
    }

    @Test
    func rowsAndBytesAreCountedByState() async throws {
        try await QueueHarness.run { harness, queue in
            try await harness.insert(
                Attachment(id: "a", filename: "a", state: .synced, size: 10),
                Attachment(id: "b", filename: "b", state: .synced, size: 5),
                Attachment(id: "c", filename: "c", state: .archived)
            )
            let stats = try await queue.stats()
            #expect(stats[.synced] == .init(count: 2, bytes: 15))
            #expect(stats[.archived] == .init(count: 1, bytes: 0))
            #expect(stats[.queuedUpload] == .init())
            #expect(stats.total == .init(count: 3, bytes: 15))
        }
    }

    @Test
    func cacheIsLimitedByBytes() async throws {
        try await QueueHarness.run(.test { $0.archivedCacheByteLimit = 10 }) { harness, queue in
            for id in ["old", "new"] {
                harness.local[harness.path(id)] = Data(count: 6)
                try await queue.attachmentsService.withContext { [path = harness.path(id)] context in
                    _ = try await context.saveAttachment(
                        attachment: Attachment(
                            id: id,
                            filename: id,
                            state: .archived,
                            hasSynced: true,
                            localUri: path,
                            size: 6
                        )
                    )
                }
            }
            try await queue.expireCache()
            #expect(try await harness.rows().keys.sorted() == ["new"])
            #expect(harness.local.files.keys.sorted() == [harness.path("new")])
        }
    }

    @Test
    func sweepingRemovesFilesWithoutARowAlone() async throws {
        try await QueueHarness.run { harness, queue in
            let saved = try await queue.saveFile(data: Data("a".utf8), mediaType: "text/plain", fileExtension: "txt")
            harness.local[harness.path("orphan.txt")] = Data("b".utf8)
            #expect(try await queue.sweepOrphanFiles(olderThan: .zero) == 1)
            #expect(harness.local.files.keys.sorted() == [harness.path(saved.filename)])
        }
    }

    @Test(arguments: ["", "/", "//", NSHomeDirectory()])
    func clearingRefusesDirectoriesThatNobodyWantsToBeEmptied(directory: String) async throws {
        let harness = QueueHarness()
        let queue = harness.makeQueue(directory: directory)
        await #expect(throws: PowerSyncAttachmentError.self) { try await queue.clearQueue() }
        #expect(!harness.local.calls.contains { $0.operation == .removeDirectory })
        try await queue.close()
        try await harness.database.close()
    }

    @Test
    func savingUnderAnIdThatHasARowChangesNothing() async throws {
        try await QueueHarness.run { harness, queue in
            try await queue.saveFile(data: Data("first".utf8), mediaType: "text/plain", fileExtension: "txt", id: "a")
            let rows = try await harness.rows()
            await #expect(throws: PowerSyncAttachmentError.self) {
                try await queue.saveFile(data: Data("2".utf8), mediaType: "text/plain", fileExtension: "txt", id: "a")
            }
            #expect(try await harness.rows() == rows)
            #expect(harness.local[harness.path("a.txt")] == Data("first".utf8))
        }
    }

    @Test
    func fileIsMovedInAndStaysWhenTheHookFails() async throws {
        try await QueueHarness.run { harness, queue in
            harness.local["/camera/1.mov"] = Data("movie".utf8)
            await #expect(throws: Refused.self) {
                try await queue.saveFile(fromFile: "/camera/1.mov", move: true, mediaType: "video/quicktime") { _, _ in
                    throw Refused()
                }
            }
            #expect(harness.local.files == ["/camera/1.mov": Data("movie".utf8)])
            let saved = try await queue.saveFile(
                fromFile: "/camera/1.mov",
                move: true,
                mediaType: "video/quicktime",
                fileExtension: "mov",
                metaData: "{}"
            )
            #expect(saved.size == 5)
            #expect(saved.metaData == "{}")
            #expect(harness.local.files == [harness.path(saved.filename): Data("movie".utf8)])
            #expect(!harness.local.calls.contains { $0.operation == .read })
        }
    }

    @Test(arguments: [true, false])
    func fileThatIsNotThereIsNotSaved(move: Bool) async throws {
        try await QueueHarness.run { harness, queue in
            await #expect(throws: PowerSyncAttachmentError.self) {
                try await queue.saveFile(fromFile: "/nowhere", move: move, mediaType: "text/plain")
            }
            let rows = try await harness.rows()
            #expect(rows.isEmpty)
        }
    }

    @Test
    func streamIsSavedWithItsSizeAndLeavesNothingWhenItFails() async throws {
        try await QueueHarness.run { harness, queue in
            let chunks = AsyncStream<Data> { continuation in
                for text in ["ab", "", "c"] { continuation.yield(Data(text.utf8)) }
                continuation.finish()
            }
            let saved = try await queue.saveFile(stream: chunks, mediaType: "text/plain", fileExtension: "txt")
            #expect(saved.size == 3)
            #expect(harness.local[harness.path(saved.filename)] == Data("abc".utf8))

            let broken = AsyncThrowingStream<Data, any Error> { $0.finish(throwing: Refused()) }
            await #expect(throws: Refused.self) { try await queue.saveFile(stream: broken, mediaType: "text/plain") }
            #expect(harness.local.files.count == 1)
        }
    }
}
