import Foundation
import GRDB
import IntegrationTestSupport
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

    private let service: TodoService

    init() throws {
        service = try TodoService()
    }

    private func write(_ sql: String) async throws {
        try await service.writeToSource { db in try db.execute(sql: sql) }
    }

    private func connector(_ address: BoundAddress) -> DatabaseConnector {
        DatabaseConnector(
            credentials: { [service] in try await service.connector("anna", address.url).fetchCredentials() },
            write: { [service] id in
                var configuration = Configuration()
                configuration.busyMode = .timeout(10)
                let queue = try DatabaseQueue(path: service.sourcePath, configuration: configuration)
                try queue.write { db in
                    try db.execute(sql: "INSERT INTO lists VALUES (?, 'anna', 'by the backend')", arguments: [id])
                }
            }
        )
    }

    /// Waits until a client has the lists of the source.
    private func waitForLists(_ client: any PowerSyncDatabaseProtocol) async throws {
        try await client.waitForRows(of: "lists", toEqual: try await service.sourceRows("lists"))
    }

    /// Copies the storage, which nobody has open.
    ///
    /// - Returns: What puts the copy in its place.
    private func keepStorage() throws -> () throws -> Void {
        let path = service.folder.appending(path: "buckets.db").path
        try FileManager.default.copyItem(atPath: path, toPath: path + ".kept")
        return {
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
            try FileManager.default.copyItem(atPath: path + ".kept", toPath: path)
        }
    }

    /// Whether the client has something to upload when it comes back.
    ///
    /// It is then shown a number of its own; otherwise it waits for the one that the storage has lost.
    enum Uploads: CaseIterable { case none, some }

    @Test(arguments: Uploads.allCases, End.allCases)
    func clientsEndWithTheRowsOfTheSource(_ uploads: Uploads, _ end: End) async throws {
        let (client, other) = (service.client("client"), service.client("other"))
        try await service.run { address in
            for number in 1...5 { try await write("INSERT INTO lists VALUES ('a\(number)', 'anna', 'first')") }
            try await client.connect(connector: connector(address))
            try await client.execute("INSERT INTO lists (id, owner_id, name) VALUES ('u1', 'anna', '')")
            try await client.waitForEmptyQueue()
            try await waitForLists(client)
            try await client.disconnect()
        }
        let putBack = try keepStorage()
        try await service.run { address in
            guard end != .at else { return }
            try await client.connect(connector: connector(address))
            for number in 1...20 { try await write("INSERT INTO lists VALUES ('b\(number)', 'anna', 'lost')") }
            try await write("UPDATE lists SET name = 'lost' WHERE id = 'a1'")
            try await write("DELETE FROM lists WHERE id = 'a2'")
            try await client.execute("INSERT INTO lists (id, owner_id, name) VALUES ('u2', 'anna', '')")
            try await client.waitForEmptyQueue()
            try await waitForLists(client)
            try await client.disconnect()
        }
        try putBack()
        try await write("UPDATE lists SET name = 'since' WHERE id = 'a3'")
        try await write("DELETE FROM lists WHERE id = 'a4'")
        try await write("DELETE FROM lists WHERE id = 'b7'")
        if uploads == .some {
            try await client.execute("INSERT INTO lists (id, owner_id, name) VALUES ('u3', 'anna', '')")
        }
        try await service.run { address in
            if end == .beyond {
                try await other.connect(connector: connector(address))
                for number in 1...60 {
                    try await write("INSERT INTO lists VALUES ('c\(number)', 'anna', 'after')")
                }
                try await waitForLists(other)
            }
            try await client.connect(connector: connector(address))
            try await client.waitForEmptyQueue()
            try await waitForLists(client)
            // And everything that comes after it.
            try await write("INSERT INTO lists VALUES ('d1', 'anna', 'after')")
            try await write("UPDATE lists SET name = 'again' WHERE id = 'a5'")
            try await waitForLists(client)
            try await client.execute("INSERT INTO lists (id, owner_id, name) VALUES ('u4', 'anna', '')")
            try await client.waitForEmptyQueue()
            try await waitForLists(client)
        }
        try await client.close()
        try await other.close()
    }
}
