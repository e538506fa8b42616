import IntegrationTestSupport
import PostgresTestSupport
import PowerSync

extension PowerSyncDatabaseProtocol {
    /// Waits until the tables of ``TodoService`` have the rows that a user may see of those in a source.
    func waitForRows(of user: String, in source: TestDatabase) async throws {
        for (table, condition) in [
            ("lists", "owner_id = '\(user)'"),
            ("todos", "list_id IN (SELECT id FROM lists WHERE owner_id = '\(user)')"),
        ] {
            let columns = TodoService.schema.tables.first { $0.name == table }?.columns.map(\.name) ?? []
            let rows = try source.run(
                """
                SELECT id, \(columns.joined(separator: ", ")) FROM \(table) WHERE \(condition) ORDER BY id COLLATE "C"
                """
            )
            try await waitForRows(of: table, toEqual: rows)
        }
    }
}
