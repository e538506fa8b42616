import Logging
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncServiceCore
import ServiceTestSupport
import Testing

@testable import PowerSyncService

/// What is kept of the log.
@Suite struct RecentErrorsTests {
    /// Errors whose time is a count.
    private static func counted() -> RecentErrors {
        let time = NIOLockedValueBox(0.0)
        return RecentErrors {
            time.withLockedValue {
                $0 += 1; return $0
            }
        }
    }

    @Test func whatWasLoggedIsKeptWithItsPlaceAndItsRemedy() throws {
        let (errors, log) = (Self.counted(), CollectedLog())
        var logger = errors.recorded(by: log.logger)
        logger[metadataKey: LogKey.replicationStream] = "7"
        logger.info("New checkpoint")
        logger.warning(
            "A table is left out",
            metadata: [
                LogKey.table: "public.lists", LogKey.error: "may not be read", LogKey.rowKey: "id=secret",
                LogKey.remedy: "GRANT SELECT ON public.lists TO sync;",
            ]
        )
        #expect(log.lines.count == 2)
        let entry = try #require(errors.newestFirst.first)
        #expect(errors.newestFirst.count == 1)
        #expect(
            entry
                == RecentErrors.Entry(
                    level: "warning",
                    message: "A table is left out",
                    details: "may not be read",
                    table: "public.lists",
                    stream: "7",
                    remedy: "GRANT SELECT ON public.lists TO sync;",
                    firstAt: 1,
                    lastAt: 1,
                    count: 1
                )
        )
    }

    @Test func equalOnesAreCounted() throws {
        let errors = Self.counted()
        let logger = errors.recorded(by: CollectedLog().logger)
        for attempt in 1...3 {
            logger.error(
                "Replication failed",
                metadata: [LogKey.error: "no connection", "attempt": .stringConvertible(attempt)]
            )
        }
        logger.critical("Files are gone")
        logger.error("Replication failed", metadata: [LogKey.error: "no connection"])
        let kept = errors.newestFirst
        #expect(kept.map(\.message) == ["Replication failed", "Files are gone"])
        #expect(kept.map(\.count) == [4, 1] && kept.map(\.level) == ["error", "error"])
        let first = try #require(kept.first)
        #expect(first.firstAt == 1 && first.lastAt == 5)
    }

    /// A stranger can send requests without end.
    @Test func oneMessageDrivesOutNoOther() {
        let errors = Self.counted()
        let logger = errors.recorded(by: CollectedLog().logger)
        logger.error("Replication failed", metadata: [LogKey.error: "no connection"])
        logger.error("Request failed", metadata: [LogKey.code: "PSYNC_S2001"])
        for number in 1...1000 {
            logger.error(
                "Request failed",
                metadata: [LogKey.code: "PSYNC_S2101", LogKey.description: "no token \(number)"]
            )
        }
        let kept = errors.newestFirst
        #expect(kept.count == RecentErrors.maximumOfOneMessage + 1)
        #expect(kept.first?.details == "no token 1000" && kept.last?.message == "Replication failed")
        #expect(kept.contains { $0.code == "PSYNC_S2001" })
    }

    @Test func noMoreIsKeptThanPeopleRead() {
        let errors = Self.counted()
        for number in 1...1000 {
            errors.add(
                RecentErrors.Entry(level: "error", message: "\(number)", firstAt: 0, lastAt: 0, count: 1)
            )
        }
        #expect(errors.newestFirst.count == RecentErrors.maximumCount)
        #expect(errors.newestFirst.first?.message == "1000")

        // One character for people.
        let endless = "e" + String(repeating: "\u{301}", count: 30_000)
        let logger = errors.recorded(by: CollectedLog().logger)
        logger.error("Long", metadata: [LogKey.error: "\(endless)", LogKey.table: "\(endless)"])
        let long = errors.newestFirst.first
        for text in [long?.details, long?.table] {
            #expect(text?.unicodeScalars.count == RecentErrors.textLimit)
        }
        logger.error("Lines", metadata: [LogKey.error: "a\nb\u{1b}[31m"])
        #expect(errors.newestFirst.first?.details == "a\nb\u{FFFD}[31m")
    }

    @Test func errorsAreKeptAtAnyLevelOfTheLog() {
        let (errors, log) = (Self.counted(), CollectedLog())
        var logger = errors.recorded(by: log.logger)
        logger.logLevel = .critical
        logger.error("Replication failed")
        logger.notice("The service is ready")
        #expect(log.lines.isEmpty)
        #expect(errors.newestFirst.map(\.message) == ["Replication failed"])
        logger.logLevel = .debug
        logger.debug("Request complete")
        #expect(log.lines.count == 1 && errors.newestFirst.count == 1)
    }
}
