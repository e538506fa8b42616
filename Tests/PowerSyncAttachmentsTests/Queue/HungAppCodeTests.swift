import Foundation
import PowerSyncTesting
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// Asynchronous code of the app hangs and takes no notice of its cancellation: it holds up no call that ends something for more than a
/// second, and what it returns afterwards has no effect.
@Suite(.timeLimit(.minutes(1))) struct HungAppCodeTests {
    /// What hangs, and where it is called from.
    enum Closure: CaseIterable, Sendable {
        case makeDirectoryOfNewQueue, existsForNewQueue, existsForVerification, existsForSaving, deleteForExpiry
        case makeDirectoryOfStart, existsForStart, getLocalUriOfStart, getLocalUriOfReference, references
        case readForUpload, saveForDownload, moveForDownload, deleteForDeletion, deleteForExpiryOfStart
        case removeDirectoryOfClearing
        case upload, download, delete, resolveDownload
        case transferPolicy, onUploadError, onDownloadError, onDeleteError

        /// The state of the attachment `a` at the beginning; `nil` for no row.
        var state: AttachmentState? {
            switch self {
            case .makeDirectoryOfNewQueue, .makeDirectoryOfStart, .existsForSaving, .references: nil
            case .getLocalUriOfReference, .removeDirectoryOfClearing: nil
            case .existsForNewQueue, .existsForVerification, .existsForStart, .getLocalUriOfStart: .synced
            case .readForUpload, .upload, .onUploadError, .transferPolicy: .queuedUpload
            case .saveForDownload, .moveForDownload, .download, .resolveDownload, .onDownloadError: .queuedDownload
            case .deleteForDeletion, .delete, .onDeleteError: .queuedDelete
            case .deleteForExpiry, .deleteForExpiryOfStart: .archived
            }
        }

        /// Whether it hangs in a call of the app's that only clearing the queue puts an end to.
        var isCallOfApp: Bool { self == .existsForSaving || self == .deleteForExpiry }
    }

    /// What ends something.
    enum End: CaseIterable, Sendable {
        case stop, close, clear, disconnect, disconnectAndClear, closeDatabase
    }

    private struct Refused: Error {}

    /// A queue with an attachment `a`, and code of the app that hangs.
    private final class Scene: SyncErrorHandler {
        let closure: Closure
        let harness: QueueHarness
        private let held = HeldCall()

        init(_ closure: Closure) {
            self.closure = closure
            let isThere = closure.state == .queuedDownload
            harness = QueueHarness(remote: InMemoryRemoteStorage(files: isThere ? ["a.jpg": Data("abc".utf8)] : [:]))
        }

        func reach(_ reached: Closure) async {
            if reached == closure { _ = await held.arrive() }
        }

        func onUploadError(attachment: Attachment, error: any Error) async -> Bool {
            await reach(.onUploadError)
            return false
        }
        func onDownloadError(attachment: Attachment, error: any Error) async -> Bool {
            await reach(.onDownloadError)
            return false
        }
        func onDeleteError(attachment: Attachment, error: any Error) async -> Bool {
            await reach(.onDeleteError)
            return false
        }

        private var options: AttachmentQueueOptions {
            .test { options in
                options.errorHandler = self
                options.archivedCacheLimit = 0
                options.transferPolicy = { _, _ in
                    await self.reach(.transferPolicy)
                    return true
                }
                guard closure == .getLocalUriOfStart || closure == .getLocalUriOfReference else { return }
                options.getLocalUri = { name in
                    await self.reach(self.closure)
                    return self.harness.path(name)
                }
            }
        }

        private func makeQueue() -> AttachmentQueue {
            let transport = HTTPAttachmentTransport(
                resolveUpload: { _ in throw Refused() },
                resolveDownload: { _ in
                    await self.reach(.resolveDownload)
                    throw Refused()
                },
                resolveDelete: { _ in throw Refused() }
            )
            return harness.makeQueue(options, storage: closure == .resolveDownload ? .transport(transport) : nil) {
                [self] in
                switch closure {
                case .references:
                    AsyncThrowingStream {
                        await self.reach(.references)
                        return nil
                    }
                case .getLocalUriOfReference:
                    AsyncThrowingStream { $0.yield([WatchedAttachmentItem(id: "a", fileExtension: "jpg")]) }
                default:
                    AsyncThrowingStream { _ in }
                }
            }
        }

        /// Lets calls to the local storage hang.
        private func hold(_ operation: InMemoryLocalStorage.Operation) -> StorageGate {
            harness.local.hold(operation, ignoringCancellation: true)
        }

        /// Makes the queue, and returns when the closure hangs.
        ///
        /// - Returns: The queue, and what lets the closure go on.
        func hang() async throws -> (AttachmentQueue, open: @Sendable () -> Void) {
            if let state = closure.state {
                let isElsewhere = closure == .getLocalUriOfStart
                let hasFile = state != .queuedDownload && !isElsewhere
                if hasFile { harness.local[harness.path("a.jpg")] = Data("abc".utf8) }
                let path = isElsewhere ? "/elsewhere/a.jpg" : hasFile ? harness.path("a.jpg") : nil
                let row = Attachment(id: "a", filename: "a.jpg", state: state, hasSynced: true, localUri: path)
                // A new queue would look for the file before the closure is to hang.
                if closure != .getLocalUriOfStart { try await harness.insert(row) }
            }
            switch closure {
            case .makeDirectoryOfNewQueue: return try await hang(hold(.makeDirectory), in: makeQueue())
            case .existsForNewQueue: return try await hang(hold(.exists), in: makeQueue())
            default: break
            }
            let queue = makeQueue()
            try await queue.waitForInit()
            switch closure {
            case .makeDirectoryOfNewQueue, .existsForNewQueue:
                break
            case .existsForVerification:
                return try await hang(hold(.exists), in: queue) { try await queue.verifyAttachments() }
            case .deleteForExpiry:
                return try await hang(hold(.delete), in: queue) { try await queue.expireCache() }
            case .existsForSaving:
                let gate = hold(.exists)
                // The file is written, and looked for again in the table's turn.
                gate.letOnePass()
                return try await hang(gate, arrivals: 2, in: queue) {
                    try await queue.saveFile(data: Data("abc".utf8), mediaType: "image/jpeg", id: "a")
                }
            case .removeDirectoryOfClearing:
                let hung = try await hang(hold(.removeDirectory), in: queue) { try await queue.clearQueue() }
                // Its own limit begins beside the call: before it, half a second would pass for the end only.
                try await harness.clock.waitForTimer(of: .milliseconds(500))
                return hung
            case .makeDirectoryOfStart: return try await start(queue, hold(.makeDirectory))
            case .existsForStart: return try await start(queue, hold(.exists))
            case .readForUpload: return try await start(queue, hold(.read))
            case .saveForDownload: return try await start(queue, hold(.save))
            case .moveForDownload: return try await start(queue, hold(.move))
            case .deleteForDeletion, .deleteForExpiryOfStart: return try await start(queue, hold(.delete))
            case .upload: return try await start(queue, harness.remote.hold(.upload, ignoringCancellation: true))
            case .download: return try await start(queue, harness.remote.hold(.download, ignoringCancellation: true))
            case .delete: return try await start(queue, harness.remote.hold(.delete, ignoringCancellation: true))
            case .onUploadError: harness.remote.fail(.upload, id: "a", with: Refused())
            case .onDownloadError: harness.remote.fail(.download, id: "a", with: Refused())
            case .onDeleteError: harness.remote.fail(.delete, id: "a", with: Refused())
            case .getLocalUriOfStart:
                let row = Attachment(id: "a", filename: "a.jpg", state: .synced, localUri: "/elsewhere/a.jpg")
                try await harness.insert(row)
            case .resolveDownload, .transferPolicy, .getLocalUriOfReference, .references: break
            }
            Task { try await queue.startSync() }
            try await held.waitForArrivals(1)
            return (queue, { [held] in held.open() })
        }

        private func start(
            _ queue: AttachmentQueue,
            _ gate: StorageGate
        ) async throws -> (AttachmentQueue, open: @Sendable () -> Void) {
            try await hang(gate, in: queue) { try await queue.startSync() }
        }

        private func hang<Value: Sendable>(
            _ gate: StorageGate,
            arrivals: Int = 1,
            in queue: AttachmentQueue,
            _ call: @escaping @Sendable () async throws -> Value = {}
        ) async throws -> (AttachmentQueue, open: @Sendable () -> Void) {
            // Some of them fail because of what the test does.
            Task { _ = try await call() }
            try await gate.waitForArrivals(arrivals)
            return (queue, { gate.open() })
        }

        /// Waits until the transfer or the save of the attachment `a` is over.
        func waitForRelease() async {
            let table = SharedAttachmentTable.named("attachments", of: harness.database)
            let (end, hasEnded) = AsyncStream.makeStream(of: Void.self)
            let member = table.join { hasEnded.finish() }
            if table.claim("a") { table.release("a") } else { for await _ in end {} }
            withExtendedLifetime(member) {}
        }
    }

    /// Makes a call while the clock advances by half a second, once the call waits for that: one closure hangs, so one wait is enough.
    private func withinASecond(_ clock: TestClock, _ call: @escaping @Sendable () async throws -> Void) async throws {
        let advancing = Task {
            try await clock.waitForTimer(of: .milliseconds(500))
            clock.advance(by: .milliseconds(500))
        }
        defer { advancing.cancel() }
        try await Task { try await call() }.value
    }

    @Test(arguments: Closure.allCases, End.allCases)
    func anEndIsHeldUpForASecondAtMost(closure: Closure, end: End) async throws {
        let scene = Scene(closure)
        let (queue, open) = try await scene.hang()
        let (harness, database) = (scene.harness, scene.harness.database)
        // While a queue is cleared, references are followed, and a new queue makes its directory before it takes the table: nothing is
        // waited for, and time that passes would cut short removing files.
        let isHeldUp = end != .clear || closure != .references && closure != .makeDirectoryOfNewQueue
        do {
            try await withinASecond(isHeldUp ? harness.clock : TestClock()) {
                switch end {
                case .stop: try await queue.stopSyncing()
                case .close: try await queue.close()
                case .clear: try await queue.clearQueue()
                case .disconnect: try await database.disconnect()
                case .disconnectAndClear: try await database.disconnectAndClear()
                case .closeDatabase: try await database.close()
                }
            }
            #expect(closure != .removeDirectoryOfClearing || end != .clear)
        } catch PowerSyncAttachmentError.generalError {
            // The files may be there, so the caller has to know.
            #expect(closure == .removeDirectoryOfClearing && end == .clear)
        } catch is CancellationError {
            Issue.record("\(closure), \(end): cancelled")
        }

        if end == .stop || end == .close || end == .clear {
            let rows = try await harness.rows()
            if end == .clear { #expect(rows.isEmpty) }
            open()
            await scene.waitForRelease()
            try await queue.attachmentsService.withContext { _ in }
            if !closure.isCallOfApp || end == .clear { #expect(try await harness.rows() == rows) }
        } else {
            open()
            try await withinASecond(harness.clock) { try await queue.stopSyncing() }
        }
        if end == .stop || end == .clear {
            try await queue.startSync()
            try await queue.saveFile(data: Data("b".utf8), mediaType: "image/jpeg", fileExtension: "jpg", id: "z")
            #expect(try await harness.rows()["z"] != nil)
        }
        try await withinASecond(harness.clock) { try await queue.close() }
        try await database.close()
    }

    @Test
    func aDownloadThatGetsItsNameAfterTheEndLeavesNeitherAFileNorAResult() async throws {
        let scene = Scene(.moveForDownload)
        let (queue, open) = try await scene.hang()
        let harness = scene.harness
        try await withinASecond(harness.clock) { try await queue.stopSyncing() }
        open()
        await scene.waitForRelease()
        #expect(harness.local.files.isEmpty)
        #expect(try await harness.rows()["a"]?.state == .queuedDownload)
        // What the app's code has left may still be on its way back to the queue.
        try await withinASecond(harness.clock) { try await queue.close() }
        try await harness.database.close()
    }

    @Test
    func whatHangsIsNotCalledAgainForTheAttachmentBeforeItHasReturned() async throws {
        let scene = Scene(.moveForDownload)
        let (queue, open) = try await scene.hang()
        let harness = scene.harness
        try await withinASecond(harness.clock) { try await queue.stopSyncing() }
        try await queue.startSync()
        try await queue.triggerSync()
        try await harness.insert(Attachment(id: "b", filename: "b.jpg", state: .queuedDelete))
        try await harness.waitForRows { $0["b"] == nil }
        #expect(harness.remote.calls.count { $0.id == "a" } == 1)
        open()
        try await harness.wait(for: "a", .synced)
        #expect(harness.local.files.keys.sorted() == [harness.path("a.jpg")])
        try await withinASecond(harness.clock) { try await queue.close() }
        try await harness.database.close()
    }

    @Test
    func aStorageThatHangsForOneAttachmentLetsTheOthersGoOn() async throws {
        let files = ["a.jpg": Data("a".utf8), "b.jpg": Data("b".utf8)]
        let harness = QueueHarness(remote: InMemoryRemoteStorage(files: files))
        let queue = harness.makeQueue(.test { $0.maxConcurrentTransfers = 2 }) { AsyncThrowingStream { _ in } }
        try await harness.closing(queue) {
            let gate = harness.local.hold(.move, path: harness.path("a.jpg"), ignoringCancellation: true)
            try await queue.startSync()
            try await harness.insert(
                Attachment(id: "a", filename: "a.jpg", state: .queuedDownload),
                Attachment(id: "b", filename: "b.jpg", state: .queuedDownload)
            )
            try await gate.waitForArrivals(1)
            try await harness.wait(for: "b", .synced)
            gate.open()
            try await harness.wait(for: "a", .synced)
        }
    }
}
