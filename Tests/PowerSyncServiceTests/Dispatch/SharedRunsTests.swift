import NIOCore
import PowerSyncProtocol
import Testing

@testable import PowerSyncServiceCore

@Suite(.timeLimit(.minutes(1))) struct SharedRunsTests {
    private struct Failure: Error {}

    private static func key(_ bucket: String, at opID: Int64 = 1) -> SharedRuns.Key {
        SharedRuns.Key(
            [.init(name: BucketName(bucket), after: .zero)],
            at: SyncSessionStateMachineTests.checkpoint(opID),
            as: SyncSession.Encoding(format: .ndjson, isRawData: true)
        )
    }

    /// A run of one line of this many bytes of text.
    private static func run(bytes: Int = 0) -> EncodedRun {
        var line = DataLine(bucket: BucketName("a"), after: .zero, nextAfter: OpID(1), hasMore: false)
        let data = String(repeating: "x", count: bytes)
        line.append(.put, opID: OpID(1), checksum: Checksum(1), data: data)
        return EncodedRun([BucketChunk(line: line)], as: .init(format: .ndjson, isRawData: true))
    }

    /// Begins to make a run of bucket `a`, until it is cancelled.
    private static func endlessMaker(_ runs: SharedRuns) async throws -> Task<EncodedRun, any Error> {
        let started = ChangeSignal()
        let maker = Task {
            try await runs.run(for: key("a")) {
                started.advance()
                try await ChangeSignal().wait(after: 0)
                return run()
            }
        }
        try await started.wait(after: 0)
        return maker
    }

    @Test func whatSeveralWantIsMadeOnce() async throws {
        let runs = SharedRuns()
        try await withThrowingTaskGroup(of: ByteBuffer?.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    let run = try await runs.run(for: Self.key("a")) {
                        await Task.yield()
                        return Self.run()
                    }
                    return run.lines.first?.bytes
                }
            }
            for try await line in group { #expect(line == Self.run().lines.first?.bytes) }
        }
        #expect(runs.madeCount == 1)
        _ = try await runs.run(for: Self.key("b")) { Self.run() }
        _ = try await runs.run(for: Self.key("a", at: 2)) { Self.run() }
        #expect(runs.madeCount == 3)
    }

    @Test func whenOneFailsAnotherTries() async throws {
        let runs = SharedRuns()
        await #expect(throws: Failure.self) {
            _ = try await runs.run(for: Self.key("a")) { throw Failure() }
        }
        let maker = try await Self.endlessMaker(runs)
        let other = Task { try await runs.run(for: Self.key("a")) { Self.run() } }
        maker.cancel()
        await #expect(throws: CancellationError.self) { _ = try await maker.value }
        #expect(try await other.value.lines.count == 1)
        #expect(runs.madeCount == 1)
    }

    @Test func whoWaitsCanBeCancelled() async throws {
        let runs = SharedRuns()
        let maker = try await Self.endlessMaker(runs)
        let waiting = Task { try await runs.run(for: Self.key("a")) { Self.run() } }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiting.value }
        maker.cancel()
        _ = await maker.result
    }

    @Test func whatIsKeptIsLimitedByItsBytes() async throws {
        let runs = SharedRuns()
        let size = SharedRuns.maximumBytes / 4
        for number in 0..<10 {
            _ = try await runs.run(for: Self.key("b\(number)")) { Self.run(bytes: size / 2) }
            #expect(runs.byteCount <= SharedRuns.maximumBytes)
        }
        #expect(runs.byteCount > 0)
        let kept = runs.byteCount
        _ = try await runs.run(for: Self.key("large")) { Self.run(bytes: SharedRuns.maximumBytes + 1) }
        #expect(runs.byteCount == kept)
    }

    @Test func aNewCheckpointLetsGoOfOldRuns() async throws {
        let runs = SharedRuns()
        _ = try await runs.run(for: Self.key("a", at: 1)) { Self.run() }
        _ = try await runs.run(for: Self.key("a", at: 2)) { Self.run() }
        runs.forget(before: SyncSessionStateMachineTests.checkpoint(2))
        _ = try await runs.run(for: Self.key("a", at: 2)) { Self.run() }
        #expect(runs.madeCount == 2)
        runs.forget(before: SyncSessionStateMachineTests.checkpoint(3))
        #expect(runs.byteCount == 0)
    }
}
