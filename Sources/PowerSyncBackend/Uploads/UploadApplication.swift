import GRDB
import GRDBSQLite
import PowerSyncUpload

/// One request, on its way into the database.
struct UploadApplication {
    /// A constraint or trigger has rolled the whole transaction back, as `ON CONFLICT ROLLBACK` and `RAISE(ROLLBACK)` do.
    struct RolledBack: Error {
        let response: UploadResponse
    }

    /// A local transaction is not applied.
    private struct Rejected: Error {
        var rejections: [EntryRejection]
    }

    private let request: UploadRequest
    private let user: BackendUser
    private let options: UploadApplierOptions
    private let authorize: SQLiteUploadApplier.Authorization
    /// Writes that are rejected whatever the app says, by their numbers.
    private let malformed: [Int64: EntryRejection]
    private var writer: RowWriter
    /// `nil` when the client has no id.
    private var applied: AppliedWrites?

    /// Looks up what is known about the client.
    init(
        _ request: UploadRequest,
        _ user: BackendUser,
        _ options: UploadApplierOptions,
        _ authorize: @escaping SQLiteUploadApplier.Authorization,
        now: Int64,
        _ db: Database
    ) throws {
        self.request = request
        self.user = user
        self.options = options
        self.authorize = authorize
        malformed = Dictionary(request.rejections.map { ($0.operationID, $0) }, uniquingKeysWith: { first, _ in first })
        writer = try RowWriter(options, db)
        applied = try request.clientID.map { clientID in
            try AppliedWrites.createTables(db)
            return try AppliedWrites(user: user.id, clientID: clientID, request.entries, now: now, db)
        }
    }

    /// Applies transactions up to the first one with a rejection or an error.
    ///
    /// - Parameter db: The writer, inside a transaction.
    /// - Returns: What to answer when the transaction is committed.
    /// - Throws: The error of the first transaction; ``RolledBack``.
    mutating func run(_ db: Database) throws -> UploadResponse {
        var response = UploadResponse(appliedThrough: nil)
        for transaction in request.transactions {
            let before = applied
            do {
                response.rejections = try apply(transaction, db)
            } catch let error as Rejected {
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
        if let applied, let head = request.entries.first?.operationID {
            try applied.forget(before: head, keeping: options.rememberedWrites, db)
        }
        return response
    }

    // MARK: - One transaction

    /// Applies a transaction of the client.
    ///
    /// - Returns: The writes that were left out, if the others were to be applied without them.
    /// - Throws: ``Rejected``, or why it could not be applied; the savepoint is rolled back.
    private mutating func apply(_ transaction: ArraySlice<UploadEntry>, _ db: Database) throws -> [EntryRejection] {
        var rejections: [EntryRejection] = []
        try db.inSavepoint {
            let new = try newWrites(of: transaction, db)
            for entry in new {
                do {
                    try apply(entry, db)
                } catch let refusal as RowWriter.Refusal {
                    let rejection = EntryRejection(
                        operationID: entry.operationID,
                        refusal.code,
                        message: refusal.message
                    )
                    guard options.rejectionScope == .entry, db.isInsideTransaction else {
                        throw Rejected(rejections: Self.rejections(of: new, because: [rejection]))
                    }
                    rejections.append(rejection)
                }
            }
            if try !db.areReferencesResolved() {
                let message = "The transaction leaves references to rows that are not there."
                throw Rejected(
                    rejections: new.map {
                        EntryRejection(operationID: $0.operationID, .constraint, message: message)
                    }
                )
            }
            return .commit
        }
        return rejections
    }

    /// The writes of a transaction that are not in the database.
    ///
    /// - Throws: ``Rejected`` when nobody knows that of some.
    private mutating func newWrites(of transaction: ArraySlice<UploadEntry>, _ db: Database) throws -> [UploadEntry] {
        guard applied != nil else { return Array(transaction) }
        var new: [UploadEntry] = []
        var forgotten: [EntryRejection] = []
        for entry in transaction {
            switch try applied?.knowledge(of: entry, db) {
            case .applied: break
            case .new, nil: new.append(entry)
            case .forgotten:
                forgotten.append(
                    EntryRejection(
                        operationID: entry.operationID,
                        .numberForgotten,
                        message: """
                            A write with this number was applied long ago, and it is not known whether it is this one: \
                            the client's database seems to be an older copy.
                            """
                    )
                )
            }
        }
        guard forgotten.isEmpty else {
            throw Rejected(rejections: Self.rejections(of: new, because: forgotten))
        }
        return new
    }

    /// Applies one write, with what the closure makes of it, or nothing of it.
    ///
    /// - Throws: ``RowWriter/Refusal``, or what the closure and SQLite throw.
    private mutating func apply(_ entry: UploadEntry, _ db: Database) throws {
        guard options.rejectionScope == .entry else { return try write(entry, db) }
        try db.inSavepoint {
            try write(entry, db)
            return .commit
        }
    }

    private mutating func write(_ entry: UploadEntry, _ db: Database) throws {
        if let rejection = malformed[entry.operationID] {
            throw RowWriter.Refusal(code: rejection.code, message: rejection.message)
        }
        let ids = try writer.check(entry, db)
        // `==` of Swift, which a rule may well use, takes canonically equivalent texts for equal.
        guard entry.id != user.id || user.hasID(entry.id) else {
            throw RowWriter.Refusal(
                code: .constraint,
                message: """
                    The id “\(entry.id.shortened())” is another spelling of the user's. Ids are compared as texts, byte by byte.
                    """
            )
        }
        let write = UploadedWrite(user: user, clientID: request.clientID, entry: entry, ids: ids)
        switch try authorize(write, db).kind {
        case .apply: try writer.write(entry, entry.data ?? [:], db)
        case .applyValues(let values): try writer.write(entry, values, db)
        case .done: break
        case .reject(let code, let message): throw RowWriter.Refusal(code: code, message: message)
        }
        try applied?.add(entry, db)
    }

    /// Rejects all writes of a transaction that are not in the database, because some are.
    private static func rejections(of new: [UploadEntry], because causes: [EntryRejection]) -> [EntryRejection] {
        let causesByNumber = Dictionary(causes.map { ($0.operationID, $0) }, uniquingKeysWith: { first, _ in first })
        // It is repeated for each write, of which there may be 100,000.
        let first =
            causes.first.map { "Write \($0.operationID) of the same transaction: \($0.message.shortened())" } ?? ""
        let numbers = Set(new.map(\.operationID)).union(causesByNumber.keys)
        return numbers.sorted().map { number in
            causesByNumber[number] ?? EntryRejection(operationID: number, .transactionRejected, message: first)
        }
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
