import GRDB
import PowerSyncCore
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct WatchThrottleTests {
    private let clock = TestClock()

    @Test func resultsOfAQueryComeNoFasterThanItsThrottle() async throws {
        let database = LocalDatabase(
            source: .location(.success(.memory), initialStatements: []),
            schema: .success(try ClientSchema(testSchema)),
            logger: DefaultLogger(writers: []),
            clock: clock
        )
        let options = WatchOptions(sql: "SELECT count(*) FROM users", throttle: 5) { try $0.getInt(index: 0) }
        var counts = database.watch(options).makeAsyncIterator()
        #expect(try await counts.next() == [0])
        for count in [2, 4] {
            try await clock.waitForTimer(of: .seconds(5))
            for _ in 0..<2 {
                try await database.write { try $0.execute(sql: "INSERT INTO users (id) VALUES (uuid())") }
            }
            clock.advance(by: .seconds(5))
            #expect(try await counts.next() == [count])
        }
        try await database.close()
    }
}
