import Foundation
import NIOConcurrencyHelpers
import PowerSyncTesting
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// Code of the app that neither returns nor reacts to its cancellation, while the queue or its database is stopped, closed or cleared.
@Suite(.timeLimit(.minutes(1))) struct LeftAppCodeTests {
    /// Where the app's code hangs.
    enum Place: CaseIterable, Sendable {
        /// The local storage, in `startSync()`, or in the verification of a new queue.
        case makingDirectories, lookingForFilesAtTheStart, lookingForFilesOfANewQueue
        /// `getLocalUri`, in `startSync()`.
        case locatingFilesAtTheStart
        /// The remote storage.
        case uploading, downloading, deleting
        /// The local storage, in a transfer.
        case lookingForTheFile, readingTheFile, savingTheFile, placingTheFile, removingTheFile
        /// What the app decides.
        case askingThePolicy, askingTheErrorHandler
        /// The local storage, in the upkeep of the cache.
        case removingAnArchivedFile
        /// The stream of references, or the local storage that an element of it asks.
        case watchingReferences, lookingForAnArchivedFile
        /// The local storage, in calls of the app.
        case verifyingAttachments, savingAttachments, clearingTheQueue
        /// A callback of the app that has the table.
        case holdingTheTable
    }

    enum Call: CaseIterable, Sendable {
        case stopSyncing, closeQueue, clearQueue, closeDatabase, clearDatabase
    }

    /// A queue whose app hangs at a place.
    private final class App: SyncErrorHandler {
        let place: Place
        let harness = QueueHarness(
            remote: InMemoryRemoteStorage(files: ["a.jpg": Data("a".utf8)])
        )
        let held = HeldCall()
        let gate: StorageGate?
        private let hangs = NIOLockedValueBox(false)
        private let calls = NIOLockedValueBox<[Task<Void, any Error>]>([])

        init(_ place: Place) {
            self.place = place
            let (local, remote) = (harness.local, harness.remote)
            gate =
                switch place {
                case .makingDirectories: local.hold(.makeDirectory, ignoringCancellation: true)
                case .lookingForFilesAtTheStart, .lookingForFilesOfANewQueue, .lookingForTheFile,
                    .lookingForAnArchivedFile, .verifyingAttachments:
                    local.hold(.exists, ignoringCancellation: true)
                case .uploading: remote.hold(.upload, ignoringCancellation: true)
                case .downloading: remote.hold(.download, ignoringCancellation: true)
                case .deleting: remote.hold(.delete, ignoringCancellation: true)
                case .readingTheFile: local.hold(.read, ignoringCancellation: true)
                case .savingTheFile, .savingAttachments: local.hold(.save, ignoringCancellation: true)
                case .placingTheFile: local.hold(.move, ignoringCancellation: true)
                case .removingTheFile, .removingAnArchivedFile: local.hold(.delete, ignoringCancellation: true)
                case .clearingTheQueue: local.hold(.removeDirectory, ignoringCancellation: true)
                case .locatingFilesAtTheStart, .askingThePolicy, .askingTheErrorHandler, .watchingReferences,
                    .holdingTheTable:
                    nil
                }
            if place == .askingTheErrorHandler {
                struct Offline: Error {}
                remote.fail(.upload, with: Offline())
            }
        }

        private func reach(_ reached: Place) async {
            guard reached == place, hangs.withLockedValue({ $0 }) else { return }
            _ = await held.arrive()
        }

        func onUploadError(attachment: Attachment, error: any Error) async -> Bool {
            await reach(.askingTheErrorHandler)
            return false
        }
        func onDownloadError(attachment: Attachment, error: any Error) async -> Bool { true }
        func onDeleteError(attachment: Attachment, error: any Error) async -> Bool { true }

        func makeQueue() -> AttachmentQueue {
            let options = AttachmentQueueOptions.test { options in
                options.errorHandler = self
                options.archivedCacheLimit = place == .removingAnArchivedFile ? 0 : 100
                options.transferPolicy = { _, _ in
                    await self.reach(.askingThePolicy)
                    return true
                }
                if place == .locatingFilesAtTheStart {
                    options.getLocalUri = { name in
                        await self.reach(.locatingFilesAtTheStart)
                        return self.harness.path(name)
                    }
                }
            }
            return harness.makeQueue(options) {
                switch self.place {
                case .watchingReferences:
                    AsyncThrowingStream {
                        await self.reach(.watchingReferences)
                        return [WatchedAttachmentItem(id: "late", fileExtension: "jpg")]
                    }
                case .lookingForAnArchivedFile:
                    AsyncThrowingStream { $0.yield([WatchedAttachmentItem(id: "a", fileExtension: "jpg")]) }
                default: AsyncThrowingStream { _ in }
                }
            }
        }

        /// The calls that may hang.
        var begun: [Task<Void, any Error>] { calls.withLockedValue { $0 } }

        /// A call of the app's that may hang.
        func begin(_ call: @escaping @Sendable () async throws -> Void) {
            calls.withLockedValue { $0.append(Task { try await call() }) }
        }

        private func insert(_ state: AttachmentState, hasFile: Bool = true, localUri: String? = nil) async throws {
            if hasFile { harness.local[harness.path("a.jpg")] = Data("a".utf8) }
            let uri = localUri ?? (hasFile ? harness.path("a.jpg") : nil)
            try await harness.insert(
                Attachment(id: "a", filename: "a.jpg", state: state, hasSynced: state == .archived, localUri: uri)
            )
        }

        /// Brings a queue to the place.
        func hang() async throws -> AttachmentQueue {
            switch place {
            case .lookingForFilesOfANewQueue, .lookingForFilesAtTheStart, .verifyingAttachments:
                try await insert(.synced)
            default: break
            }
            hangs.withLockedValue { $0 = place != .locatingFilesAtTheStart }
            let queue = makeQueue()
            switch place {
            case .lookingForFilesOfANewQueue: break
            case .makingDirectories:
                gate?.letOnePass()
                try await queue.waitForInit()
                begin { try await queue.startSync() }
                try await gate?.waitForArrivals(2)
                return queue
            case .lookingForFilesAtTheStart, .verifyingAttachments:
                gate?.letOnePass()
                try await queue.waitForInit()
                if place == .lookingForFilesAtTheStart {
                    begin { try await queue.startSync() }
                } else {
                    begin { try await queue.verifyAttachments() }
                }
                try await gate?.waitForArrivals(2)
                return queue
            case .locatingFilesAtTheStart:
                try await queue.waitForInit()
                try await insert(.synced, hasFile: false, localUri: "/elsewhere/a.jpg")
                hangs.withLockedValue { $0 = true }
                begin { try await queue.startSync() }
            case .savingAttachments:
                try await queue.waitForInit()
                begin { _ = try await queue.saveFile(data: Data("b".utf8), mediaType: "image/jpeg", id: "b") }
            case .clearingTheQueue:
                try await queue.waitForInit()
                begin { try await queue.clearQueue() }
            case .holdingTheTable:
                try await queue.waitForInit()
                begin { try await queue.attachmentsService.withContext { _ in await self.reach(.holdingTheTable) } }
            case .watchingReferences:
                try await queue.waitForInit()
                try await queue.startSync()
            case .lookingForAnArchivedFile:
                try await queue.waitForInit()
                try await insert(.archived)
                // The verification at the start looks for it, too.
                gate?.letOnePass()
                try await queue.startSync()
                try await gate?.waitForArrivals(2)
                return queue
            default:
                try await queue.waitForInit()
                try await queue.startSync()
                switch place {
                case .downloading, .savingTheFile, .placingTheFile: try await insert(.queuedDownload, hasFile: false)
                case .deleting, .removingTheFile: try await insert(.queuedDelete)
                case .removingAnArchivedFile:
                    try await insert(.archived)
                    try await queue.triggerSync()
                default: try await insert(.queuedUpload)
                }
            }
            if let gate { try await gate.waitForArrivals(1) } else { try await held.waitForArrivals(1) }
            return queue
        }

        /// Lets the app's code return, and waits for the calls that it has kept.
        func letGo() async {
            gate?.open()
            held.open()
            for call in begun { _ = await call.result }
        }

        /// Waits for the end of a call, while the clock goes on in steps of half a second.
        ///
        /// - Returns: How long it has taken.
        @discardableResult
        func time(_ call: () async throws -> Void) async throws -> Duration {
            let begin = harness.clock.now
            let clock = Task { [clock = harness.clock] in
                while true {
                    try await clock.waitForTimer(of: .milliseconds(500))
                    clock.advance(by: .milliseconds(500))
                }
            }
            defer { clock.cancel() }
            try await call()
            return begin.duration(to: harness.clock.now)
        }
    }

    @Test(arguments: Place.allCases, Call.allCases)
    func endsWithinASecond(place: Place, call: Call) async throws {
        let app = App(place)
        let queue = try await app.hang()
        let harness = app.harness

        let fails = call == .clearQueue && (place == .clearingTheQueue || place == .holdingTheTable)
        let time = try await app.time {
            switch call {
            case .stopSyncing: try await queue.stopSyncing()
            case .closeQueue: try await queue.close()
            case .closeDatabase: try await harness.database.close()
            case .clearDatabase: try await harness.database.disconnectAndClear(clearLocal: true, soft: false)
            case .clearQueue where fails:
                let error = await #expect(throws: PowerSyncAttachmentError.self) { try await queue.clearQueue() }
                #expect(error?.description.contains("has not returned within a second") == true)
            case .clearQueue: try await queue.clearQueue()
            }
        }
        #expect(time <= .seconds(1))

        // What the app's code comes to later changes nothing.
        if call == .stopSyncing || call == .closeQueue, place != .clearingTheQueue, place != .savingAttachments {
            let rows = try await harness.rows()
            await app.letGo()
            _ = try await app.time { try await queue.close() }
            #expect(try await harness.rows() == rows)
        } else {
            await app.letGo()
            try await app.time { try await queue.close() }
        }
        if call != .closeDatabase { try await harness.database.close() }
    }

    @Test(
        arguments: [Call.stopSyncing, .closeQueue, .clearQueue],
        [Place.makingDirectories, .lookingForFilesAtTheStart]
    )
    func aStartThatHangsFailsWhenTheQueueIsEnded(call: Call, place: Place) async throws {
        let app = App(place)
        let queue = try await app.hang()
        try await app.time {
            switch call {
            case .closeQueue: try await queue.close()
            case .clearQueue: try await queue.clearQueue()
            default: try await queue.stopSyncing()
            }
        }
        let start = try #require(app.begun.first)
        await #expect(throws: PowerSyncAttachmentError.self) { try await start.value }
        await app.letGo()
        try await app.time { try await queue.close() }
        try await app.harness.database.close()
    }

    @Test func endingTheTransfersAloneKeepsFollowingReferences() async throws {
        try await QueueHarness.run { harness, queue in
            let gate = harness.remote.hold(.download, ignoringCancellation: true)
            try await queue.startSync()
            try await harness.link("a")
            try await gate.waitForArrivals(1)
            let stop = Task { try await queue.syncingService.stopSync() }
            try await harness.clock.waitForTimer(of: .milliseconds(500), count: 2)
            harness.clock.advance(by: .milliseconds(500))
            try await stop.value
            try await harness.link("b")
            try await harness.wait(for: "b", .queuedDownload)
            gate.open()
        }
    }

    @Test func aTransferThatEndsInTimeIsWaitedFor() async throws {
        let app = App(.uploading)
        let queue = try await app.hang()
        let stop = Task { try await queue.stopSyncing() }
        try await app.harness.clock.waitForTimer(of: .milliseconds(500))
        await app.letGo()
        try await stop.value
        #expect(app.harness.clock.now == .init(offset: .zero))
        try await app.harness.database.close()
        try await queue.close()
    }
}
