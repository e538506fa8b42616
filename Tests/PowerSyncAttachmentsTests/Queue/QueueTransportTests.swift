import Foundation
import NIOConcurrencyHelpers
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// Queues over an ``AttachmentTransportAdapter`` of the app.
@Suite(.timeLimit(.minutes(1)))
struct QueueTransportTests {
    @Test
    func transportDoesAllRemoteWorkAndFilesAreNotReadIntoMemory() async throws {
        try await run { harness, transport, queue in
            try await queue.startSync()
            try await harness.link("a")
            let downloaded = try await harness.wait(for: "a", .synced)
            #expect(downloaded?.localUri == harness.path("a.jpg"))
            #expect(harness.local[harness.path("a.jpg")] == PartialTransport.content)

            harness.local[harness.path("taken.jpg")] = Data("taken".utf8)
            let saved = try await queue.saveFile(
                fromFile: harness.path("taken.jpg"),
                move: true,
                mediaType: "image/jpeg",
                fileExtension: "jpg",
                id: "b",
                updateHook: { transaction, photo in
                    try transaction.execute(
                        sql: "INSERT INTO users (id, photo_id) VALUES (uuid(), ?)",
                        parameters: [photo.id]
                    )
                }
            )
            try await harness.wait(for: "b", .synced)
            try await queue.deleteFile(attachmentId: "b") { transaction, photo in
                try transaction.execute(sql: "DELETE FROM users WHERE photo_id = ?", parameters: [photo.id])
            }
            try await harness.waitForRows { $0["b"] == nil }

            #expect(
                transport.calls == [
                    .init("download", "a", AttachmentPath.downloadPath(for: harness.path("a.jpg"))),
                    .init("upload", "b", saved.localUri),
                    .init("delete", "b", nil),
                ]
            )
            #expect(harness.remote.calls.isEmpty)
            #expect(!harness.local.calls.contains { $0.operation == .read })
        }
    }

    @Test
    func whatAnInterruptedDownloadHasLeftIsThereWhenItIsResumed() async throws {
        try await run(interruptions: 1) { harness, transport, queue in
            try await queue.startSync()
            try await harness.link("a")
            try await transport.waitForInterruptions(1)
            await queue.pauseTransfers()
            let partial = AttachmentPath.downloadPath(for: harness.path("a.jpg"))
            #expect(harness.local[partial] == PartialTransport.content.prefix(3))
            #expect(harness.local[harness.path("a.jpg")] == nil)

            await queue.resumeTransfers()
            try await harness.wait(for: "a", .synced)
            #expect(transport.beginnings == [0, 3])
            #expect(harness.local[harness.path("a.jpg")] == PartialTransport.content)
            #expect(harness.local[partial] == nil)
        }
    }

    @Test
    func transportMayWriteIntoADirectoryThatIsMadeForItAlsoWhenAllWereRemoved() async throws {
        try await AttachmentsFolder.run { folder async throws in
            try await StorageServer.run { _ in
                .init(body: .init(bytes: PartialTransport.content))
            } _: { server in
                let base = server.url
                let url: @Sendable (Attachment) throws -> AttachmentHTTPRequest = {
                    AttachmentHTTPRequest(url: try #require(URL(string: "\(base)/\($0.id)")))
                }
                let transport = HTTPAttachmentTransport(
                    resolveUpload: { try url($0.attachment) },
                    resolveDownload: { try url($0.attachment) },
                    resolveDelete: { try url($0) }
                )
                let harness = QueueHarness()
                let (references, items) = AsyncThrowingStream<[WatchedAttachmentItem], any Error>.makeStream()
                let queue = harness.makeQueue(
                    storage: .transport(transport),
                    directory: folder("files"),
                    localStorage: FileManagerStorageAdapter(),
                    references: { references }
                )
                try await harness.closing(queue) {
                    try await queue.startSync()
                    let first = WatchedAttachmentItem(id: "a", filename: "docs/2026/a.pdf")
                    items.yield([first])
                    try await harness.wait(for: "a", .synced)
                    #expect(try folder.read("files/docs/2026/a.pdf") == PartialTransport.content)

                    try FileManager.default.removeItem(atPath: folder("files"))
                    items.yield([first, WatchedAttachmentItem(id: "b", filename: "b.pdf")])
                    try await harness.wait(for: "b", .synced)
                    #expect(try folder.names == ["files", "files/b.pdf"])
                }
            }
        }
    }

    @Test
    func nobodyIsAskedWhetherToWaitForADownloadThatAnotherProcessIsAt() async throws {
        let handler = ScriptedErrorHandler { _ in false }
        let harness = QueueHarness()
        let transport = PartialTransport(local: harness.local, refusals: 1)
        let queue = harness.makeQueue(.test { $0.errorHandler = handler }, storage: .transport(transport))
        let partial = AttachmentPath.downloadPath(for: harness.path("a.jpg"))
        try await harness.closing(queue) {
            try await queue.startSync()
            harness.local[partial] = PartialTransport.content.prefix(5)
            try await harness.link("a")
            try await harness.clock.waitForTimer(of: .seconds(1))
            #expect(harness.local[partial] == PartialTransport.content.prefix(5))
            harness.clock.advance(by: .seconds(1))
            try await harness.wait(for: "a", .synced)
            #expect(transport.beginnings == [5, 5])
            #expect(handler.questions.isEmpty)
        }
    }

    private func run(
        interruptions: Int = 0,
        _ body: (QueueHarness, PartialTransport, AttachmentQueue) async throws -> Void
    ) async throws {
        let harness = QueueHarness()
        let transport = PartialTransport(local: harness.local, interruptions: interruptions)
        let queue = harness.makeQueue(storage: .transport(transport))
        try await harness.closing(queue) { try await body(harness, transport, queue) }
    }
}

/// Downloads the same content for every attachment, and stops in the middle of the first downloads until it is cancelled, or says of
/// the first ones that somebody else is at them.
private final class PartialTransport: AttachmentTransportAdapter {
    struct Call: Sendable, Equatable {
        let operation: String
        let id: String
        let path: String?

        init(_ operation: String, _ id: String, _ path: String?) {
            self.operation = operation
            self.id = id
            self.path = path
        }
    }

    private struct State {
        var calls: [Call] = []
        var beginnings: [Int] = []
        var interrupted = 0
        var refused = 0
    }

    static let content = Data("content".utf8)

    private let local: InMemoryLocalStorage
    private let interruptions: Int
    private let refusals: Int
    private let state = NIOLockedValueBox(State())
    private let changes = Signal()

    init(local: InMemoryLocalStorage, interruptions: Int = 0, refusals: Int = 0) {
        self.local = local
        self.interruptions = interruptions
        self.refusals = refusals
    }

    var calls: [Call] { state.withLockedValue { $0.calls } }
    /// How much of the file each download has found.
    var beginnings: [Int] { state.withLockedValue { $0.beginnings } }

    func waitForInterruptions(_ count: Int) async throws {
        try await changes.wait { state.withLockedValue { $0.interrupted } >= count ? () : nil }
    }

    func upload(
        _ located: LocatedAttachment,
        progress: @escaping @Sendable (Int64, Int64?) -> Void
    ) async throws {
        state.withLockedValue { $0.calls.append(Call("upload", located.attachment.id, located.localPath)) }
    }

    func download(
        _ located: LocatedAttachment,
        progress: @escaping @Sendable (Int64, Int64?) -> Void
    ) async throws {
        let found = local[located.localPath]?.count ?? 0
        let isInterrupted = state.withLockedValue { state in
            state.calls.append(Call("download", located.attachment.id, located.localPath))
            state.beginnings.append(found)
            return state.interrupted < interruptions
        }
        let isRefused = state.withLockedValue { state in
            state.refused += 1
            return state.refused <= refusals
        }
        if isRefused { throw AttachmentTransferError(.inProgress, message: "another process downloads it") }
        guard isInterrupted else {
            local[located.localPath] = (local[located.localPath] ?? Data()) + Self.content.dropFirst(found)
            return
        }
        local[located.localPath] = Self.content.prefix(3)
        state.withLockedValue { $0.interrupted += 1 }
        changes.fire()
        // Nobody sends: this ends when the task is cancelled.
        let (nothing, continuation) = AsyncStream<Never>.makeStream()
        for await _ in nothing {}
        continuation.finish()
        throw CancellationError()
    }

    func delete(_ attachment: Attachment) async throws {
        state.withLockedValue { $0.calls.append(Call("delete", attachment.id, nil)) }
    }
}
