import NIOConcurrencyHelpers
import PowerSyncProtocol
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// The log lines about the checkpoints of a stream (docs/service.md "Logs").
@Suite(.timeLimit(.minutes(1))) struct CheckpointLinesTests {
    private static let config = """
        config: {edition: 3}
        streams:
          urgent: {auto_subscribe: true, priority: 1, query: SELECT * FROM urgent}
          g: {auto_subscribe: true, query: SELECT * FROM t}
        """

    /// The lines about checkpoints that are complete or invalidated, without their times.
    private static func lines(_ log: CollectedLog) -> [String] {
        log.lines.filter { $0.contains("checkpoint_complete") || $0.contains("checkpoint_invalidated") }
            .map { $0.replacing(#/ ms=\[[^\]]*\]/#, with: "").replacing(#/data_synced_bytes=[1-9]\d*/#, with: "bytes") }
    }

    @Test func whatIsCompleteIsSaidOnceASecond() async throws {
        let log = CollectedLog()
        let time = NIOLockedValueBox(1000.0)
        try await SessionScenario.run(Self.config) { scenario in
            scenario.logger = log.logger
            scenario.now = { time.withLockedValue(\.self) }
            let (urgent, table) = (try await scenario.storage.table("urgent"), try await scenario.storage.table("t"))
            try await scenario.insert("u", into: urgent)
            try await scenario.insert("a", into: table)
            try await scenario.storage.commit()
            var client = try await scenario.client()
            _ = try await client.untilComplete()
            for id in ["b", "c"] {
                time.withLockedValue { $0 += 0.5 }
                try await scenario.insert(id, into: table)
                try await scenario.storage.commit()
                _ = try await client.untilComplete()
            }
            await client.leave()
        }
        #expect(
            Self.lines(log) == [
                "info partial_checkpoint_complete checkpoint=2 bytes operations_synced=1 priority=1",
                "debug checkpoint_complete checkpoint=2 bytes operations_synced=1",
                // With what the lines before at debug have: nothing is left out at info.
                "debug checkpoint_complete checkpoint=3 bytes operations_synced=2",
                "info checkpoint_complete checkpoint=4 bytes operations_synced=3",
            ],
            "\(log.lines)"
        )
        #expect(log.lines.filter { $0.contains("checkpoint_complete") }.allSatisfy { $0.contains("total") })
    }

    @Test func whatIsSentInVainIsSaid() async throws {
        let log = CollectedLog()
        let fault = ReadFault()
        let error = BucketStorageError(.checkpointInvalidated, "It was compacted.")
        try await SessionScenario.run(Self.config, view: { fault.view(of: $0) }) { scenario in
            scenario.logger = log.logger
            let table = try await scenario.storage.table("t")
            try await scenario.insert("a", into: table)
            try await scenario.storage.commit()
            fault.fail(.bucketData, with: error)
            var client = try await scenario.client()
            try await fault.signal.wait(after: 0)
            try await scenario.insert("b", into: table)
            try await scenario.storage.commit()
            _ = try await client.untilComplete()
            await client.leave()
        }
        #expect(
            Self.lines(log).first
                == "info checkpoint_invalidated checkpoint=1 bytes operations_synced=0 reason=compacted",
            "\(log.lines)"
        )
    }
}
