package import PowerSyncServiceCore

/// The maintenance of a ``PostgresBucketStorage``.
package struct PostgresStorageMaintenance: StorageMaintenance {
    /// The server and the schema.
    package let place: String
    /// The schema, and what makes its tables.
    var schema: PostgresStorageSchema
    private let connection: @Sendable () throws -> PostgresConnectionString

    /// Creates the maintenance of a schema, which does not have to exist.
    ///
    /// - Parameters:
    ///   - schema: Its name.
    ///   - place: How it is shown.
    ///   - connection: How to connect.
    package init(
        schema: String,
        place: String,
        connection: @escaping @Sendable () throws -> PostgresConnectionString
    ) {
        self.schema = PostgresStorageSchema(name: schema)
        self.place = place
        self.connection = connection
    }

    /// Runs `body` with a connection of its own.
    ///
    /// - Parameters:
    ///   - inSession: Whether the connection must have a session of the server for itself.
    ///   - body: Uses it.
    /// - Returns: The result of `body`.
    /// - Throws: What `body` throws, or why there is no connection.
    private func withConnection<Result>(
        inSession: Bool = false,
        _ body: (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        let string = try self.connection()
        let connection = try await PostgresConnection.open(string, settings: schema.sessionSettings)
        defer { connection.close() }
        if inSession { try await PostgresBucketStorage.prove(connection, string, schema) }
        return try await body(connection)
    }

    // MARK: Looking

    package func version() async throws -> StorageVersion {
        let found = try await withConnection { connection in
            try await connection.statements("reading the version of the bucket storage", in: schema) { [schema] db in
                try schema.stored(db)
            }
        }
        return StorageVersion(
            found: found.map { Int($0) },
            current: Int(schema.version),
            steps: schema.steps(from: found ?? 0)
        )
    }

    package func sourceHandles() async throws -> Set<String> {
        try await withConnection { try await sourceHandles($0) }
    }

    private func sourceHandles(_ connection: PostgresConnection) async throws -> Set<String> {
        try await connection.statements("reading the streams", in: schema) { [schema] db in
            guard let tables = try schema.contents(db).tables else { return [] }
            return Set(try Self.handles(tables, db).values.compactMap(\.self))
        }
    }

    package func checkOpening(migrates: Bool) async throws {
        try await withConnection(inSession: true) { connection in
            try await PostgresBucketStorage.checkServer(connection, schema)
            do {
                try await connection.statements("reading the version of the bucket storage", in: schema) {
                    [schema] db in
                    // A storage of a newer service, or of an earlier build, is refused in any case.
                    let found = try schema.current(db)
                    if !migrates, found != schema.version { try schema.prepare(.checking, db) }
                    if migrates, found == nil, try !Self.mayMake(schema, db) {
                        throw PostgresBucketStorage.refusal(of: schema)
                    }
                }
            } catch let error as PostgresError where error.sqlState == PostgresError.SQLState.insufficientPrivilege {
                throw PostgresBucketStorage.refusal(of: schema, error)
            }
        }
    }

    /// Whether the role may make the tables, and the schema if there is none.
    private static func mayMake(_ schema: PostgresStorageSchema, _ db: PostgresStatements) throws -> Bool {
        try db.one(
            """
            SELECT coalesce(
                (SELECT has_schema_privilege(n.oid, 'CREATE') AND has_schema_privilege(n.oid, 'USAGE')
                FROM pg_namespace AS n WHERE n.nspname = $1),
                has_database_privilege(current_database(), 'CREATE')
            )
            """,
            [.text(schema.name)]
        ) { try $0.boolean(0) }
    }

    // MARK: Changing

    /// Also while services run: they and this take turns.
    package func migrate() async throws {
        try await withConnection(inSession: true) { connection in
            try await PostgresBucketStorage.prepare(schema, .service, connection)
        }
    }

    /// A process that replicates is detected by its lock, before and after.
    ///
    /// Nothing is deleted when a stream has come meanwhile. Services that only serve clients are not noticed; they end when they
    /// find out.
    package func erase(afterReleasing release: (Set<String>) async throws -> Void) async throws {
        try await withConnection(inSession: true) { connection in
            let (handles, tables) = try await connection.statements("keeping writers away", in: schema) {
                [schema, place, inUse] db in
                guard let tables = try schema.contents(db).tables else {
                    throw BucketStorageError(.cannotOpen, "There is no bucket storage at \(place).")
                }
                let handles = try Self.handles(tables, db)
                for stream in handles.keys {
                    guard try WriterLease.tryLock(schema.writerKey(stream), db) else { throw inUse }
                }
                return (handles, tables)
            }
            try await release(Set(handles.values.compactMap(\.self)))
            try await connection.statements("deleting the bucket storage", in: schema) { [schema, inUse] db in
                try schema.erase(db) {
                    // No service can add another one from here on.
                    try db.run("LOCK TABLE \(db.schema).\(tables.streams) IN ACCESS EXCLUSIVE MODE")
                    guard try Set(Self.handles(tables, db).keys).isSubset(of: handles.keys) else { throw inUse }
                }
            }
        }
    }

    /// All streams that are stored, with the handles of those that the source keeps something for.
    private static func handles(
        _ tables: PostgresStorageSchema.StreamTable,
        _ db: PostgresStatements
    ) throws -> [ReplicationStreamID: String?] {
        let streams = try db.rows(
            "SELECT id, CASE WHEN state <> 'TERMINATED' THEN \(tables.handle) END FROM \(db.schema).\(tables.streams)"
        ) {
            (ReplicationStreamID(rawValue: try $0.integer(0)), $0.optionalText(1))
        }
        return Dictionary(uniqueKeysWithValues: streams)
    }

    private var inUse: BucketStorageError {
        BucketStorageError(
            .inUse,
            "A service replicates into the bucket storage at \(place). Stop it first."
        )
    }
}
