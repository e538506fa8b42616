import NIOConcurrencyHelpers
import PowerSyncTesting
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// When the running service measures how much is stored.
@Suite(.timeLimit(.minutes(1))) struct StorageSizeJobTests {
    private struct Hiccup: Error {}

    /// A storage that is measured as a test says.
    private struct MeasuredStorage: ForwardingStorage {
        let storage = InMemoryBucketStorage()
        /// The versions that were asked about.
        let asked = NIOLockedValueBox<[Int64?]>([])
        let answer: @Sendable () throws -> StorageSizes?

        func sizes(after version: Int64?) async throws -> StorageSizes? {
            asked.withLockedValue { $0.append(version) }
            return try answer()
        }
    }

    private static let sizes = StorageSizes(version: 7, operations: 3, parameters: 2, rows: 1, bucketCount: 1)

    private let clock = TestClock()
    private let log = CollectedLog()

    private func run(_ storage: MeasuredStorage, _ body: (StorageSizeJob) async throws -> Void) async throws {
        let job = StorageSizeJob(storage: storage, clock: clock, logger: log.logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await job.run() }
            try await body(job)
            group.cancelAll()
        }
    }

    @Test func pausesGrowToAMinute() async throws {
        let storage = MeasuredStorage { Self.sizes }
        try await run(storage) { job in
            for pause in [2, 4, 8, 16, 32, 60, 60] {
                #expect(try await clock.nextTimerScheduled() == .seconds(pause))
                #expect(job.sizes == Self.sizes)
                clock.advance(by: .seconds(pause))
            }
            try await clock.nextTimerScheduled()
        }
        // What was written since is measured, and nothing else.
        let versions: [Int64?] = [nil] + Array(repeating: 7, count: 7)
        #expect(storage.asked.withLockedValue { $0 } == versions)
    }

    @Test func sizesStayWhileNothingIsWritten() async throws {
        let answers = NIOLockedValueBox<[StorageSizes?]>([Self.sizes])
        let storage = MeasuredStorage { answers.withLockedValue { $0.popLast() ?? nil } }
        try await run(storage) { job in
            try await clock.nextTimerScheduled()
            clock.advance(by: StorageSizeJob.firstInterval)
            try await clock.nextTimerScheduled()
            #expect(job.sizes == Self.sizes)
        }
        #expect(storage.asked.withLockedValue { $0 } == [nil, 7])
    }

    @Test func measuringTakesASmallPartOfTheTime() async throws {
        let storage = MeasuredStorage { [clock] in
            clock.advance(by: .seconds(10))
            return Self.sizes
        }
        try await run(storage) { _ in
            let pause = try await clock.nextTimerScheduled()
            #expect(pause == .seconds(10 * StorageSizeJob.share))
        }
    }

    @Test func whatCannotBeMeasuredIsMeasuredLater() async throws {
        let failures = NIOLockedValueBox(1)
        let storage = MeasuredStorage {
            let fails = failures.withLockedValue { count in
                defer { count = 0 }
                return count > 0
            }
            if fails { throw Hiccup() }
            return Self.sizes
        }
        try await run(storage) { job in
            try await clock.nextTimerScheduled()
            #expect(job.sizes == nil)
            #expect(log.lines.count == 1)
            #expect(log.lines.first?.contains("The size of the storage could not be measured error=Hiccup()") == true)
            clock.advance(by: StorageSizeJob.firstInterval)
            try await clock.nextTimerScheduled()
            #expect(job.sizes == Self.sizes)
        }
        #expect(storage.asked.withLockedValue { $0 } == [nil, nil])
    }

    @Test func whatACancelledMeasurementThrowsIsNoError() async throws {
        let storage = MeasuredStorage {
            withUnsafeCurrentTask { $0?.cancel() }
            throw Hiccup()
        }
        try await StorageSizeJob(storage: storage, clock: clock, logger: log.logger).run()
        #expect(log.lines.isEmpty)
    }
}
