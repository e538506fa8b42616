import Foundation
import Logging
import NIOConcurrencyHelpers
import PowerSyncServiceCore
import Testing

@testable import PowerSyncServicePostgres

/// When a position is acknowledged; no server is asked for that.
@Suite struct AcknowledgementTests {
    @Test(arguments: [10.0, 3600, -3600])
    func aPositionIsAcknowledgedNowAndThenWhicheverWayTheClockIsSet(seconds: Double) async throws {
        let time = NIOLockedValueBox(Date(timeIntervalSince1970: 1_000_000))
        let source = PostgresSource(
            PostgresSource.Settings(connection: PostgresConnectionString("postgresql://nobody@127.0.0.1:1/none")),
            now: { time.withLockedValue { $0 } },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let first = WALPosition(rawValue: 1000).lsn
        let next = WALPosition(rawValue: 1008).lsn
        #expect(source.wantsAcknowledgement(of: first, by: "s"))
        let position = SourcePosition(first, of: SourceHistory(rawValue: "h"))
        try await source.acknowledge(DurablePosition(confirmedByDisk: position), of: "s")
        #expect(!source.wantsAcknowledgement(of: next, by: "s"))
        time.withLockedValue { $0 += seconds }
        #expect(source.wantsAcknowledgement(of: next, by: "s"))
        // There is nothing to say twice.
        #expect(!source.wantsAcknowledgement(of: first, by: "s"))
        try source.close()
    }
}
