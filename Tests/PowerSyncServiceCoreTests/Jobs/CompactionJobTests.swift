import Logging
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncTesting
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Compaction by the running service.
@Suite(.timeLimit(.minutes(1))) struct CompactionJobTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
        """

    @Test func storageIsCompactedSoonAfterTheStartAndThenOnceADay() async throws {
        var scenario = try await StorageScenario(Self.config)
        let table = try await scenario.table("test")
        let clock = TestClock()
        let job = CompactionJob(
            storage: scenario.storage,
            clock: clock,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await job.run() }
            try await clock.nextTimerScheduled()
            for (value, delay) in [CompactionJob.firstDelay, CompactionJob.interval].enumerated() {
                try await scenario.save(
                    .update(["id": "a", "v": .integer(Int64(value))]),
                    .update(["id": "a", "v": .integer(Int64(value) + 1)]),
                    of: table
                )
                try await scenario.commit()
                clock.advance(by: delay)
                // The job waits for the next day when it has compacted.
                try await clock.nextTimerScheduled()
                #expect(try await scenario.rows("g|0[]") == ["test/a": #"{"id":"a","v":\#(value + 1)}"#])
                #expect(try await scenario.operations("g|0[]").count == 2)
            }
            group.cancelAll()
        }
    }
}
