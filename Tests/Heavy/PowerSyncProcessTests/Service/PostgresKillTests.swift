import Foundation
import IntegrationTestSupport
import PostgresTestSupport
import PowerSync
import TestSupport
import Testing

/// A service over a PostgreSQL database that is killed in the middle of its work.
///
/// `POWERSYNC_KILLS` says how often, divided by ten; 8 times by default.
@Suite(.timeLimit(.minutes(30))) struct PostgresKillTests {
    private static let kills =
        ProcessInfo.processInfo.environment["POWERSYNC_KILLS"].flatMap(Int.init).map { $0 / 10 } ?? 8

    private let service: TodoService
    private let database: TestDatabase
    private let process: ServiceProcess

    init() throws {
        service = try TodoService()
        database = try TestDatabase(
            """
            \(TodoService.postgresTables)
            INSERT INTO lists VALUES ('count', 'anna', '0');
            INSERT INTO lists SELECT 'l' || n, CASE n % 10 WHEN 0 THEN 'anna' ELSE 'bert' END, 'first'
                FROM generate_series(1, 5000) n
            """
        )
        process = try ServiceProcess(
            service,
            source: """
                - type: postgresql
                  uri: \(database.uri)
                  sslmode: disable
                """
        )
    }

    /// The seed of the writes and moments.
    @Test(arguments: [UInt64(20_261_123)])
    func contentEqualsTheSourceAndNoClientGoesBack(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let client = service.client("anna")
        let counts = Task {
            var last = 0
            let rows = try client.watch("SELECT name FROM lists WHERE id = 'count'") { try $0.getString(index: 0) }
            for try await names in rows {
                guard let count = names.first.flatMap({ Int($0) }) else { continue }
                #expect(count >= last, "a client saw \(last), then \(count)")
                last = count
            }
        }
        var options = ConnectOptions()
        options.retryDelay = 0.1
        var count = 0
        for kill in 0..<Self.kills {
            // The first kills come in the middle of the copy.
            try await process.start(untilReady: kill > 2)
            if kill == 0 {
                try await client.connect(connector: service.connector("anna", process.address.url), options: options)
            }
            for _ in 0..<random.number(below: 12) {
                count += 1
                let first = random.number(below: 5_000)
                try database.run(
                    """
                    UPDATE lists SET name = '\(count)' WHERE id = 'count';
                    UPDATE lists SET name = 'c\(count)' WHERE id BETWEEN 'l\(first)' AND 'l\(first)9';
                    DELETE FROM todos WHERE id < '\(first)';
                    INSERT INTO todos SELECT (n * \(first))::text, 'l' || n, 'todo', 0 FROM generate_series(1, 50) n
                        ON CONFLICT (id) DO UPDATE SET title = 'again \(count)'
                    """
                )
            }
            // What is being replicated when the kill comes.
            if random.number(below: 3) > 0 {
                try database.run("INSERT INTO lists VALUES ('new\(kill)', 'anna', '\(kill)')")
            }
            try await ContinuousClock().sleep(for: .milliseconds(random.number(below: 400)))
            await process.kill()
        }
        try await process.start()
        try await client.waitForRows(of: "anna", in: database)
        try await client.close()
        _ = await counts.result
        await process.kill()
    }
}
