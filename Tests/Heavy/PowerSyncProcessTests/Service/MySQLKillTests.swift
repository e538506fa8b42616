import Foundation
import IntegrationTestSupport
import MySQLTestSupport
import PowerSync
import TestSupport
import Testing

/// A service over a MySQL or MariaDB database that is killed in the middle of a large transaction.
///
/// `POWERSYNC_KILLS` says how often, divided by thirty; 3 times by default.
@Suite(.timeLimit(.minutes(30))) struct MySQLKillTests {
    private static let kills =
        ProcessInfo.processInfo.environment["POWERSYNC_KILLS"].flatMap(Int.init).map { $0 / 30 } ?? 3
    /// How many rows a transaction has.
    private static let rows = ProcessInfo.processInfo.environment["POWERSYNC_SLOW"] == nil ? 50_000 : 250_000

    /// How many of them are the client's: todos are found by lists, of which a client may have a thousand.
    private static let clientRows = 25

    private static let tables = [
        "CREATE TABLE lists (id VARCHAR(40) PRIMARY KEY, owner_id VARCHAR(40), name VARCHAR(100))",
        "CREATE TABLE todos (id VARCHAR(40) PRIMARY KEY, list_id VARCHAR(40), title TEXT, done INT)",
        "CREATE TABLE digits (d INT PRIMARY KEY)",
        "INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
    ]

    /// The seed of the moments.
    @Test(arguments: [UInt64(20_261_129)])
    func clientsSeeEachTransactionWholeOrNotAtAll(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let service = try TodoService()
        let database = try await TestMySQLDatabase(Self.tables)
        let process = try ServiceProcess(
            service,
            source: """
                - type: mysql
                  uri: \(database.uri)
                  sslmode: disable
                """
        )
        try await process.start()
        let client = service.client("anna")
        var options = ConnectOptions()
        options.retryDelay = 0.1
        try await client.connect(connector: service.connector("anna", process.address.url), options: options)
        let counts = Task {
            let seen = try client.watch("SELECT count(*) FROM lists") { try $0.getInt(index: 0) }
            for try await count in seen.compactMap(\.first) {
                #expect(count.isMultiple(of: Self.clientRows), "a client has \(count) rows")
            }
        }
        for kill in 0..<Self.kills {
            let inserts = (0..<5).map { part in
                """
                INSERT INTO lists SELECT CONCAT('\(kill)-\(part)-', n), IF(n % \(Self.rows / Self.clientRows) = 0, 'anna', 'bert'), 'x'
                FROM (SELECT a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d AS n
                    FROM digits a, digits b, digits c, digits d, digits e) AS numbers
                WHERE n < \(Self.rows / 5)
                """
            }
            try await database.run(["BEGIN"] + inserts + ["COMMIT"])
            try await ContinuousClock().sleep(for: .milliseconds(random.number(below: 1500)))
            await process.kill()
            try await process.start()
        }
        let expected = try await database.run("SELECT id FROM lists WHERE owner_id = 'anna' ORDER BY BINARY id")
        for try await ids in try client.watch(
            "SELECT id FROM lists ORDER BY id",
            mapper: { try $0.getString(index: 0) }
        )
        where ids.count == expected.count {
            #expect(ids == expected.map { $0[0] ?? "" })
            break
        }
        try await client.close()
        _ = await counts.result
        await process.kill()
    }
}
