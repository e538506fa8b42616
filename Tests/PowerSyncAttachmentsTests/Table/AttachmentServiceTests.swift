import NIOConcurrencyHelpers
import PowerSyncTesting
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1)))
struct AttachmentServiceTests {
    private static func isGeneralError(_ error: any Error) -> Bool {
        if case PowerSyncAttachmentError.generalError = error { true } else { false }
    }

    @Test
    func callbacksRunOneAtATime() async throws {
        try await AttachmentRows.with { rows async throws in
            let service = AttachmentService(context: rows.context)
            let log = CallLog()
            let entered = Signal()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<5 {
                    group.addTask {
                        try await service.withContext { context in
                            log.lines.withLockedValue { $0.append("begin") }
                            entered.fire()
                            _ = try await context.getAttachments()
                            log.lines.withLockedValue { $0.append("end") }
                            entered.fire()
                        }
                    }
                    if number == 0 { try await entered.wait { log.lines.withLockedValue { $0.isEmpty } ? nil : () } }
                }
                try await group.waitForAll()
            }
            #expect(log.lines.withLockedValue { $0 } == Array(repeating: ["begin", "end"], count: 5).flatMap { $0 })
        }
    }

    @Test
    func callFromInsideACallbackIsAnErrorAndNoDeadlock() async throws {
        try await AttachmentRows.with { rows async throws in
            let service = AttachmentService(context: rows.context)
            let other = AttachmentService(context: rows.context)
            try service.checkNotInContext()
            try await service.withContext { _ in
                #expect { try service.checkNotInContext() } throws: { Self.isGeneralError($0) }
                try other.checkNotInContext()
                try await other.withContext { _ -> Void in
                    await #expect {
                        try await service.withContext { _ in }
                    } throws: { Self.isGeneralError($0) }
                }
                async let child: Void = service.withContext { _ in }
                do {
                    try await child
                    Issue.record("a child task got a turn inside the turn of its parent")
                } catch {
                    #expect(Self.isGeneralError(error))
                }
            }
            try await service.withContext { _ in }
        }
    }

    @Test
    func servicesThatShareALockTakeTurns() async throws {
        try await AttachmentRows.with { rows async throws in
            let lock = AttachmentService.newLock()
            let first = AttachmentService(context: rows.context, lock: lock)
            let second = AttachmentService(context: rows.context, lock: lock)
            try await first.withContext { _ -> Void in
                await #expect {
                    try await second.withContext { _ in }
                } throws: { Self.isGeneralError($0) }
            }
        }
    }

    @Test
    func taskThatOutlivesItsCallbackHasTurnsOfItsOwn() async throws {
        try await AttachmentRows.with { rows async throws in
            let service = AttachmentService(context: rows.context)
            let over = Signal()
            let isOver = Flag()
            let later = try await service.withContext { _ in
                Task {
                    try await over.wait { isOver.isSet ? () : nil }
                    try await service.withContext { _ in }
                }
            }
            isOver.set()
            over.fire()
            try await later.value
        }
    }

    @Test
    func taskThatIsCancelledWhileItWaitsDoesNotRunItsCallback() async throws {
        try await AttachmentRows.with { rows async throws in
            let service = AttachmentService(context: rows.context)
            let holds = Signal()
            let isHeld = Flag()
            let isReleased = Flag()
            let ran = Flag()
            let holder = Task {
                try await service.withContext { _ in
                    isHeld.set()
                    holds.fire()
                    try await holds.wait { isReleased.isSet ? () : nil }
                }
            }
            try await holds.wait { isHeld.isSet ? () : nil }
            let waiter = Task { try await service.withContext { _ in ran.set() } }
            waiter.cancel()
            await #expect(throws: CancellationError.self) { try await waiter.value }
            isReleased.set()
            holds.fire()
            try await holder.value
            #expect(!ran.isSet)
        }
    }

    @Test
    func watchOfActiveRowsTellsOfIdsAndStatesAndOfNothingElse() async throws {
        try await AttachmentRows.with { rows async throws in
            let service = AttachmentService(context: rows.context)
            var active = try await service.watchActiveAttachments().makeAsyncIterator()
            #expect(try await active.next() == [])
            try await rows.insert(.row("b", .queuedUpload, timestamp: 1), .row("a", .queuedDownload, timestamp: 2))
            #expect(try await active.next() == ["b", "a"])
            // Written again, in another order and with another value: no reason to try again.
            rows.time = 3
            _ = try await rows.context.saveAttachment(attachment: .row("b", .queuedUpload, size: 77))
            try await rows.insert(.row("c", .synced), .row("d", .archived))
            rows.time = 4
            _ = try await rows.context.markDeleted(id: "b") { _, _ in }
            #expect(try await active.next() == ["a", "b"])
            try await rows.context.clearQueue()
            #expect(try await active.next() == [])
        }
    }
}

/// What happened, in order.
private final class CallLog: Sendable {
    let lines = NIOLockedValueBox<[String]>([])
}

/// Something that happens once.
private final class Flag: Sendable {
    private let value = NIOLockedValueBox(false)

    var isSet: Bool { value.withLockedValue(\.self) }

    func set() { value.withLockedValue { $0 = true } }
}
