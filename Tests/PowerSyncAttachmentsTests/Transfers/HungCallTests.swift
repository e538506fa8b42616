import Foundation
import NIOConcurrencyHelpers
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// Calls into the app's code for one attachment that do not return.
@Suite(.timeLimit(.minutes(1))) struct HungCallTests {
    /// A method or closure of the app.
    enum Call: String, CaseIterable, Sendable {
        case uploadFile, downloadFile, deleteFile, upload, download, delete, resolveUpload, resolveDownload,
            resolveDelete
        case onUploadError, onDownloadError, onDeleteError, transferPolicy, getLocalUri

        /// What messages call it.
        var name: String {
            switch self {
            case .resolveUpload: "resolveUpload in upload"
            case .resolveDownload: "resolveDownload in download"
            case .resolveDelete: "resolveDelete in delete"
            default: rawValue
            }
        }

        var state: AttachmentState {
            switch self {
            case .uploadFile, .upload, .resolveUpload, .onUploadError, .transferPolicy, .getLocalUri: .queuedUpload
            case .downloadFile, .download, .resolveDownload, .onDownloadError: .queuedDownload
            case .deleteFile, .delete, .resolveDelete, .onDeleteError: .queuedDelete
            }
        }

        /// Whether it can throw.
        var throwsErrors: Bool {
            switch self {
            case .onUploadError, .onDownloadError, .onDeleteError, .transferPolicy, .getLocalUri: false
            default: true
            }
        }

        /// Whether the HTTP transport makes it.
        var isOfHTTP: Bool {
            switch self {
            case .resolveUpload, .resolveDownload, .resolveDelete: true
            default: false
            }
        }
    }

    /// How the call ends, if it does.
    enum End: CaseIterable, Sendable {
        /// It returns late.
        case late
        /// It throws late, because it was cancelled or for another reason.
        case throwing
        /// It calls the queue before it returns.
        case callingBack
        /// The queue is stopped and started meanwhile.
        case restarted
        /// Transfers are paused and resumed before the limit.
        case paused
    }

    struct Late: Error {}

    /// What an app has written, with a call that hangs for the attachment `a` the first time.
    final class App: RemoteStorageAdapter, AttachmentTransportAdapter, SyncErrorHandler {
        let call: Call
        let harness: QueueHarness
        /// Where the files are; `nil` for the storage in memory.
        let folder: AttachmentsFolder?
        let held = HeldCall()
        let afterwards = NIOLockedValueBox<@Sendable () async throws -> Void>({})

        init(_ call: Call, _ harness: QueueHarness, _ folder: AttachmentsFolder?) {
            self.call = call
            self.harness = harness
            self.folder = folder
        }

        func reach(_ reached: Call, _ id: String) async throws {
            guard reached == call, id == "a", await held.arrive() else { return }
            try await afterwards.withLockedValue { $0 }()
        }

        func uploadFile(fileData: Data, attachment: Attachment) async throws {
            try await reach(.uploadFile, attachment.id)
            try await harness.remote.uploadFile(fileData: fileData, attachment: attachment)
        }
        func downloadFile(attachment: Attachment) async throws -> Data {
            try await reach(.downloadFile, attachment.id)
            return try await harness.remote.downloadFile(attachment: attachment)
        }
        func deleteFile(attachment: Attachment) async throws {
            try await reach(.deleteFile, attachment.id)
            try await harness.remote.deleteFile(attachment: attachment)
        }

        func upload(_ located: LocatedAttachment, progress: @escaping @Sendable (Int64, Int64?) -> Void) async throws {
            try await reach(.upload, located.attachment.id)
        }
        func download(_ located: LocatedAttachment, progress: @escaping @Sendable (Int64, Int64?) -> Void) async throws
        {
            try await reach(.download, located.attachment.id)
            _ = try await harness.local.saveFile(filePath: located.localPath, data: Data("abc".utf8))
        }
        func delete(_ attachment: Attachment) async throws { try await reach(.delete, attachment.id) }

        func onUploadError(attachment: Attachment, error: any Error) async -> Bool {
            try? await reach(.onUploadError, attachment.id)
            return true
        }
        func onDownloadError(attachment: Attachment, error: any Error) async -> Bool {
            try? await reach(.onDownloadError, attachment.id)
            return true
        }
        func onDeleteError(attachment: Attachment, error: any Error) async -> Bool {
            try? await reach(.onDeleteError, attachment.id)
            return true
        }

        /// Closures that give errors which the queue takes for success, or for a reason to try again.
        var http: HTTPAttachmentTransport {
            HTTPAttachmentTransport(
                resolveUpload: { located in
                    try await self.reach(.resolveUpload, located.attachment.id)
                    throw AttachmentStorageError.alreadyExists
                },
                resolveDownload: { located in
                    try await self.reach(.resolveDownload, located.attachment.id)
                    throw Late()
                },
                resolveDelete: { attachment in
                    try await self.reach(.resolveDelete, attachment.id)
                    throw AttachmentStorageError.notFound
                }
            )
        }

        var storage: AttachmentQueueStorage {
            switch call {
            case .upload, .download, .delete: .transport(self)
            case .resolveUpload, .resolveDownload, .resolveDelete: .transport(http)
            default: .remote(self)
            }
        }

        var options: AttachmentQueueOptions {
            .test { options in
                options.errorHandler = self
                options.transferPolicy = { attachment, _ in
                    try? await self.reach(.transferPolicy, attachment.id)
                    return true
                }
                if call == .getLocalUri {
                    options.getLocalUri = { name in
                        try? await self.reach(.getLocalUri, String(name.prefix { $0 != "." }))
                        return self.harness.path(name)
                    }
                }
            }
        }
    }

    private func run(_ call: Call, _ body: (QueueHarness, App, AttachmentQueue) async throws -> Void) async throws {
        guard call.isOfHTTP else { return try await run(call, in: nil, body) }
        // The HTTP transport reads files of the disk.
        try await AttachmentsFolder.run { try await run(call, in: $0, body) }
    }

    private func run(
        _ call: Call,
        in folder: AttachmentsFolder?,
        _ body: (QueueHarness, App, AttachmentQueue) async throws -> Void
    ) async throws {
        let names = ["a", "b", "c"].map { "\($0).jpg" }
        let files = Dictionary(uniqueKeysWithValues: names.map { ($0, Data($0.utf8)) })
        let harness = QueueHarness(remote: InMemoryRemoteStorage(files: call.state == .queuedDownload ? files : [:]))
        let app = App(call, harness, folder)
        switch call {
        case .onUploadError: harness.remote.fail(.upload, id: "a", with: Late(), times: 1)
        case .onDownloadError: harness.remote.fail(.download, id: "a", with: Late(), times: 1)
        case .onDeleteError: harness.remote.fail(.delete, id: "a", with: Late(), times: 1)
        default: break
        }
        let queue = harness.makeQueue(
            app.options,
            storage: app.storage,
            directory: folder?.path ?? QueueHarness.directory,
            localStorage: folder.map { _ in FileManagerStorageAdapter() }
        ) { AsyncThrowingStream { _ in } }
        try await harness.closing(queue) {
            try await queue.waitForInit()
            try await queue.startSync()
            try await body(harness, app, queue)
            app.held.open()
        }
    }

    /// Queues a transfer in the direction of a call.
    private func offer(
        _ id: String,
        _ call: Call,
        _ harness: QueueHarness,
        in folder: AttachmentsFolder? = nil
    ) async throws {
        let name = "\(id).jpg"
        let path = folder?(name) ?? harness.path(name)
        if call.state != .queuedDownload {
            let data = Data(id.utf8)
            if let folder { try folder.write(data, to: name) } else { harness.local[path] = data }
        }
        let localUri = call.state == .queuedDownload ? nil : path
        try await harness.insert(
            Attachment(id: id, filename: name, state: call.state, localUri: localUri)
        )
    }

    /// Waits until a transfer is complete, or has been tried in the case of downloads that always fail.
    private func waitForEnd(of id: String, _ call: Call, _ harness: QueueHarness) async throws {
        switch call.state {
        case .queuedDelete: try await harness.waitForRows { $0[id] == nil }
        case _ where call == .resolveDownload:
            try await harness.log.wait(for: .warning, containing: "The download of \(id) failed")
        default: try await harness.wait(for: id, .synced)
        }
    }

    private func overdueCalls(
        of queue: AttachmentQueue,
        until isReached: ([OverdueAttachmentCall]) -> Bool
    ) async -> [OverdueAttachmentCall] {
        for await progress in queue.overallProgress where isReached(progress.overdueCalls) {
            return progress.overdueCalls
        }
        return []
    }

    @Test(
        arguments: Call.allCases,
        End.allCases
    )
    func isNamedOccupiesNoSlotAnyMoreAndIsNotMadeAgainBeforeItReturns(call: Call, end: End) async throws {
        guard call.throwsErrors || end != .throwing else { return }
        try await run(call) { harness, app, queue async throws in
            let begun = harness.date.withLockedValue { $0 }
            try await offer("a", call, harness, in: app.folder)
            try await app.held.waitForArrivals(1)
            try await offer("b", call, harness, in: app.folder)
            if end == .paused {
                await queue.pauseTransfers()
                await queue.resumeTransfers()
            }
            try await harness.clock.waitForTimer(of: .seconds(600))
            harness.clock.advance(by: .seconds(600))

            // The only slot is free for the others.
            try await waitForEnd(of: "b", call, harness)
            let overdue = try #require(await overdueCalls(of: queue) { !$0.isEmpty }.first)
            #expect(overdue.attachmentId == "a")
            #expect(overdue.call == call.name)
            #expect(abs(overdue.since.timeIntervalSince(begun)) < 60)
            try await harness.log.wait(
                for: .warning,
                containing: "\(call.name) of the attachment a has not returned since"
            )
            #expect(app.held.wasCancelled)

            if end == .restarted {
                let stop = Task { try await queue.stopSyncing() }
                try await harness.clock.waitForTimer(of: .milliseconds(500))
                harness.clock.advance(by: .milliseconds(500))
                try await stop.value
                try await queue.startSync()
            }
            // Reasons to look at all attachments again.
            try await queue.triggerSync()
            try await offer("c", call, harness, in: app.folder)
            try await waitForEnd(of: "c", call, harness)
            #expect(app.held.arrivals == 1)
            #expect(await overdueCalls(of: queue) { !$0.isEmpty } == [overdue])

            app.afterwards.withLockedValue {
                $0 =
                    switch end {
                    case .late, .restarted, .paused: {}
                    case .throwing: { throw Late() }
                    case .callingBack:
                        {
                            // The call is cancelled; a task of its own is not.
                            _ = try await Task { try await queue.saveFile(data: Data(), mediaType: "a/b", id: "d") }
                                .value
                        }
                    }
            }
            app.held.open()
            #expect(await overdueCalls(of: queue) { $0.isEmpty }.isEmpty)
            try await harness.log.wait(
                for: .info,
                containing: "\(call.name) of the attachment a, which was overdue, has returned"
            )
            if end == .callingBack { #expect(try await harness.rows()["d"] != nil) }
            let isTriedAgain = end == .throwing || call.rawValue.hasSuffix("Error")
            if isTriedAgain, end != .restarted {
                try await harness.log.wait(for: .warning, containing: " of a failed; trying again in")
                try await queue.triggerSync()
            }
            try await waitForEnd(of: "a", call, harness)
        }
    }

    @Test
    func isNotOverdueAsLongAsBytesMove() async throws {
        let harness = QueueHarness()
        let transport = ReportingTransport()
        let queue = harness.makeQueue(storage: .transport(transport)) { AsyncThrowingStream { _ in } }
        try await harness.closing(queue) {
            try await queue.waitForInit()
            try await queue.startSync()
            try await offer("a", .upload, harness)
            let report = try await transport.begun()
            try await harness.clock.waitForTimer(of: .seconds(600))
            harness.clock.advance(by: .seconds(599))
            report(1, 10)
            harness.clock.advance(by: .seconds(1))
            try await harness.clock.waitForTimer(of: .seconds(599))
            // The same number again: nothing has moved.
            harness.clock.advance(by: .seconds(300))
            report(1, 10)
            harness.clock.advance(by: .seconds(299))
            #expect(await overdueCalls(of: queue) { !$0.isEmpty }.map(\.call) == ["upload"])
            transport.held.open()
            try await harness.wait(for: "a", .synced)
        }
    }

    @Test
    func leavesItsSlotToOthersUpToABound() {
        var schedule = TransferSchedule(limit: 2)
        let ids = (0..<40).map { "\($0)" }
        schedule.offer(ids.map { Attachment(id: $0, filename: $0, state: .queuedUpload) })
        var begun = 0
        func fill() {
            while schedule.next() != nil { begun += 1 }
        }
        fill()
        #expect(begun == 2)
        for number in 0..<18 {
            schedule.setOverdue(true, ids[number])
            fill()
        }
        // 16 do not count, and two occupy the limit.
        #expect(begun == 18)
        // One that has returned counts again, and makes room when its transfer has ended.
        schedule.setOverdue(false, ids[0])
        schedule.ended(ids[0])
        fill()
        #expect(begun == 19)
        #expect(!schedule.isDrained)
    }

    @Test(arguments: [Duration.zero, .seconds(-1)])
    func hasNoLimitWhenTheAppWantsNone(limit: Duration) {
        var options = AttachmentQueueOptions()
        options.transferLimit = limit
        #expect(options.callLimit.duration > .seconds(86_400))
    }
}

/// A transport whose test says how far it is.
private final class ReportingTransport: AttachmentTransportAdapter {
    let held = HeldCall()
    private let report = NIOLockedValueBox<(@Sendable (Int64, Int64?) -> Void)?>(nil)

    func begun() async throws -> @Sendable (Int64, Int64?) -> Void {
        try await held.waitForArrivals(1)
        return try #require(report.withLockedValue { $0 })
    }

    func upload(_ located: LocatedAttachment, progress: @escaping @Sendable (Int64, Int64?) -> Void) async throws {
        report.withLockedValue { $0 = progress }
        _ = await held.arrive()
    }

    func download(_ located: LocatedAttachment, progress: @escaping @Sendable (Int64, Int64?) -> Void) async throws {}
    func delete(_ attachment: Attachment) async throws {}
}
