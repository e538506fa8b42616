import NIOConcurrencyHelpers
import Testing

@testable import PowerSyncServiceCore

/// A view that is kept from one call to the next.
@Suite struct KeptRowViewTests {
    private struct Gone: Error {}
    private struct Wrong: Error {}

    /// What happened to views, by their numbers.
    private final class Events: Sendable {
        let all = NIOLockedValueBox<[String]>([])
        func add(_ event: String) { all.withLockedValue { $0.append(event) } }
        /// What has happened since the last call.
        func take() -> [String] {
            all.withLockedValue { events in
                defer { events = [] }
                return events
            }
        }
    }

    private struct View: RowView {
        let number: Int
        let events: Events
        var isOld = false
        var failsToRelease = false

        mutating func release() async throws {
            if failsToRelease { throw Gone() }
            events.add("release \(number)")
        }

        func close() { events.add("close \(number)") }
    }

    private let events = Events()
    private let kept = KeptRowView<View>()

    private func read(_ number: Int, _ body: (inout View) throws -> Int = { $0.number }) async throws -> Int {
        try await kept.reading {
            events.add("open \(number)")
            return View(number: number, events: events)
        } orIf: { error in
            error is Gone
        } _: { view in
            try body(&view)
        }
    }

    @Test func theNextCallHasTheSameView() async throws {
        #expect(try await read(1) == 1)
        #expect(try await read(2) == 1)
        #expect(events.take() == ["open 1"])
        try await kept.release()
        #expect(try await read(3) == 1)
        #expect(events.take() == ["release 1"])
    }

    @Test func aViewWhoseConnectionIsGoneIsReplacedOnce() async throws {
        _ = try await read(1)
        #expect(try await read(2) { view in if view.number == 1 { throw Gone() } else { view.number } } == 2)
        #expect(events.take() == ["open 1", "close 1", "open 2"])
        await #expect(throws: Gone.self) { try await read(3) { _ in throw Gone() } }
        #expect(events.take() == ["close 2", "open 3", "close 3"])
        #expect(!kept.hasView)
    }

    @Test func aViewThatFailsIsClosed() async throws {
        _ = try await read(1)
        await #expect(throws: Wrong.self) { try await read(2) { _ in throw Wrong() } }
        #expect(events.take() == ["open 1", "close 1"])
        _ = try await read(3) { view in
            view.failsToRelease = true
            return 0
        }
        try await kept.release()
        #expect(events.take() == ["open 3", "close 3"])
    }

    @Test func anOldViewIsClosedWhenItIsIdle() async throws {
        _ = try await read(1)
        kept.endIfOld()
        #expect(events.take() == ["open 1"])
        _ = try await read(2) { view in
            view.isOld = true
            return 0
        }
        kept.endIfOld()
        kept.end()
        #expect(events.take() == ["close 1"])
    }
}
