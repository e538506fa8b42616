import Foundation
import NIOConcurrencyHelpers
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// Saving, with a failure or a cancellation at every call to the storage.
@Suite(.timeLimit(.minutes(1))) struct InterruptedSavingTests {
    enum Source: CaseIterable, Sendable {
        case data, stream, copied, moved

        /// The last call to the storage before the table is asked for.
        var lastWritingCall: String {
            switch self {
            case .data: "saveFile"
            case .stream: "saveChunks"
            case .copied, .moved: "fileSize"
            }
        }
    }

    private struct Refused: Error {}

    private static let content = Data("movie".utf8)

    /// A folder `camera` with a file of the app's, and a queue whose files are in the folder `attachments`.
    private struct Scene: Sendable {
        let folder: AttachmentsFolder
        let harness: QueueHarness
        let storage: InterruptedStorage
        let queue: AttachmentQueue

        var source: String { folder("camera/1.mov") }

        func prepare() async throws {
            storage.arm(nil)
            try await queue.clearQueue()
            try? FileManager.default.removeItem(atPath: folder.path)
            try folder.makeDirectory("camera")
            try folder.write(InterruptedSavingTests.content, to: "camera/1.mov")
        }

        func save(
            _ source: Source,
            id: String? = nil,
            hook: @escaping @Sendable () throws -> Void = {}
        ) async throws -> Attachment {
            switch source {
            case .data:
                try await queue.saveFile(
                    data: InterruptedSavingTests.content,
                    mediaType: "video/quicktime",
                    fileExtension: "mov",
                    id: id,
                    updateHook: { _, _ in try hook() }
                )
            case .stream:
                try await queue.saveFile(
                    stream: AsyncStream<Data> { continuation in
                        continuation.yield(InterruptedSavingTests.content)
                        continuation.finish()
                    },
                    mediaType: "video/quicktime",
                    fileExtension: "mov",
                    id: id,
                    updateHook: { _, _ in try hook() }
                )
            case .copied, .moved:
                try await queue.saveFile(
                    fromFile: self.source,
                    move: source == .moved,
                    mediaType: "video/quicktime",
                    fileExtension: "mov",
                    id: id,
                    updateHook: { _, _ in try hook() }
                )
            }
        }

        /// The files in the folder, without directories.
        var files: [String] {
            get throws { try folder.names.filter { !["attachments", "camera"].contains($0) } }
        }

        func expectUntouched(_ context: String) async throws {
            let rows = try await harness.rows()
            #expect(rows.isEmpty, "\(context)")
            #expect(try files == ["camera/1.mov"], "\(context)")
            #expect(try folder.read("camera/1.mov") == InterruptedSavingTests.content, "\(context)")
        }

        func expectSaved(_ saved: Attachment, besides others: [String], _ context: String) async throws {
            let rows = try await harness.rows()
            #expect(rows == [saved.id: saved], "\(context)")
            let name = "attachments/\(saved.filename)"
            #expect(try files == [name] + others, "\(context)")
            #expect(try folder.read(name) == InterruptedSavingTests.content, "\(context)")
            #expect(saved.size == Int64(InterruptedSavingTests.content.count), "\(context)")
        }
    }

    private func withScene(
        honoursCancellation: Bool = true,
        _ body: (Scene) async throws -> Void
    ) async throws {
        try await AttachmentsFolder.run { folder async throws in
            let harness = QueueHarness()
            let storage = InterruptedStorage(honoursCancellation: honoursCancellation)
            let queue = harness.makeQueue(directory: folder("attachments"), localStorage: storage)
            try await queue.waitForInit()
            let scene = Scene(folder: folder, harness: harness, storage: storage, queue: queue)
            try await harness.closing(queue) {
                try await scene.prepare()
                try await body(scene)
            }
        }
    }

    @Test(arguments: Source.allCases, [true, false])
    func leavesTheFileWhereItWasOrSavedAndTellsWhy(source: Source, honoursCancellation: Bool) async throws {
        try await withScene(honoursCancellation: honoursCancellation) { scene async throws in
            scene.storage.arm(nil)
            _ = try await scene.save(source)
            let calls = scene.storage.calls
            #expect(calls.count >= 2)
            for (number, call) in calls.enumerated() {
                for fault in InterruptedStorage.Fault.allCases {
                    try await scene.prepare()
                    scene.storage.arm(fault, at: number)
                    let task = Task { try await scene.save(source) }
                    if fault == .held {
                        try await scene.storage.waitForCalls(number + 1)
                        task.cancel()
                        scene.storage.release()
                    }
                    let context = "\(fault) at \(call), \(number)"
                    switch await task.result {
                    case .success(let saved):
                        // What comes after the row does not undo it.
                        #expect(call == "removeSource", "\(context)")
                        let isSourceLeft = source != .moved || fault == .failsBefore
                        try await scene.expectSaved(saved, besides: isSourceLeft ? ["camera/1.mov"] : [], context)
                    case .failure(let error):
                        switch fault {
                        case .failsBefore, .failsAfter: #expect(error is InterruptedStorage.Failure, "\(context)")
                        case .cancelledBefore, .cancelledAfter, .held: #expect(error is CancellationError, "\(context)")
                        }
                        try await scene.expectUntouched(context)
                    }
                }
            }
        }
    }

    @Test(arguments: Source.allCases, [true, false])
    func inTheTransactionOfTheRowLeavesTheFileWhereItWas(source: Source, isCancelled: Bool) async throws {
        try await withScene { scene async throws in
            let saving = RunningTask()
            let task = saving.start {
                try await scene.save(source) {
                    if isCancelled { saving.cancel() }
                    throw Refused()
                }
            }
            await #expect(throws: Refused.self) { try await task.value }
            try await scene.expectUntouched("")
        }
    }

    @Test(arguments: Source.allCases)
    func whileItWaitsForTheTableLeavesTheFileWhereItWas(source: Source) async throws {
        try await withScene { scene async throws in
            let (entrance, hasEntered) = AsyncStream.makeStream(of: Void.self)
            let (exit, mayLeave) = AsyncStream.makeStream(of: Void.self)
            let holder = Task {
                try await scene.queue.attachmentsService.withContext { _ in
                    hasEntered.finish()
                    for await _ in exit {}
                }
            }
            for await _ in entrance {}
            let saving = Task { try await scene.save(source) }
            try await scene.storage.wait(for: source.lastWritingCall)
            saving.cancel()
            await #expect(throws: CancellationError.self) { try await saving.value }
            mayLeave.finish()
            try await holder.value
            try await scene.expectUntouched("")
        }
    }

    @Test(arguments: [true, false])
    func doesNotRemoveAFileThatIsInItsPlaceUnderAnotherName(move: Bool) async throws {
        try await withScene { scene async throws in
            try scene.folder.makeDirectory("attachments")
            try scene.folder.write(Self.content, to: "attachments/a.mov")
            try scene.folder.link("alias", to: scene.folder("attachments"))
            let save: @Sendable (Bool) async throws -> Attachment = { isRefused in
                try await scene.queue.saveFile(
                    fromFile: scene.folder("alias/a.mov"),
                    move: move,
                    mediaType: "video/quicktime",
                    fileExtension: "mov",
                    id: "a",
                    updateHook: { _, _ in if isRefused { throw Refused() } }
                )
            }
            await #expect(throws: Refused.self) { try await save(true) }
            #expect(try scene.folder.read("attachments/a.mov") == Self.content)
            let saved = try await save(false)
            #expect(saved.size == 5)
            #expect(try scene.folder.read("attachments/a.mov") == Self.content)
        }
    }

    @Test
    func byAnIdWhoseFileWouldBeThatOfAnotherAttachmentChangesNothing() async throws {
        try await withScene { scene async throws in
            let first = try await scene.queue.saveFile(
                data: Data("first".utf8),
                mediaType: "text/plain",
                fileExtension: "b.mov",
                id: "a"
            )
            await #expect(throws: PowerSyncAttachmentError.self) { try await scene.save(.moved, id: "a.b") }
            let rows = try await scene.harness.rows()
            #expect(rows == ["a": first])
            #expect(try scene.folder.read("attachments/a.b.mov") == Data("first".utf8))
            #expect(try scene.folder.read("camera/1.mov") == Self.content)
        }
    }

    @Test
    func byClearingTheQueueLeavesAFileThatIsBeingMovedWhereItWas() async throws {
        try await withScene { scene async throws in
            scene.storage.arm(.held, at: 2)
            let saving = Task { try await scene.save(.moved) }
            try await scene.storage.wait(for: "fileSize")
            try await scene.queue.clearQueue()
            scene.storage.release()
            await #expect(throws: PowerSyncAttachmentError.self) { try await saving.value }
            try await scene.expectUntouched("")
        }
    }
}

/// A task that can be cancelled from inside.
private final class RunningTask: Sendable {
    private let task = NIOLockedValueBox<Task<Attachment, any Error>?>(nil)

    func start(_ body: @escaping @Sendable () async throws -> Attachment) -> Task<Attachment, any Error> {
        // ``cancel()`` waits for the lock, and so for the task.
        task.withLockedValue { task in
            let started = Task { try await body() }
            task = started
            return started
        }
    }

    func cancel() {
        task.withLockedValue { $0 }?.cancel()
    }
}
