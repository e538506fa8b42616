public import Foundation
public import GRDB
import PowerSyncSQLite
public import PowerSyncUpload

/// Applies uploads of clients to the tables of an app in SQLite.
///
/// ```swift
/// var options = UploadApplierOptions()
/// options.tables = ["lists"]
/// let applier = SQLiteUploadApplier(database, options: options) { write, db in
///     // Whose the list is, and whose it becomes.
///     try write.belongsToUser(by: "owner_id", db) ? .apply : .reject("The list belongs to somebody else.")
/// }
/// let response = try await applier.apply(UploadRequest(json: body), for: user)
/// ```
///
/// - **Transactional.** A request is one transaction of SQLite, and each local transaction of the client is a savepoint in it:
///   applied as a whole, or not at all. Behind the first one with a rejection, the answer ends: the client may keep later writes
///   of the same rows back, so they are not applied before it has decided.
/// - **Idempotent.** The numbers of applied writes are stored in the same transaction, per user and client. What comes twice, after
///   a lost answer or at the same time, is applied once. See <doc:WritingABackend> for clients that count anew.
/// - **Exact.** Integers keep their 64 bits, a real number stays one, texts keep every character. An id is its bytes: whatever the
///   column takes for equal, a write changes the row with its id or none, and another spelling of an id is a rejection.
///
/// Applying is safe from several tasks and processes at the same time; SQLite puts the transactions in an order.
public struct SQLiteUploadApplier: UploadApplier {
    /// Decides about a write of a user, inside the transaction that applies it.
    ///
    /// Called for each write that is new, in order, after it was found that its table can be written. What it throws
    /// makes the request fail, and the client sends the write again.
    ///
    /// It runs on a queue of the database and in no task, so that a cancellation cannot interrupt the transaction: the task-local
    /// values of who calls ``SQLiteUploadApplier/apply(_:for:)`` are not there, and `Task.isCancelled` is always `false`. What a
    /// decision needs comes with the write, or is captured.
    public typealias Authorization = @Sendable (_ write: UploadedWrite, _ db: Database) throws -> WriteDecision

    private let database: any DatabaseWriter
    private let options: UploadApplierOptions
    private let authorize: Authorization
    private let now: @Sendable () -> Date

    /// Creates an applier.
    ///
    /// - Parameters:
    ///   - database: The app's database.
    ///   - options: How writes are applied.
    ///   - authorize: Decides about each write.
    public init(
        _ database: any DatabaseWriter,
        options: UploadApplierOptions = UploadApplierOptions(),
        authorize: @escaping Authorization
    ) {
        self.init(database, options: options, now: { Date() }, authorize: authorize)
    }

    package init(
        _ database: any DatabaseWriter,
        options: UploadApplierOptions = UploadApplierOptions(),
        now: @escaping @Sendable () -> Date,
        authorize: @escaping Authorization
    ) {
        self.database = database
        self.options = options
        self.now = now
        self.authorize = authorize
    }

    /// Applies a request.
    ///
    /// - Parameters:
    ///   - request: What the client has sent.
    ///   - user: Who the client is, as the backend has found out; never taken from the request.
    /// - Returns: What to answer. When it is there, everything that it calls applied is on disk as far as the database promises.
    /// - Throws: What the closure throws and errors of SQLite, if nothing could be applied before them; `UploadFormatError`
    ///   when the numbers of the writes do not ascend; `CancellationError` when the task is cancelled before the transaction
    ///   begins. The client sends everything again then.
    public func apply(_ request: UploadRequest, for user: BackendUser) async throws -> UploadResponse {
        try request.validate()
        guard !request.entries.isEmpty else { return UploadResponse(appliedThrough: nil) }
        let (context, authorize) = (UploadContext(request, user, options), authorize)
        let now = Int64(now().timeIntervalSince1970)
        do {
            return try await database.uncancelledWrite { db in
                var application = try UploadApplication(context, authorize, now: now, db)
                return try application.run(db)
            }
        } catch let error as UploadApplication.RolledBack {
            return error.response
        }
    }

    /// Forgets clients that have not uploaded for long.
    ///
    /// A few bytes are kept for each client for ever, and ``UploadApplierOptions/rememberedWrites`` for each, unless this is
    /// called. A client that comes back later is like a new one: if it had not got the answer to its last upload, that is
    /// applied for the second time.
    ///
    /// - Parameter date: Since when they were not seen, for example a year ago.
    /// - Returns: How many were forgotten.
    /// - Throws: `DatabaseError`; `CancellationError` when the task is cancelled before it is this one's turn.
    @discardableResult
    public func forgetClients(notSeenSince date: Date) async throws -> Int {
        try await database.uncancelledWrite { db in
            try AppliedWrites.forgetClients(notSeenSince: Int64(date.timeIntervalSince1970), db)
        }
    }
}
