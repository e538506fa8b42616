import NIOConcurrencyHelpers
import PowerSyncClient
import PowerSyncSQLite

/// The attachments table of a queue, and the lock around it.
///
/// Queues over the same table of the same database share the lock.
final class AttachmentService: AttachmentServiceProtocol {
    private let context: AttachmentContext
    private let lock: AsyncLock

    /// Creates a service.
    ///
    /// - Parameters:
    ///   - context: The table.
    ///   - lock: The lock of the table.
    init(context: AttachmentContext, lock: AsyncLock = AsyncLock()) {
        self.context = context
        self.lock = lock
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
        try checkNotInContext()
        let context = context
        return try await lock.withLock { [lock] in
            try await AttachmentTurn.run(holding: lock) { try await callback(context) }
        }
    }

    /// Checks that this task does not run for a callback that has the table: waiting for the lock would never end.
    ///
    /// - Throws: ``PowerSyncAttachmentError/generalError(_:)``
    func checkNotInContext() throws {
        guard !AttachmentTurn.isInside(lock) else {
            throw PowerSyncAttachmentError.generalError(
                "The attachment queue was called from inside withContext: use the context that the callback got."
            )
        }
    }

    func watchActiveAttachments() async throws -> AsyncThrowingStream<[String], any Error> {
        let store = context.store
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

/// A callback that has the table, as the tasks that it waits for see it.
private final class AttachmentTurn: Sendable {
    @TaskLocal private static var current: AttachmentTurn?

    private let lock: AsyncLock
    private let outer: AttachmentTurn?
    /// Tasks that the callback did not wait for keep the task-local value; they may ask for a turn of their own.
    private let isOver = NIOLockedValueBox(false)

    private init(lock: AsyncLock, outer: AttachmentTurn?) {
        self.lock = lock
        self.outer = outer
    }

    /// Whether this task runs for a callback that holds the lock.
    static func isInside(_ lock: AsyncLock) -> Bool {
        var turn = current
        while let inner = turn {
            if inner.lock === lock, !inner.isOver.withLockedValue(\.self) { return true }
            turn = inner.outer
        }
        return false
    }

    static func run<R: Sendable>(holding lock: AsyncLock, _ body: () async throws -> R) async throws -> R {
        let turn = AttachmentTurn(lock: lock, outer: current)
        defer { turn.isOver.withLockedValue { $0 = true } }
        return try await $current.withValue(turn) { try await body() }
    }
}
