import NIOConcurrencyHelpers
import PowerSyncTesting
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct AppCodeScopeTests {
    private let error = PowerSyncAttachmentError.generalError("left")

    @Test func aCallThatIsLeftThrowsAndWhatItReturnsLaterIsLost() async throws {
        let (scope, held, result) = (AppCodeScope(), HeldCall(), NIOLockedValueBox(0))
        let work = Task {
            try await scope.run {
                let value = try await AppCodeScope.call {
                    _ = await held.arrive()
                    return 1
                }
                result.withLockedValue { $0 = value }
            }
        }
        try await held.waitForArrivals(1)
        scope.leave(error)
        let thrown = await #expect(throws: PowerSyncAttachmentError.self) { try await work.value }
        #expect(thrown?.description == "left")
        #expect(held.wasCancelled)
        held.open()
        #expect(result.withLockedValue { $0 } == 0)
    }

    @Test func noCallIsMadeAfterwards() async throws {
        let scope = AppCodeScope()
        scope.leave(error)
        await #expect(throws: PowerSyncAttachmentError.self) {
            try await scope.run { try await AppCodeScope.call { Issue.record("The app was called") } }
        }
        await #expect(throws: PowerSyncAttachmentError.self) {
            try await scope.run { try AppCodeScope.check() }
        }
        // Other work is not concerned.
        #expect(try await scope.run { try await AppCodeScope.outside { try await AppCodeScope.call { 1 } } } == 1)
    }

    @Test func leavingAScopeLeavesThoseInsideAndNotTheOneOutside() async throws {
        let outer = AppCodeScope()
        let (inner, held) = (NIOLockedValueBox<AppCodeScope?>(nil), HeldCall())
        let work = Task {
            try await outer.run {
                let nested = AppCodeScope.nested()
                inner.withLockedValue { $0 = nested }
                try await nested.run { try await AppCodeScope.call { _ = await held.arrive() } }
            }
        }
        try await held.waitForArrivals(1)
        let nested = try #require(inner.withLockedValue { $0 })
        #expect(nested.isInside(outer) && !outer.isInside(nested))
        outer.leave(error)
        await #expect(throws: PowerSyncAttachmentError.self) { try await work.value }
        held.open()

        let other = AppCodeScope()
        try await other.run {
            AppCodeScope.nested().leave(error)
            try AppCodeScope.check()
        }
    }

    @Test func aCancelledCallIsWaitedFor() async throws {
        let (scope, held) = (AppCodeScope(), HeldCall())
        let work = Task {
            try await scope.run {
                try await AppCodeScope.call {
                    _ = await held.arrive()
                    return 1
                }
            }
        }
        try await held.waitForArrivals(1)
        work.cancel()
        held.open()
        #expect(try await work.value == 1)
        #expect(held.wasCancelled)
    }

    @Test func workThatIsLeftIsCancelledAndThrowsTheReason() async throws {
        let (scope, clock) = (AppCodeScope(), TestClock())
        let work = Task { try await scope.perform { try await clock.sleep(until: .init(offset: .seconds(1))) } }
        try await clock.waitForTimer(of: .seconds(1))
        scope.leave(error)
        await #expect(throws: PowerSyncAttachmentError.self) { try await work.value }
    }
}
