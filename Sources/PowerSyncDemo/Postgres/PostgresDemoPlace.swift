import Logging
import PowerSyncOperations
import PowerSyncService
import PowerSyncServicePostgres
import PowerSyncTerminal

/// What the demo makes in a PostgreSQL database, and takes away again: two schemas, a publication, and replication slots.
///
/// Schemas and publication have a comment that says whose they are, and are made in one transaction. Slots are made after it and
/// dropped before it: as long as there is a slot, there are schemas with that comment, also after `kill -9`.
struct PostgresDemoPlace: Sendable {
    /// The schema of the source's tables.
    static let schema = "powersync_demo"
    /// The schema of the bucket storage.
    static let storageSchema = "powersync_demo_storage"
    /// The publication.
    static let publication = "powersync_demo"
    /// What the names of the slots begin with: not as those of a service, which would take them for its own.
    static let slotPrefix = "demo_powersync_"
    /// The comment.
    private static let mark = "Made by `powersync demo`, which deletes it again."
    /// For how long the server is asked for what another session holds: that of a killed run ends a moment after it.
    private static let patience = "10s"

    /// Where to connect.
    private let server: PostgresConnectionString
    /// Names the source.
    private let configuration: ServiceConfiguration
    private let terminal: Terminal
    /// Keeps other demos out of the database until it is closed.
    private let session: PostgresConnection

    /// Checks that the demo can run in a database, and makes nothing.
    ///
    /// - Parameters:
    ///   - server: Where to connect.
    ///   - configuration: The service that will run there.
    ///   - terminal: For what is taken away.
    /// - Throws: ``DemoFailure`` that says what is missing, or `PostgresError`.
    init(server: PostgresConnectionString, configuration: ServiceConfiguration, terminal: Terminal) async throws {
        // The publication is made by the demo.
        try await configuration.checkSourceForDemo(apartFrom: [.publicationMissing])
        self.server = server
        self.configuration = configuration
        self.terminal = terminal
        session = try await PostgresConnection.open(server)
        try await lock()
    }

    /// Waits until no other demo runs in the database.
    private func lock() async throws {
        do {
            try await session.execute(
                """
                SET lock_timeout TO '\(Self.patience)';
                SELECT pg_advisory_lock(hashtextextended('powersync demo', 0))
                """,
                activity: "waiting for other demos"
            )
        } catch let error as PostgresError where error.sqlState == "55P03" {
            throw DemoFailure("another demo runs in this database; wait for its end")
        }
    }

    // MARK: Making

    /// Makes schemas, tables and the publication; what a killed run has left is taken away before.
    ///
    /// - Throws: ``DemoFailure`` when the role may not, or something with one of the names is not of a demo.
    func make() async throws {
        let rights = try await session.query(
            "SELECT current_user, current_database(), has_database_privilege(current_database(), 'CREATE')",
            activity: "reading the privileges"
        )
        if let row = rights.first, row.count == 3, row[2] != "t" {
            throw DemoFailure(
                """
                role \(row[0] ?? "") may not make schemas and publications in database \(row[1] ?? "").
                  GRANT CREATE ON DATABASE "\(row[1] ?? "")" TO "\(row[0] ?? "")";
                """
            )
        }
        let present = try await present()
        if let stranger = present.first(where: { !$0.isOurs }) {
            throw DemoFailure("the database has a \(stranger) that no demo has made; use another database")
        }
        if !present.isEmpty {
            try terminal.line("  what a demo left here that was killed is taken away")
            try await remove()
        }
        if let slot = try await session.slots(withPrefix: Self.slotPrefix).first {
            throw DemoFailure("the database has a replication slot \(slot.name) that no demo has made; use another one")
        }
        let tables = DemoApp.syncedTables.map { "\(Self.schema).\($0)" }.joined(separator: ", ")
        try await session.execute(
            """
            CREATE SCHEMA \(Self.schema);
            COMMENT ON SCHEMA \(Self.schema) IS '\(Self.mark)';
            CREATE SCHEMA \(Self.storageSchema);
            COMMENT ON SCHEMA \(Self.storageSchema) IS '\(Self.mark)';
            \(PostgresDemoSource.statements)
            CREATE PUBLICATION \(Self.publication) FOR TABLE \(tables);
            COMMENT ON PUBLICATION \(Self.publication) IS '\(Self.mark)';
            """,
            activity: "making the demo's tables"
        )
    }

    // MARK: Taking away

    /// Takes everything away that a demo has made; does nothing when there is nothing.
    ///
    /// - Throws: `PostgresError`, or an error of the source. It can be repeated then.
    func remove() async throws {
        let ours = try await present().filter(\.isOurs)
        guard !ours.isEmpty else { return }
        let slots = try await session.slots(withPrefix: Self.slotPrefix).map(\.name)
        try await SyncService.dropSlots(slots, of: configuration, logger: .demo)
        try await session.execute(
            ours.map { "DROP \($0) CASCADE" }.joined(separator: "; "),
            activity: "deleting what the demo has made"
        )
    }

    /// Lets other demos in.
    func close() {
        session.close()
    }

    /// A schema or a publication with a name of the demo's.
    private struct Thing: CustomStringConvertible {
        var kind: String
        var name: String
        var isOurs: Bool

        var description: String { "\(kind) \(name)" }
    }

    private func present() async throws -> [Thing] {
        let rows = try await session.query(
            """
            SELECT 'publication', pubname, coalesce(obj_description(oid, 'pg_publication') = $3, false)
            FROM pg_publication WHERE pubname = $4
            UNION ALL
            SELECT 'schema', nspname, coalesce(obj_description(oid, 'pg_namespace') = $3, false)
            FROM pg_namespace WHERE nspname IN ($1, $2)
            """,
            [Self.schema, Self.storageSchema, Self.mark, Self.publication],
            activity: "looking for what earlier demos have left"
        )
        return rows.map { Thing(kind: $0[0] ?? "", name: $0[1] ?? "", isOurs: $0[2] == "t") }
    }
}
