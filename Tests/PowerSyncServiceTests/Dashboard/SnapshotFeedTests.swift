import Foundation
import NIOConcurrencyHelpers
import NIOCore
import RunningServiceTestSupport
import PowerSyncTesting
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// Snapshots are taken once for all watchers, and not at all when nobody watches.
@Suite(.timeLimit(.minutes(1))) struct SnapshotFeedTests {
    private static func run(_ body: (SnapshotFeed, TestClock) async throws -> Void) async throws {
        let clock = TestClock()
        let feed = SnapshotFeed(clock: clock, logger: ServiceScenario.logger) { .example }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await feed.run() }
            try await body(feed, clock)
            group.cancelAll()
        }
    }

    @Test func nothingIsTakenWithoutWatchers() async throws {
        try await Self.run { feed, clock in
            do {
                let watcher = feed.watch()
                _ = try await watcher.next()
                try await clock.waitForTimer(of: .seconds(1))
                #expect(feed.count == 1)
            }
            #expect(feed.watcherCount == 0)
            // The pause ends, and then it waits for somebody, not for a time.
            clock.advance(by: .seconds(1))
            clock.advance(by: .seconds(3600))
            #expect(clock.pendingTimers.isEmpty)
            #expect(feed.count == 1)
            // Whoever comes is shown what is, not what was.
            let watcher = feed.watch()
            #expect(try await watcher.next() != nil)
            #expect(feed.count == 2)
        }
    }

    @Test func aWatcherLeavesOnce() async throws {
        try await Self.run { feed, _ in
            let (first, second) = (feed.watch(), feed.watch())
            first.leave()
            first.leave()
            #expect(feed.watcherCount == 1)
            second.leave()
            #expect(feed.watcherCount == 0)
        }
    }

    @Test func oneSnapshotIsForAll() async throws {
        try await Self.run { feed, clock in
            let watchers = (0..<5).map { _ in feed.watch() }
            for number in 1...3 {
                let events = try await watchers.asyncMap { try await $0.next() }
                #expect(Set(events.map { $0?.readableBytes }).count == 1)
                #expect(feed.count == UInt64(number))
                try await clock.waitForTimer(of: .seconds(1))
                clock.advance(by: .seconds(1))
            }
        }
    }

    @Test func aSlowWatcherMissesSome() async throws {
        try await Self.run { feed, clock in
            let (slow, fast) = (feed.watch(), feed.watch())
            for _ in 0..<3 {
                _ = try await fast.next()
                try await clock.waitForTimer(of: .seconds(1))
                clock.advance(by: .seconds(1))
            }
            _ = try await fast.next()
            _ = try await slow.next()
            #expect(feed.count == 4)
            try await clock.waitForTimer(of: .seconds(1))
            clock.advance(by: .seconds(1))
            _ = try await slow.next()
            #expect(feed.count == 5)
        }
    }

    @Test func watchersLearnThatThereIsNoSnapshot() async throws {
        struct Unreachable: Error {}
        let log = CollectedLog()
        let feed = SnapshotFeed(clock: TestClock(), logger: log.logger) { throw Unreachable() }
        let run = Task { try await feed.run() }
        let event = try #require(try await feed.watch().next())
        #expect(String(buffer: event).hasPrefix("data: {\"error\":"))
        // What is wrong is for the log.
        #expect(!String(buffer: event).contains("Unreachable"))
        #expect(log.lines.contains { $0.contains("Unreachable") })
        run.cancel()
    }

    @Test func whatFailsInTheSameWayIsLoggedOnce() async throws {
        struct Unreachable: Error {}
        let log = CollectedLog()
        let clock = TestClock()
        let fails = NIOLockedValueBox(true)
        let feed = SnapshotFeed(clock: clock, logger: log.logger) {
            if fails.withLockedValue(\.self) { throw Unreachable() }
            return .example
        }
        let run = Task { try await feed.run() }
        let watcher = feed.watch()
        func tick(_ count: Int) async throws {
            for _ in 0..<count {
                _ = try await watcher.next()
                try await clock.waitForTimer(of: .seconds(1))
                clock.advance(by: .seconds(1))
            }
        }
        try await tick(5)
        #expect(log.lines.count == 1, "\(log.lines)")
        // It was over in between.
        fails.withLockedValue { $0 = false }
        try await tick(2)
        fails.withLockedValue { $0 = true }
        try await tick(3)
        #expect(log.lines.count == 2, "\(log.lines)")
        run.cancel()
    }

    @Test func whoeverStopsToWatchWaitsForNothing() async throws {
        // Nobody takes snapshots, as when looking at the storage hangs.
        let feed = SnapshotFeed(clock: TestClock(), logger: ServiceScenario.logger) { .example }
        let watcher = feed.watch()
        async let event = watcher.next()
        watcher.stop()
        #expect(try await event == nil)
    }

    @Test func watchersLearnOfTheEnd() async throws {
        let feed = SnapshotFeed(clock: TestClock(), logger: ServiceScenario.logger) { .example }
        let watcher = feed.watch()
        let run = Task { try await feed.run() }
        #expect(try await watcher.next() != nil)
        run.cancel()
        #expect(try await watcher.next() == nil)
    }
}

extension [SnapshotFeed.Watcher] {
    fileprivate func asyncMap<Value>(_ value: (SnapshotFeed.Watcher) async throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for watcher in self { values.append(try await value(watcher)) }
        return values
    }
}

extension ServiceSnapshot {
    fileprivate static let example = ServiceSnapshot(
        time: 0,
        replication: Replication(source: "", rows: 0, bytes: 0, transactions: 0, streams: []),
        clients: Clients(streams: 0, users: 0, operations: 0, bytes: 0, heldBytes: 0, activities: [:], list: []),
        storage: Storage(bytes: 0, problems: [], compaction: Compaction(isRunning: false)),
        errors: []
    )
}
