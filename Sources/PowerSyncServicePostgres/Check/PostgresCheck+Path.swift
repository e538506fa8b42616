package import PowerSyncServiceCore

extension PostgresCheck {
    /// What is wrong with the way to a server, which no statement on one connection tells: poolers that give no session, or cannot
    /// replicate.
    ///
    /// - Parameter string: How the service connects, for statements and for replication.
    /// - Returns: The errors.
    /// - Throws: ``PostgresError`` when there is no connection for statements, or `CancellationError`.
    package func pathErrors(to string: PostgresConnectionString) async throws -> [Finding] {
        let connection = try await PostgresConnection.open(string)
        defer { connection.close() }
        do {
            try await connection.proveSession(opening: { try await .open(string) }, "looking for a pooler")
        } catch let error as PostgresError where error.code == .noSession {
            return [.error(.serverSettings, error.message, nil)]
        }
        return try await replicationErrors(string, connection)
    }

    /// Opens a replication connection, and looks where it leads.
    private func replicationErrors(
        _ string: PostgresConnectionString,
        _ connection: PostgresConnection
    ) async throws -> [Finding] {
        let activity = "opening a replication connection"
        let found: [String?]
        do {
            let replication = try await PostgresConnection.open(string, for: .replication)
            defer { replication.close() }
            let rows = try await replication.execute("IDENTIFY_SYSTEM", activity: activity)
            // The system, its timeline, the position, the database.
            guard let row = rows.first, row.count == 4 else {
                throw PostgresError(.connection, "The server does not say which one it is.", activity: activity)
            }
            found = [row[0], row[3]]
        } catch let error as PostgresError {
            return [
                .error(
                    .serverSettings,
                    "The address takes statements, but no replication connection: \(error.message)",
                    """
                    Give the address of the server itself: a pooler such as PgBouncer passes on statements, and most of its \
                    versions nothing else.
                    """
                )
            ]
        }
        let own = try await connection.query(
            "SELECT system_identifier::text, current_database() FROM pg_control_system()",
            activity: activity
        )
        guard own.first != found else { return [] }
        return [
            .error(
                .serverSettings,
                "Statements and the replication connection lead to two servers or databases.",
                "Give the address of the server itself, not that of a pooler or balancer."
            )
        ]
    }
}
