import Dispatch
import Foundation
import NIOConcurrencyHelpers
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// What happens to transfers, and to what they have written, when somebody does not want them any more.
@Suite(.timeLimit(.minutes(1))) struct EndOfTransfersTests {
    @Test
    func lookAtTheTableThatIsRunningThenBeginsNoOtherAttempt() async throws {
        let harness = QueueHarness(remote: InMemoryRemoteStorage(files: ["a.jpg": Data("a".utf8), "b.jpg": Data()]))
        let table = SharedAttachmentTable()
        let service = DelayedService(database: harness.database)
        let runner = AttachmentRunner(context: harness.transferContext(service: service, table: table))
        let gate = harness.remote.hold(.download)
        try await harness.insert(
            Attachment(id: "a", filename: "a.jpg", state: .queuedDownload),
            Attachment(id: "b", filename: "b.jpg", state: .queuedDownload)
        )
        try await runner.startTransfers(interval: nil)
        try await gate.waitForArrivals(1)
        let running = try #require(gate.arrivals.first)

        // The look waits, and does not notice that it is cancelled; meanwhile the attempt ends.
        let callsBefore = service.hold()
        runner.fire(.hope)
        try await service.wait(forCalls: callsBefore + 1)
        #expect(!table.claim(running))
        let (end, hasEnded) = AsyncStream.makeStream(of: Void.self)
        let member = table.join { hasEnded.finish() }
        let stop = Task { try await runner.stopTransfers() }
        for await _ in end {}
        service.release()
        try await stop.value

        #expect(service.calls == callsBefore + 1)
        #expect(harness.remote.calls.count == 1)
        withExtendedLifetime(member) {}
        try await harness.database.close()
    }

    @Test(
        arguments: [SyncReason.routine, .hope]
    )
    func attemptWhoseSuccessorIsDueBeforeItHasEndedGetsOneAllTheSame(reason: SyncReason) async throws {
        struct Offline: Error {}
        let (failures, hasFailed) = AsyncStream.makeStream(of: Void.self)
        let resume = DispatchSemaphore(value: 0)
        let logger = WarningLogger {
            hasFailed.finish()
            resume.wait()
        }
        let harness = QueueHarness(remote: InMemoryRemoteStorage(files: ["a.jpg": Data("a".utf8), "b.jpg": Data()]))
        harness.remote.fail(.download, with: Offline(), times: 1)
        // Only the test causes looks.
        let service = DelayedService(database: harness.database, isWatched: false)
        let context = harness.transferContext(
            service: service,
            table: SharedAttachmentTable(),
            limit: 2,
            logger: logger
        )
        let runner = AttachmentRunner(context: context)
        try await harness.insert(Attachment(id: "a", filename: "a.jpg", state: .queuedDownload))
        try await runner.startTransfers(interval: nil)
        for await _ in failures {}
        // A hopeful look waits for nothing.
        if reason == .routine { harness.clock.advance(by: .seconds(1)) }
        // The look that begins another one has passed the first one over.
        let gate = harness.remote.hold(.download, id: "b")
        try await harness.insert(Attachment(id: "b", filename: "b.jpg", state: .queuedDownload))
        runner.fire(reason)
        try await gate.waitForArrivals(1)
        resume.signal()
        try await harness.wait(for: "a", .synced)
        gate.open()
        try await harness.wait(for: "b", .synced)
        try await runner.stopTransfers()
        try await harness.database.close()
    }

    /// As when the queue is cleared while the row of a download is written.
    @Test
    func downloadWhoseRowIsNotWrittenLeavesNoFile() async throws {
        let harness = QueueHarness(remote: InMemoryRemoteStorage(files: ["a.jpg": Data("a".utf8)]))
        let path = harness.path("a.jpg")
        let service = InsistedService(database: harness.database) { harness.local[path] != nil }
        let context = harness.transferContext(service: service, table: SharedAttachmentTable())
        let runner = AttachmentRunner(context: context)
        try await harness.insert(Attachment(id: "a", filename: "a.jpg", state: .queuedDownload))
        let deleted = harness.local.hold(.delete)
        try await runner.startTransfers(interval: nil)
        // Before, nothing was ever deleted.
        try await deleted.waitForArrivals(1)
        deleted.open()
        try await runner.stopTransfers()
        #expect(harness.local[path] == nil)
        #expect(try await harness.rows()["a"]?.state == .queuedDownload)
        try await harness.database.close()
    }

    /// A closure of the app's that a cancellation runs may call back.
    @Test
    func cancellationOfAnAttemptRunsOutsideOfLocks() async throws {
        let harness = QueueHarness()
        let (called, runner) = (HeldCall(), NIOLockedValueBox<AttachmentRunner?>(nil))
        let transport = HTTPAttachmentTransport(
            resolveUpload: { _ in throw CancellationError() },
            resolveDownload: { _ in
                await withTaskCancellationHandler {
                    _ = await called.arrive()
                } onCancel: {
                    runner.withLockedValue(\.self)?.resume()
                    called.open()
                }
                throw CancellationError()
            },
            resolveDelete: { _ in throw CancellationError() }
        )
        let service = AttachmentService(
            db: harness.database,
            tableName: "attachments",
            logger: harness.log,
            maxArchivedCount: 100
        )
        let context = harness.transferContext(
            service: service,
            table: SharedAttachmentTable(),
            transport: transport
        )
        let made = AttachmentRunner(context: context)
        runner.withLockedValue { $0 = made }
        try await harness.insert(Attachment(id: "a", filename: "a.jpg", state: .queuedDownload))
        try await made.startTransfers(interval: nil)
        try await called.waitForArrivals(1)
        made.pause()
        #expect(called.wasCancelled)
        runner.withLockedValue { $0 = nil }
        try await made.stopTransfers()
        try await harness.database.close()
    }

    /// Runs a test with a queue that downloads a file, and with a fault of its storage after a number of calls.
    private func withDownload(
        _ fault: InterruptedStorage.Fault,
        after calls: Int,
        honoursCancellation: Bool = true,
        _ body: (QueueHarness, AttachmentQueue, InterruptedStorage, AttachmentsFolder) async throws -> Void
    ) async throws {
        try await AttachmentsFolder.run { folder async throws in
            let harness = QueueHarness(remote: InMemoryRemoteStorage(files: ["a.jpg": Data("abc".utf8)]))
            let storage = InterruptedStorage(honoursCancellation: honoursCancellation)
            let queue = harness.makeQueue(directory: folder("attachments"), localStorage: storage)
            try await queue.startSync()
            storage.arm(fault, at: calls)
            try await harness.link("a")
            try await body(harness, queue, storage, folder)
            try await queue.close()
            try await harness.database.close()
        }
    }

    @Test
    func cancelledDownloadLeavesNoPartOfAFile() async throws {
        try await withDownload(.held, after: 0, honoursCancellation: false) { harness, queue, storage, folder in
            try await storage.wait(for: "saveFile")
            let stop = Task { try await queue.stopSyncing() }
            // The attempt is cancelled, and waited for.
            try await harness.clock.waitForTimer(of: .milliseconds(500))
            storage.release()
            try await stop.value
            #expect(storage.calls.first == "saveFile")
            #expect(storage.calls.contains("deleteFile"))
            #expect(try folder.names == ["attachments"])
        }
    }

    @Test
    func downloadThatIsCancelledOnceItHasItsNameGetsItsRow() async throws {
        // Saved, measured, looked for what it would replace, for what has its path, measured, moved.
        try await withDownload(.cancelledAfter, after: 5) { harness, _, storage, folder async throws in
            try await harness.wait(for: "a", .synced)
            let calls = ["saveFile", "fileSize", "fileExists", "fileExists", "fileSize", "moveFile"]
            #expect(Array(storage.calls.prefix(6)) == calls)
            #expect(try folder.read("attachments/a.jpg") == Data("abc".utf8))
        }
    }

    @Test
    func clearingThatIsCancelledLeavesTheQueueRunning() async throws {
        try await QueueHarness.run(remote: ["a.jpg": "a", "b.jpg": "b"]) { harness, queue in
            let gate = harness.remote.hold(.download, id: "a")
            try await queue.startSync()
            try await harness.link("a")
            try await gate.waitForArrivals(1)
            var progress = queue.attachmentProgress(of: "a").makeAsyncIterator()
            #expect(await progress.next()?.phase == .running)

            let (entrance, hasEntered) = AsyncStream.makeStream(of: Void.self)
            let (exit, mayLeave) = AsyncStream.makeStream(of: Void.self)
            let holder = Task {
                try await queue.attachmentsService.withContext { _ in
                    hasEntered.finish()
                    for await _ in exit {}
                }
            }
            for await _ in entrance {}
            let clearing = Task { try await queue.clearQueue() }
            // The transfers are stopped, and clearing waits for the table.
            #expect(await progress.next()?.phase == .interrupted)
            clearing.cancel()
            await #expect(throws: CancellationError.self) { try await clearing.value }
            mayLeave.finish()
            try await holder.value

            gate.open()
            try await harness.wait(for: "a", .synced)
        }
    }
}

/// An attachments table whose callbacks are left behind once a file is there.
private final class InsistedService: AttachmentServiceProtocol {
    struct Left: Error {}

    private let base: AttachmentService
    private let isDue: @Sendable () -> Bool
    private let hasLeft = NIOLockedValueBox(false)

    init(database: any PowerSyncDatabaseProtocol, isDue: @escaping @Sendable () -> Bool) {
        base = AttachmentService(
            db: database,
            tableName: "attachments",
            logger: database.logger,
            maxArchivedCount: 100
        )
        self.isDue = isDue
    }

    func watchActiveAttachments() async throws -> AsyncThrowingStream<[String], any Error> {
        AsyncThrowingStream { _ in }
    }

    func withContext<R: Sendable>(
        callback: @Sendable @escaping @concurrent (AttachmentContext) async throws -> R
    ) async throws -> R {
        let isDue = isDue()
        let isLeft = hasLeft.withLockedValue { hasLeft in
            defer { hasLeft = hasLeft || isDue }
            return isDue && !hasLeft
        }
        if isLeft { throw Left() }
        return try await base.withContext(callback: callback)
    }
}

/// An attachments table that lets its callers wait, also when they are cancelled.
private final class DelayedService: AttachmentServiceProtocol {
    private let base: AttachmentService
    private let state = NIOLockedValueBox((calls: 0, isHeld: false))
    private let changes = Signal()

    /// Whether changes of the table are told.
    private let isWatched: Bool

    init(database: any PowerSyncDatabaseProtocol, isWatched: Bool = true) {
        self.isWatched = isWatched
        base = AttachmentService(
            db: database,
            tableName: "attachments",
            logger: database.logger,
            maxArchivedCount: 100
        )
    }

    /// How often the table was asked for.
    var calls: Int { state.withLockedValue { $0.calls } }

    /// Lets the next callers wait.
    ///
    /// - Returns: How often the table has been asked for before.
    func hold() -> Int {
        state.withLockedValue { state in
            state.isHeld = true
            return state.calls
        }
    }

    func release() {
        state.withLockedValue { $0.isHeld = false }
        changes.fire()
    }

    func wait(forCalls count: Int) async throws {
        try await changes.wait { calls >= count ? () : nil }
    }

    func watchActiveAttachments() async throws -> AsyncThrowingStream<[String], any Error> {
        guard isWatched else { return AsyncThrowingStream { _ in } }
        return try await base.watchActiveAttachments()
    }

    func withContext<R: Sendable>(
        callback: @Sendable @escaping @concurrent (AttachmentContext) async throws -> R
    ) async throws -> R {
        // In one step with the count: who was counted before the hold does not wait.
        let isHeld = state.withLockedValue { state in
            state.calls += 1
            return state.isHeld
        }
        changes.fire()
        if isHeld { try await Task { try await changes.wait { state.withLockedValue { $0.isHeld } ? nil : () } }.value }
        return try await Task { try await base.withContext(callback: callback) }.value
    }
}

/// Calls a closure for each warning.
private struct WarningLogger: LoggerProtocol {
    let onWarning: @Sendable () -> Void

    init(onWarning: @escaping @Sendable () -> Void) {
        self.onWarning = onWarning
    }

    func warning(_ message: String, tag: String?) { onWarning() }
    func debug(_ message: String, tag: String?) {}
    func info(_ message: String, tag: String?) {}
    func error(_ message: String, tag: String?) {}
    func fault(_ message: String, tag: String?) {}
}
