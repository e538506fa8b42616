package import Foundation
package import Logging
import NIOConcurrencyHelpers
package import PowerSyncMySQLConnection
import PowerSyncServiceCore
import PowerSyncSyncConfig

/// A MySQL or MariaDB database whose tables are followed through the binary log (docs/mysql.md).
///
/// Positions are those of the log: the number of a file and an offset in it. A history is a server with its log files; one that was
/// restored, reset or replaced has another.
package final class MySQLSource: Sendable {
    /// What the source is.
    let settings: MySQLSettings
    /// Makes connections.
    let connector: MySQLConnector
    /// The schema of tables that a sync config names without one.
    let defaultSchema: String
    let pool: MySQLPool
    let clock: any Clock<Duration>
    /// The time since the source was made.
    let stopwatch: Stopwatch
    let now: @Sendable () -> Date
    let logger: Logger

    /// Positions, and whether the log is still the one that was read.
    let log: MySQLLog
    /// What rows were read of last.
    let rowView = KeptRowView<MySQLRowView>()
    /// The streams that this process has read or dropped.
    let streams = NIOLockedValueBox<[String: StreamState]>([:])
    /// How often tables were found to have other rows than the catalogue tells.
    let silentChanges = NIOLockedValueBox<[SourceTableName: UInt64]>([:])
    /// The columns that are read of tables that were described; `nil` for all.
    let readColumns = NIOLockedValueBox<[SourceTableDescriptor: Set<String>?]>([:])
    /// The tables as they were when the server could open them last.
    let openedTables = NIOLockedValueBox<[SourceTableName: MySQLTable]>([:])
    /// The tables that cannot be read, as of the last look.
    let obstacles = NIOLockedValueBox<[SourceTableName: TableObstacle]>([:])
    /// How often tables were copied again of late.
    private let paces = NIOLockedValueBox<[SourceTableName: CopyPace]>([:])
    /// Advanced when the last boundary is to be delivered once more.
    let markers = ChangeSignal()
    /// Warnings that have been given.
    let warnings = NIOLockedValueBox<Set<String>>([])

    /// What is known of a stream in this process.
    struct StreamState: Sendable {
        /// The connection that reads the log.
        var connection: MySQLConnection?
        /// As which replica the log is read.
        var replicaNumber: UInt32?
        /// Transactions that are prepared, and neither committed nor rolled back.
        var prepared = PreparedTransactions()
        /// The tables whose columns are in other places since a statement of the log, which the next reader comes to first.
        var moves: [SourceTableDescriptor: ColumnMove] = [:]
        /// The error with which the log could not be read last, and how often that was so.
        var unreadable: (error: String, count: Int) = ("", 0)
        /// Whether the stream is not needed any more.
        var isDropped = false
    }

    /// Creates a source; connects when it is used.
    ///
    /// - Parameters:
    ///   - settings: What the source is.
    ///   - connectionSettings: How connections are made.
    ///   - clock: Measures when to look at the catalogue again, and how long nothing happened.
    ///   - now: Tells the time.
    ///   - logger: For warnings.
    package init(
        _ settings: MySQLSettings,
        connecting connectionSettings: MySQLConnectionSettings,
        clock: any Clock<Duration> = ContinuousClock(),
        now: @escaping @Sendable () -> Date = { Date() },
        logger: Logger
    ) {
        self.settings = settings
        defaultSchema = connectionSettings.database ?? ""
        self.clock = clock
        stopwatch = Stopwatch(clock)
        self.now = now
        self.logger = logger
        connector = MySQLConnector(connectionSettings, logger: logger)
        pool = MySQLPool(connector, maximumConnections: settings.maximumPoolSize)
        log = MySQLLog(connector, pool: pool, clock: clock, logger: logger)
    }

    package func close() throws {
        connector.close()
        rowView.end()
        pool.close()
    }

    // MARK: Tables

    /// The table as the replicator knows it: another one for each time that it had to be copied again.
    func descriptor(of table: MySQLTable, _ options: SourceValueOptions) -> SourceTableDescriptor {
        var descriptor = table.descriptor(options)
        if let count = silentChanges.withLockedValue({ $0[table.name] }) {
            descriptor.form[Self.silentChangesInForm] = "\(count)"
        }
        return descriptor
    }

    /// Whether a table is what another one was before it was copied again.
    func isEarlier(_ table: SourceTableDescriptor, than other: SourceTableDescriptor) -> Bool {
        var later = table
        later.form[Self.silentChangesInForm] = other.form[Self.silentChangesInForm]
        return table != other && later == other
    }

    private static let silentChangesInForm = "changes that the log does not tell of"

    /// Makes a table another one, so that it is copied again: its rows are others, and no row of the log and nothing in the catalogue
    /// says so.
    ///
    /// The process remembers: after a restart, the table is once more another one.
    func copyAgain(_ table: SourceTableName, because reason: CopyReason) {
        silentChanges.withLockedValue { $0[table, default: 0] += 1 }
        let time = stopwatch.elapsed
        paces.withLockedValue { $0[table, default: CopyPace()].copied(at: time, because: reason) }
        logger.warning(
            "A table of the source is copied again",
            metadata: [LogKey.table: "\(table)", LogKey.reason: "\(reason.rawValue)"]
        )
    }

    /// Says that rows keep what they had before an ALTER, as the configuration wants it.
    func warn(_ kept: KeptRows) {
        logger.warning(
            "A table of the source was altered: its rows keep what they had until they are written (copy_after_alter)",
            metadata: [
                LogKey.table: "\(kept.table)", LogKey.column: "\(kept.columns.joined(separator: ", "))",
            ]
        )
    }

    /// How long a table is not to be copied again.
    func pauseBeforeCopying(_ table: SourceTableName, because reason: CopyReason) -> Duration {
        let time = stopwatch.elapsed
        return paces.withLockedValue { $0[table]?.pause(at: time, because: reason) ?? .zero }
    }

    /// The error for a table that is no longer what was described.
    func outdated(_ table: SourceTableDescriptor) -> ReplicationSourceError {
        ReplicationSourceError(.tablesChanged, "Table “\(table.name)” has changed since it was described.")
    }
}
