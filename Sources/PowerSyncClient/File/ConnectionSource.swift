import Dispatch
import GRDB
import GRDBSQLite
import PowerSyncCore
import PowerSyncSQLite

/// Where the connections of a database come from.
enum ConnectionSource: Sendable {
    /// We open them ourselves, and delete the file on request; where there is none, it begins as a copy of a seed.
    case location(
        Result<DatabaseLocation, any Error>,
        initialStatements: [String],
        key: DatabaseKey.Source? = nil,
        seed: SeedFile? = nil
    )
    /// A GRDB pool of the app, used for everything.
    case writer(any DatabaseWriter)
    /// Connections of the app that are not GRDB's.
    ///
    /// The app's own statements run on them. Everything else runs on connections of ours to the same file, which write
    /// only while the pool's writer is ours, so that the two never compete.
    case pool(any SQLiteConnectionPoolProtocol, key: DatabaseKey.Source? = nil)

    /// Whether the connections are the app's.
    var isOfApp: Bool {
        if case .location = self { false } else { true }
    }

    /// The path of the file that the SDK opens; `nil` for connections of the app and for a database in memory.
    var path: String? {
        if case .location(.success(.file(let path)), _, _, _) = self { path } else { nil }
    }

    /// Where the file is, if we may delete it.
    var location: Result<DatabaseLocation, any Error>? {
        guard case .location(let location, _, _, _) = self else { return nil }
        return location
    }

    /// Where the file of open connections is.
    func location(of writer: any DatabaseWriter) -> DatabaseLocation {
        switch writer {
        case let pool as DatabasePool: .file(behind: pool.path)
        case let queue as DatabaseQueue where queue.path != ":memory:": .file(behind: queue.path)
        default: .memory
        }
    }

    /// Opens the connections for the engine.
    ///
    /// - Parameters:
    ///   - clock: Measures the delays between attempts.
    ///   - logger: Receives messages.
    /// - Returns: The connections, prepared with our SQL functions.
    /// - Throws: GRDB's `DatabaseError`, ``PowerSyncError``, `CancellationError`.
    func open(clock: any Clock<Duration>, logger: any LoggerProtocol) async throws -> any DatabaseWriter {
        switch self {
        case .location(let location, let initialStatements, let key, let seed):
            return try await ConnectionOpener(
                location: try location.get(),
                initialStatements: initialStatements,
                key: key,
                seed: seed,
                clock: clock
            ).open()
        case .writer(let writer):
            try await writer.uncancelledWriteWithoutTransaction { db in
                let isPrepared = SQLFunctions.areInstalled(on: db)
                try SQLFunctions.install(on: db)
                guard try ConnectionSetUp.isSchemaTrusted(db) else {
                    throw PowerSyncError.untrustedSchema
                }
                guard !isPrepared else { return }
                try ConnectionSetUp.boundLog(db)
                logger.warning(
                    "The pool was opened without configurePowerSync(schema:): PowerSync's SQL functions are missing on its "
                        + "reading connections, and views have no primary key for GRDB.",
                    tag: LogTag.database
                )
            }
            return writer
        case .pool(let pool, let key):
            return try await pool.openCompanion(key, clock: clock)
        }
    }

    /// Makes the reading connections of the app notice a changed schema.
    func refreshReaders() async throws {
        guard case .pool(let pool, _) = self else { return }
        try await pool.withAllConnections { _, readers in
            for reader in readers {
                _ = try reader.execute(sql: "PRAGMA table_info('sqlite_master')", parameters: [])
            }
        }
    }

    /// Has the writer stop telling us of its transactions, if it goes on without us.
    func letGo(of writer: any DatabaseWriter, _ stopObserving: @escaping @Sendable (Database) -> Void) {
        guard case .writer = self else { return }
        writer.asyncWriteWithoutTransaction(stopObserving)
    }

    /// Closes the connections that we have opened.
    func closeOwn(_ writer: any DatabaseWriter) async throws {
        if case .writer = self { return }
        try await writer.closeWaiting()
    }

    /// Closes the connections of the app.
    func closeForeign() async throws {
        switch self {
        case .location: break
        case .writer(let writer): try await writer.closeWaiting()
        case .pool(let pool, _): try await pool.close()
        }
    }
}

extension DatabaseWriter {
    /// Waits for running accesses and closes the connections.
    ///
    /// GRDB blocks meanwhile, so this happens on a thread of its own.
    fileprivate func closeWaiting() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            DispatchQueue.global().async {
                continuation.resume(with: Result { try self.close() })
            }
        }
    }
}

extension SQLiteConnectionPoolProtocol {
    /// Opens connections of ours to the file of the pool, and prepares those of the pool.
    fileprivate func openCompanion(
        _ key: DatabaseKey.Source?,
        clock: any Clock<Duration>
    ) async throws -> any DatabaseWriter {
        let (path, isWAL) = try await withAllConnections { writer, readers in
            for connection in [writer] + readers {
                try PowerSyncError.wrappingErrors { try unsafe SQLFunctions.install(on: connection.pointer) }
            }
            let path = unsafe sqlite3_db_filename(writer.pointer, "main").map { unsafe String(cString: $0) } ?? ""
            let mode = try writer.withIterator(sql: "PRAGMA journal_mode", parameters: []) { rows in
                try rows.next { $0.getStringOptional(index: 0) } ?? nil
            }
            return (path, mode == "wal")
        }
        guard !path.isEmpty else {
            throw PowerSyncError.poolWithoutFile
        }
        let opener = ConnectionOpener(
            location: .file(path: path),
            initialStatements: [],
            key: key,
            clock: clock,
            isWAL: isWAL
        )
        return try await opener.open()
    }
}
