import GRDB
import GRDBSQLite
import PowerSyncUpload

/// One request, on its way into the database.
struct UploadApplication {
    /// A constraint or trigger has rolled the whole transaction back, as `ON CONFLICT ROLLBACK` and `RAISE(ROLLBACK)` do.
    struct RolledBack: Error {
        let response: UploadResponse
    }

    private let context: UploadContext
    private let authorize: SQLiteUploadApplier.Authorization
    private var writer: RowWriter
    /// `nil` when the client has no id.
    private var applied: AppliedWrites?

    /// Looks up what is known about the client.
    init(
        _ context: UploadContext,
        _ authorize: @escaping SQLiteUploadApplier.Authorization,
        now: Int64,
        _ db: Database
    ) throws {
        self.context = context
        self.authorize = authorize
        writer = try RowWriter(context.options, db)
        applied = try context.request.clientID.map { clientID in
            try AppliedWrites.createTables(db)
            return try AppliedWrites(user: context.user.id, clientID: clientID, context.request.entries, now: now, db)
        }
    }

    /// Applies transactions up to the first one with a rejection or an error.
    ///
    /// - Parameter db: The writer, inside a transaction.
    /// - Returns: What to answer when the transaction is committed.
    /// - Throws: The error of the first transaction; ``RolledBack``.
    mutating func run(_ db: Database) throws -> UploadResponse {
        var response = UploadResponse(appliedThrough: nil)
        for transaction in context.request.transactions {
            let before = applied
            do {
                response.rejections = try apply(transaction, db)
            } catch let error as RejectedTransaction {
                applied = before
                response.rejections = error.rejections
            } catch {
                // What is before it is not held up by it.
                guard response.appliedThrough != nil, db.isInsideTransaction else { throw error }
                applied = before
                break
            }
            guard response.rejections.isEmpty else {
                guard db.isInsideTransaction else {
                    throw RolledBack(response: UploadResponse(appliedThrough: nil, rejections: response.rejections))
                }
                break
            }
            response.appliedThrough = transaction.last?.operationID
        }
        if let applied, let head = context.request.entries.first?.operationID {
            try applied.forget(before: head, keeping: context.options.rememberedWrites, db)
        }
        return response
    }

    // MARK: - One transaction

    /// Applies a transaction of the client.
    ///
    /// - Returns: The writes that were left out, if the others were to be applied without them.
    /// - Throws: ``RejectedTransaction``, or why it could not be applied; the savepoint is rolled back.
    private mutating func apply(_ transaction: ArraySlice<UploadEntry>, _ db: Database) throws -> [EntryRejection] {
        var rejections: [EntryRejection] = []
        try db.inSavepoint {
            let new = try applied?.newWrites(of: transaction, db) ?? Array(transaction)
            for entry in new {
                do {
                    try apply(entry, db)
                } catch let refusal as WriteRefusal {
                    let rejection = refusal.rejection(of: entry.operationID)
                    guard context.options.rejectionScope == .entry, db.isInsideTransaction else {
                        throw RejectedTransaction(new, because: [rejection])
                    }
                    writer.forgetTables()
                    rejections.append(rejection)
                }
            }
            if try !db.areReferencesResolved() { throw RejectedTransaction(unresolvedReferencesOf: new) }
            return .commit
        }
        return rejections
    }

    /// Applies one write, with what the closure makes of it, or nothing of it.
    ///
    /// - Throws: ``WriteRefusal``, or what the closure and SQLite throw.
    private mutating func apply(_ entry: UploadEntry, _ db: Database) throws {
        guard context.options.rejectionScope == .entry else { return try write(entry, db) }
        try db.inSavepoint {
            try write(entry, db)
            return .commit
        }
    }

    private mutating func write(_ entry: UploadEntry, _ db: Database) throws {
        try context.checkForm(of: entry)
        let row = try writer.check(entry, db)
        try context.checkSpelling(of: entry)
        let write = UploadedWrite(user: context.user, clientID: context.request.clientID, entry: entry, row: row)
        if let values = try context.values(of: entry, by: authorize(write, db)) {
            try writer.write(entry, values, to: row, db)
        }
        try applied?.add(entry, db)
    }
}

extension Database {
    /// Whether all foreign keys refer to rows that are there; the deferred ones are checked at the commit, which is too late.
    fileprivate func areReferencesResolved() throws -> Bool {
        var (unresolved, highest): (CInt, CInt) = (0, 0)
        let code = unsafe sqlite3_db_status(sqliteConnection, SQLITE_DBSTATUS_DEFERRED_FKS, &unresolved, &highest, 0)
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
        return unresolved == 0
    }
}
