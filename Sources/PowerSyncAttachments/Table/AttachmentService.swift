import PowerSyncClient
import PowerSyncSQLite

/// The attachments table of a queue, and the lock around it.
///
/// Queues over the same table of the same database share the lock.
final class AttachmentService: AttachmentServiceProtocol {
    let context: AttachmentContext
    private let lock: TurnLock

    /// Creates a service.
    ///
    /// - Parameters:
    ///   - context: The table.
    ///   - lock: The lock of the table.
    init(context: AttachmentContext, lock: TurnLock = AttachmentService.newLock()) {
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
        return try await lock.withTurn(of: ObjectIdentifier(self)) { [context] in try await callback(context) }
    }

    /// A lock for a table that no other queue has.
    static func newLock() -> TurnLock {
        TurnLock(error: PowerSyncAttachmentError.generalError("The attachments were cleared meanwhile."))
    }

    /// The same table under the same lock, with turns of its own to leave behind.
    func sibling() -> AttachmentService {
        AttachmentService(context: context, lock: lock)
    }

    /// Leaves the callback behind that has the table through this service: it is cancelled, and the next one has the table.
    func leaveTurn() {
        lock.leave(turnOf: ObjectIdentifier(self))
    }

    /// Takes the table; callbacks before are waited for no longer than a limit.
    ///
    /// - Throws: `CancellationError` when the task is cancelled while it waits.
    func takeTurn(insistingAfter limit: Duration, _ clock: ElapsedClock) async throws -> TurnLock.Turn {
        try await lock.take(insistingAfter: limit, clock)
    }

    /// Checks that this task does not run for a callback that has the table: waiting for the lock would never end.
    ///
    /// - Throws: ``PowerSyncAttachmentError/generalError(_:)``
    func checkNotInContext() throws {
        guard !lock.isHeldByThisTask else {
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
            (id: try cursor.getStringOptional(name: "id") ?? "", state: try cursor.getInt(name: "state"))
        }
        // The set decides: a row that was written again, or moved in the order, is no reason to look at it.
        return try context.db.watch(options: options).scan(Set<ExactText>?.none) { last, rows in
            let active = Set(rows.map { ExactText("\($0.state) \($0.id)") })
            guard active != last else { return nil }
            last = active
            return rows.map(\.id)
        }
    }
}
