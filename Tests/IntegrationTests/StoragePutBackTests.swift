import Foundation
import GRDB
import IntegrationTestSupport
import PostgresTestSupport
import PowerSync
import PowerSyncService
import Testing

/// A bucket storage that is put back to an older copy while the service is down: clients know more than it does, and end with the rows of
/// the source.
@Suite(.timeLimit(.minutes(3))) struct StoragePutBackTests {
    /// Where the storage is when a client comes back that has seen what the storage has lost.
    enum End: String, CaseIterable, Sendable {
        /// It has lost nothing that a client has seen.
        case at
        /// It knows fewer operations than the client.
        case before
        /// It has gone on, and gives other operations the ids that the client knows.
        case beyond
    }

    /// Which databases the service has.
    enum Databases: String, CaseIterable, Sendable {
        case embeddedAndSQLite, embeddedAndPostgres, postgresAndSQLite, postgresAndPostgres

        var hasPostgresSource: Bool { rawValue.hasPrefix("postgres") }
        var hasPostgresStorage: Bool { rawValue.hasSuffix("Postgres") }
    }

    /// A service with the two databases.
    private struct Scenario: Sendable {
        let service: TodoService
        let source: TestDatabase?
        let storage: TestDatabase?
        let configuration: ServiceConfiguration

        init(_ databases: Databases) throws {
            func settings(_ database: TestDatabase) -> PostgresSettings {
                var settings = PostgresSettings(uri: database.uri)
                settings.tls = .disable
                return settings
            }
            service = try TodoService()
            source = databases.hasPostgresSource ? try TestDatabase(TodoService.postgresTables) : nil
            storage = databases.hasPostgresStorage ? try TestDatabase() : nil
            var configuration = service.configuration
            if let source { configuration.source = .postgresql(settings(source)) }
            if let storage { configuration.storage = .postgresql(settings(storage)) }
            self.configuration = configuration
        }

        func write(_ sql: String) async throws {
            if let source {
                try source.run(sql)
            } else {
                try await service.writeToSource { db in try db.execute(sql: sql) }
            }
        }

        /// The lists that the client has to have.
        func lists() async throws -> [[String?]] {
            guard let source else { return try await service.sourceRows("lists") }
            return try source.run("SELECT id, owner_id, name FROM lists ORDER BY id COLLATE \"C\"")
        }

        func connector(_ address: BoundAddress) -> DatabaseConnector {
            DatabaseConnector(
                credentials: { [service] in try await service.connector("anna", address.url).fetchCredentials() },
                write: { [source, service] id in
                    let sql = "INSERT INTO lists VALUES ('\(id)', 'anna', 'by the backend')"
                    if let source {
                        try source.run(sql)
                    } else {
                        var configuration = Configuration()
                        configuration.busyMode = .timeout(10)
                        let queue = try DatabaseQueue(path: service.sourcePath, configuration: configuration)
                        try queue.write { db in try db.execute(sql: sql) }
                    }
                }
            )
        }

        /// Waits until a client has the lists of the source.
        func waitForLists(_ client: any PowerSyncDatabaseProtocol) async throws {
            try await client.waitForRows(of: "lists", toEqual: try await lists())
        }

        /// Copies the storage, which nobody has open.
        ///
        /// - Returns: What puts the copy in its place.
        func keepStorage() throws -> () throws -> Void {
            if let storage {
                let copy = try storage.backUp()
                return { try storage.restore(copy) }
            }
            let path = service.folder.appending(path: "buckets.db").path
            try FileManager.default.copyItem(atPath: path, toPath: path + ".kept")
            return {
                for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
                try FileManager.default.copyItem(atPath: path + ".kept", toPath: path)
            }
        }
    }

    /// Whether the client has something to upload when it comes back.
    ///
    /// It is then shown a number of its own; otherwise it waits for the one that the storage has lost.
    enum Uploads: CaseIterable { case none, some }

    @Test(arguments: Databases.allCases.flatMap { d in Uploads.allCases.map { (d, $0) } }, End.allCases)
    func clientsEndWithTheRowsOfTheSource(_ kind: (databases: Databases, uploads: Uploads), _ end: End) async throws {
        let (databases, uploads) = kind
        let scenario = try Scenario(databases)
        let (client, other) = (scenario.service.client("client"), scenario.service.client("other"))
        try await scenario.service.run(scenario.configuration) { address in
            for number in 1...5 { try await scenario.write("INSERT INTO lists VALUES ('a\(number)', 'anna', 'first')") }
            try await client.connect(connector: scenario.connector(address))
            try await client.execute("INSERT INTO lists (id, owner_id, name) VALUES ('u1', 'anna', '')")
            try await client.waitForEmptyQueue()
            try await scenario.waitForLists(client)
            try await client.disconnect()
        }
        let putBack = try scenario.keepStorage()
        try await scenario.service.run(scenario.configuration) { address in
            guard end != .at else { return }
            try await client.connect(connector: scenario.connector(address))
            for number in 1...20 { try await scenario.write("INSERT INTO lists VALUES ('b\(number)', 'anna', 'lost')") }
            try await scenario.write("UPDATE lists SET name = 'lost' WHERE id = 'a1'")
            try await scenario.write("DELETE FROM lists WHERE id = 'a2'")
            try await client.execute("INSERT INTO lists (id, owner_id, name) VALUES ('u2', 'anna', '')")
            try await client.waitForEmptyQueue()
            try await scenario.waitForLists(client)
            try await client.disconnect()
        }
        try putBack()
        try await scenario.write("UPDATE lists SET name = 'since' WHERE id = 'a3'")
        try await scenario.write("DELETE FROM lists WHERE id = 'a4'")
        try await scenario.write("DELETE FROM lists WHERE id = 'b7'")
        if uploads == .some {
            try await client.execute("INSERT INTO lists (id, owner_id, name) VALUES ('u3', 'anna', '')")
        }
        try await scenario.service.run(scenario.configuration) { address in
            if end == .beyond {
                try await other.connect(connector: scenario.connector(address))
                for number in 1...60 {
                    try await scenario.write("INSERT INTO lists VALUES ('c\(number)', 'anna', 'after')")
                }
                try await scenario.waitForLists(other)
            }
            try await client.connect(connector: scenario.connector(address))
            try await client.waitForEmptyQueue()
            try await scenario.waitForLists(client)
            // And everything that comes after it.
            try await scenario.write("INSERT INTO lists VALUES ('d1', 'anna', 'after')")
            try await scenario.write("UPDATE lists SET name = 'again' WHERE id = 'a5'")
            try await scenario.waitForLists(client)
            try await client.execute("INSERT INTO lists (id, owner_id, name) VALUES ('u4', 'anna', '')")
            try await client.waitForEmptyQueue()
            try await scenario.waitForLists(client)
        }
        try await client.close()
        try await other.close()
    }
}
