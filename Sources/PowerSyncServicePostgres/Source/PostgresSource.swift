package import Foundation
package import Logging
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// A PostgreSQL database whose tables are replicated by logical replication (docs/postgres.md).
///
/// Positions are those of the write-ahead log. A history is a cluster, the timeline on which it was read first, and the database
/// (``LogNames``): a database that was made again has another number.
package final class PostgresSource: Sendable {
    /// The schema of tables that a sync config names without one.
    package static let defaultSchema = "public"

    /// What the source is.
    package struct Settings: Sendable {
        /// How to connect: directly to the primary.
        package var connection: PostgresConnectionString
        /// The publication.
        package var publication = "powersync"
        /// What the names of the service's slots begin with.
        package var slotNamePrefix = "powersync_"
        /// The most connections for short statements; copies and change streams have their own.
        package var maximumConnections = 8
        /// How often the catalogue is read when nothing tells to, and a marker is written when nothing has come.
        package var heartbeatInterval = Duration.seconds(60)

        /// Creates settings.
        package init(connection: PostgresConnectionString) {
            self.connection = connection
        }
    }

    /// What is known of a slot in this process.
    struct SlotState: Sendable {
        /// Whether the server had what the slot needs when it was looked at before.
        var wasKept = false
        /// When the slot was looked at while tables are copied.
        var checkedAt: Duration?
        /// What is stored that was read of the log after the position to go on from.
        var stored: MarkedPosition?
        /// What the storage has on disk.
        var acknowledged: WALPosition?
        /// When that was said.
        var acknowledgedAt: Date?
        /// The stream that is open.
        var stream: WALStream?
    }

    /// A table that was described.
    struct Description: Sendable {
        /// The columns that are read; `nil` for all.
        var readColumns: Set<String>?
        /// Its own name: a partition is synced under another one.
        var name: SourceTableName
        /// The table for `FROM` and `LOCK TABLE`.
        var rowSource: String
    }

    let settings: Settings
    let pool: PostgresPool
    let clock: any Clock<Duration>
    /// The time since the source was made.
    let stopwatch: Stopwatch
    let now: @Sendable () -> Date
    let logger: Logger
    /// Advanced when a reader has looked at the catalogue, and tables were what it knew.
    let catalogueLooks = ChangeSignal()
    /// The slots that have been used.
    let slots = NIOLockedValueBox<[String: SlotState]>([:])
    /// What rows were read of last.
    let rowView = KeptRowView<PostgresRowView>()
    /// Types that were asked for.
    let types = NIOLockedValueBox(PostgresTypeRegistry())
    /// What the logs of the servers are called.
    let logNames = NIOLockedValueBox(LogNames())
    /// What is known of the log having gone back.
    let rewinds = NIOLockedValueBox(LogRewinds())
    /// The tables that cannot be read, as of the last look.
    let obstacles = NIOLockedValueBox<[PostgresOID: KnownObstacle]>([:])
    /// How often tables were found to have had a change that cannot be assigned to a row.
    private let unassignableChanges = NIOLockedValueBox<[PostgresOID: UInt64]>([:])
    /// The tables that were described.
    private let descriptions = NIOLockedValueBox<[SourceTableDescriptor: Description]>([:])
    /// Warnings that have been given.
    let warnings = NIOLockedValueBox<Set<String>>([])

    /// Creates a source; connects when it is used.
    ///
    /// - Parameters:
    ///   - settings: What the source is.
    ///   - clock: Measures when to look at the catalogue again, and how long nothing happened.
    ///   - now: Tells the time.
    ///   - logger: For warnings.
    package init(
        _ settings: Settings,
        clock: any Clock<Duration> = ContinuousClock(),
        now: @escaping @Sendable () -> Date = { Date() },
        logger: Logger
    ) {
        self.settings = settings
        self.clock = clock
        stopwatch = Stopwatch(clock)
        self.now = now
        self.logger = logger
        pool = PostgresPool(settings.connection, maximumConnections: settings.maximumConnections)
    }

    package func close() throws {
        let streams = slots.withLockedValue { $0.values.compactMap(\.stream) }
        for stream in streams { stream.close() }
        rowView.end()
        pool.close()
    }

    // MARK: Tables

    /// The error for a table that is no longer what was described.
    func outdated(_ table: SourceTableDescriptor) -> ReplicationSourceError {
        ReplicationSourceError(.tablesChanged, "Table “\(table.name)” has changed since it was described.")
    }

    /// Describes tables, those that are to be copied again as others than before.
    func catalogue(
        _ selection: PostgresCatalogue.Selection,
        where isRead: (SourceTableName) -> Bool,
        reading readColumns: (SourceTableName) -> Set<String>?,
        _ connection: PostgresConnection
    ) async throws -> [PostgresTable] {
        var tables = try await PostgresCatalogue.tables(
            selection,
            in: settings.publication,
            where: isRead,
            reading: readColumns,
            connection
        )
        let changes = unassignableChanges.withLockedValue { $0 }
        for index in tables.indices {
            guard let count = changes[tables[index].oid] else { continue }
            tables[index].fingerprint.add("\(count)", to: .identity)
        }
        return tables
    }

    /// Makes a table another one, so that it is copied again.
    ///
    /// For one that has had another replica identity for a while: no row of the catalogue says so reliably. `xmin` in `pg_index`
    /// changes when an index becomes the identity, but also when one is made concurrently, and the index may be gone. The process
    /// remembers: after a restart, the table is once more another one.
    func copyAgain(_ table: PostgresOID) {
        unassignableChanges.withLockedValue { $0[table, default: 0] += 1 }
    }

    /// Notes what tables are that were described.
    func note(_ described: [(descriptor: SourceTableDescriptor, table: PostgresTable)], of plan: SyncPlan) {
        descriptions.withLockedValue { known in
            for (descriptor, table) in described {
                known[descriptor] = Description(
                    readColumns: plan.readColumns(of: descriptor.name),
                    name: table.name,
                    rowSource: table.rowSource
                )
            }
        }
    }

    /// The relation of a table; of one that this process has not described, as if it were no partition.
    func relation(_ table: SourceTableDescriptor) -> Description {
        descriptions.withLockedValue { $0[table] }
            ?? Description(readColumns: nil, name: table.name, rowSource: "ONLY \(table.name.quoted)")
    }

    /// Makes sure that a table is what was described.
    ///
    /// - Returns: The table.
    /// - Throws: ``ReplicationSourceError`` with code `tablesChanged`.
    func check(_ table: SourceTableDescriptor, _ connection: PostgresConnection) async throws -> PostgresTable {
        guard let oid = table.oid, let options = table.valueOptions else { throw outdated(table) }
        // One that this process has not described is another one.
        let columns = relation(table).readColumns
        let found = try await catalogue(
            .init(oid),
            where: { $0 == table.name },
            reading: { _ in columns },
            connection
        )
        guard let described = found.first(where: { $0.descriptor(options) == table }) else { throw outdated(table) }
        return described
    }

    /// What makes rows of a table.
    func decoder(
        _ table: PostgresTable,
        _ descriptor: SourceTableDescriptor,
        _ connection: PostgresConnection
    ) async throws -> RowDecoder {
        let oids = table.columns.map(\.type)
        let missing = types.withLockedValue { $0.missing(among: oids) }
        if !missing.isEmpty {
            let rows = try await connection.query(
                PostgresTypeRegistry.discoveryQuery(serverVersion: connection.serverVersion),
                [PostgresText.array(missing.map(\.description))],
                activity: "reading the types of table \(table.name)"
            )
            try types.withLockedValue { try $0.add(rows) }
        }
        return RowDecoder(
            table,
            types.withLockedValue { $0 },
            descriptor.valueOptions ?? SourceValueOptions()
        ) { [weak self] table, column, problem in
            self?.report(problem, table, column)
        }
    }

    // MARK: Warnings

    private func report(_ problem: PostgresValueProblem, _ table: SourceTableName, _ column: String) {
        let isNew = warnings.withLockedValue { $0.insert("\(table).\(column) \(problem)").inserted }
        guard isNew else { return }
        var metadata: Logger.Metadata = [
            LogKey.table: "\(table)", LogKey.column: "\(column)", LogKey.error: "\(problem)",
        ]
        if let code = problem.code { metadata[LogKey.code] = "\(code.rawValue)" }
        logger.warning("A value of the source is not synced as it is", metadata: metadata)
    }
}
