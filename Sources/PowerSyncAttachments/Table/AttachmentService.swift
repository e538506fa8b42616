import PowerSyncClient
import PowerSyncSQLite

/// The attachments table of a queue, and the lock around it.
///
/// Queues over the same table of the same database share the lock.
final class AttachmentService: AttachmentServiceProtocol {
    private let context: AttachmentContext
    private let table: SharedAttachmentTable

    /// Creates a service.
    ///
    /// - Parameters:
    ///   - context: The table.
    ///   - table: What the queues of the table share.
    init(context: AttachmentContext, table: SharedAttachmentTable = SharedAttachmentTable()) {
        self.context = context
        self.table = table
    }

    /// Creates a service.
    convenience init(
        db: any PowerSyncDatabaseProtocol,
        tableName: String,
        logger: any LoggerProtocol,
        maxArchivedCount: Int64
    ) {
        self.init(
            context: AttachmentContext(
                db: db,
                tableName: tableName,
                logger: logger,
                maxArchivedCount: maxArchivedCount
            )
        )
    }

    func withContext<R: Sendable>(
        callback: @Sendable @escaping (AttachmentContext) async throws -> R
    ) async throws -> R {
        try table.checkNotInTurn()
        let context = context
        return try await table.withTurn { try await callback(context) }
    }

    func watchActiveAttachments() async throws -> AsyncThrowingStream<[String], any Error> {
        let store = context.table.store
        let options = WatchOptions(
            sql: "SELECT id, state FROM \(store.table) WHERE state IN (0, 1, 2) ORDER BY timestamp, id"
        ) { cursor in
            ActiveRow(
                id: ExactText(try cursor.getStringOptional(name: "id") ?? ""),
                state: try cursor.getInt(name: "state")
            )
        }
        // The set decides: a row that was written again, or moved in the order, is no reason to look at it.
        return try context.db.watch(options: options).scan(Set<ActiveRow>?.none) { last, rows in
            let active = Set(rows)
            guard active != last else { return nil }
            last = active
            return rows.map(\.id.text)
        }
    }

    private struct ActiveRow: Hashable, Sendable {
        let id: ExactText
        let state: Int
    }
}
