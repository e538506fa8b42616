import Crypto
import Foundation
package import PowerSyncUpload

/// One request on its way into the tables of a database server, in one transaction there.
///
/// First with as few statements as possible: writes of one kind go together, and nothing is a savepoint. When anything is refused or fails,
/// the transaction is rolled back, and the request is applied step by step instead: each transaction of the client in a savepoint, each
/// write by itself. Both have the same result where neither refuses anything.
package actor ServerUpload<Server: UploadServer> {
    /// Decides about a write.
    package typealias Authorization =
        @Sendable (_ write: ServerWrite, _ transaction: Server.Transaction) async throws -> WriteDecision

    /// Another transaction has stored a row meanwhile that was not there when it was looked for.
    struct ConcurrentChange: Error {}

    /// Two ids of the request may be the same for the table, so that a write by one may concern the other.
    struct IndistinctIDs: Error {}

    /// A row is there that was not when the app was asked about the write.
    private struct AppearedRow: Error {}

    /// The savepoint before the first statement of the app's that changes rows.
    private enum RuleSavepoint {
        case unneeded, needed, set
    }

    /// How often a request is begun again because of other transactions.
    private static var retryLimit: Int { 10 }
    /// The most ids or numbers in a statement, and the most writes whose rows are looked for ahead.
    static var chunk: Int { 1_000 }
    /// How many rows are read with their values at first, before it is known how large they are.
    static var firstReadLimit: Int { 16 }
    /// The bytes of values that are read at once, as far as the rows before tell: 4 MiB.
    static var readBytes: Int { 4 << 20 }

    let server: Server
    let context: UploadContext
    let isStepwise: Bool
    private let authorize: Authorization
    /// In seconds since 1970.
    private let now: Int64
    /// `nil` when the client has no id.
    private var records: ClientRecords?
    /// What is not stored yet.
    private var newRecords: [AppliedWrite] = []
    var tables = ServerTables()
    /// The table of the last write.
    var lastTable: WritableTable?
    var rows = ServerRowCache()
    /// The writes whose rows were looked for; empty before the first ones, and step by step.
    var ahead: ArraySlice<UploadEntry> = []
    /// How many rows are read with their values at once.
    var readLimit = ServerUpload.firstReadLimit
    /// Rows that are not written yet.
    var pending: WriteBatch?
    private var ruleSavepoint = RuleSavepoint.unneeded
    /// The first error of a statement that ran while the app decided about a write.
    private var failure: (any Error)?

    private init(
        _ context: UploadContext,
        on server: Server,
        isStepwise: Bool,
        now: Int64,
        _ authorize: @escaping Authorization
    ) {
        self.context = context
        self.server = server
        self.isStepwise = isStepwise
        self.now = now
        self.authorize = authorize
    }

    /// Applies a request.
    ///
    /// - Parameters:
    ///   - context: The request, not empty.
    ///   - server: A connection without a transaction.
    ///   - timing: Tells the time, and makes the pauses before the request is begun again.
    ///   - authorize: Decides about each write; again when the request is begun again.
    /// - Returns: What to answer; the transaction is committed.
    /// - Throws: Why nothing could be applied; the transaction is rolled back, or the connection cannot be used any more.
    package static func apply(
        _ context: UploadContext,
        on server: Server,
        _ timing: UploadTiming,
        _ authorize: @escaping Authorization
    ) async throws -> UploadResponse {
        let now = Int64(timing.now().timeIntervalSince1970)
        var isStepwise = false
        var retries = 0
        while true {
            let upload = ServerUpload(context, on: server, isStepwise: isStepwise, now: now, authorize)
            do {
                return try await upload.run(isAgain: retries > 0)
            } catch {
                do {
                    try await server.run("ROLLBACK")
                } catch _ {
                    throw error
                }
                if isConcurrency(error, context, server) {
                    retries += 1
                    guard retries <= retryLimit else { throw error }
                    try await timing.sleep(timing.pause(before: retries))
                } else if isStepwise {
                    throw error
                } else {
                    isStepwise = true
                }
            }
            try Task.checkCancellation()
        }
    }

    private static func isConcurrency(_ error: any Error, _ context: UploadContext, _ server: Server) -> Bool {
        if error is ConcurrentChange { return true }
        return if case .concurrency = context.fault(of: error, server) { true } else { false }
    }

    private func isConcurrency(_ error: any Error) -> Bool { Self.isConcurrency(error, context, server) }

    private func run(isAgain: Bool) async throws -> UploadResponse {
        try await server.begin(isAgain: isAgain)
        try await readRecords()
        try await readTables()
        var response = UploadResponse(appliedThrough: nil)
        if isStepwise {
            try await applyStepByStep(&response)
        } else {
            try checkDistinctIDs()
            for transaction in context.request.transactions {
                for entry in try await newWrites(of: transaction) {
                    try await lookAhead(to: entry)
                    try await write(entry)
                }
                response.appliedThrough = transaction.last?.operationID
            }
            try await flush()
            try await server.checkReferences(isLast: true)
            try await storeRecords()
        }
        if let records, let head = context.request.entries.first?.operationID {
            let count = context.options.rememberedWrites
            try await server.forgetRecords(client: records.client, before: head, keeping: max(count, 0))
        }
        try await server.run("COMMIT")
        return response
    }

    // MARK: - Records

    private func readRecords() async throws {
        guard let clientID = context.request.clientID, let first = context.request.entries.first?.operationID,
            let last = context.request.entries.last?.operationID
        else { return }
        // Of bytes, not of texts: servers take different texts for the same, and some cannot have a NUL.
        var hash = SHA256()
        hash.update(data: Data("\(context.user.id.utf8.count):".utf8))
        hash.update(data: Data(context.user.id.utf8))
        hash.update(data: Data(clientID.utf8))
        records = try await server.records(ofClient: Array(hash.finalize()), first...last, now: now)
    }

    private func newWrites(of transaction: ArraySlice<UploadEntry>) async throws -> [UploadEntry] {
        guard let new = try records?.newWrites(of: transaction) else { return Array(transaction) }
        if let number = new.restart, let client = records?.client {
            newRecords.removeAll { $0.operationID >= number }
            try await server.removeRecords(client: client, from: number)
        }
        return new.entries
    }

    private func storeRecords() async throws {
        guard let records else { return }
        for start in stride(from: 0, to: newRecords.count, by: Self.chunk) {
            let writes = newRecords[start..<min(start + Self.chunk, newRecords.count)]
            try await server.add(Array(writes), client: records.client)
        }
        newRecords = []
    }

    // MARK: - Step by step

    /// Applies transactions up to the first one with a rejection or an error.
    private func applyStepByStep(_ response: inout UploadResponse) async throws {
        for transaction in context.request.transactions {
            let before = records
            do {
                response.rejections = try await apply(transaction)
            } catch {
                (records, newRecords) = (before, [])
                if let error = error as? RejectedTransaction {
                    response.rejections = error.rejections
                } else {
                    // What is before it is not held up by it.
                    guard response.appliedThrough != nil, !isConcurrency(error) else { throw error }
                    return
                }
            }
            guard response.rejections.isEmpty else { return }
            response.appliedThrough = transaction.last?.operationID
        }
    }

    /// Applies a transaction of the client in a savepoint.
    ///
    /// - Returns: The writes that were left out, if the others were to be applied without them.
    /// - Throws: ``RejectedTransaction``, or why it could not be applied; the savepoint is rolled back.
    private func apply(_ transaction: ArraySlice<UploadEntry>) async throws -> [EntryRejection] {
        try await inSavepoint("ps_transaction") {
            var rejections: [EntryRejection] = []
            let new = try await newWrites(of: transaction)
            for entry in new {
                do {
                    try await applyEntry(entry)
                } catch let refusal as WriteRefusal {
                    let rejection = refusal.rejection(of: entry.operationID)
                    guard context.options.rejectionScope == .entry else {
                        throw RejectedTransaction(new, because: [rejection])
                    }
                    rejections.append(rejection)
                }
            }
            do {
                try await server.checkReferences(isLast: false)
            } catch let error where isAboutValues(error) {
                throw RejectedTransaction(unresolvedReferencesOf: new)
            }
            try await storeRecords()
            return rejections
        }
    }

    /// Applies one write, in a savepoint if the others are to be applied without it.
    private func applyEntry(_ entry: UploadEntry) async throws {
        do {
            guard context.options.rejectionScope == .entry else { return try await write(entry) }
            try await inSavepoint("ps_entry") { try await write(entry) }
        } catch let duplicate as DuplicateRow {
            // The transaction is rolled back anyway; until then, no statement can look for the row.
            if context.options.rejectionScope != .entry { try await server.run("ROLLBACK TO SAVEPOINT ps_transaction") }
            rows = ServerRowCache()
            switch try await row(duplicate.id, in: duplicate.table, duplicate.idColumn) {
            case .missing: throw duplicate.refusal
            case .stored, .there, .spelledOtherwise: throw ConcurrentChange()
            }
        }
    }

    private func isAboutValues(_ error: any Error) -> Bool {
        switch context.fault(of: error, server) {
        case .values, .duplicate, .rejected: true
        case .concurrency, .other: false
        }
    }

    /// Runs a closure in a savepoint, which is rolled back when the closure throws.
    private func inSavepoint<Result>(
        _ name: String,
        _ body: () async throws -> Result
    ) async throws -> Result {
        try await server.run("SAVEPOINT \(name)")
        do {
            let result = try await body()
            try await server.run("RELEASE SAVEPOINT \(name)")
            return result
        } catch {
            // The server may have rolled back everything, or will not go on.
            guard !isConcurrency(error) else { throw error }
            do {
                try await server.run("ROLLBACK TO SAVEPOINT \(name)")
            } catch _ {
                throw error
            }
            pending = nil
            rows = ServerRowCache()
            throw error
        }
    }

    // MARK: - One write

    private func write(_ entry: UploadEntry) async throws {
        try context.checkForm(of: entry)
        let (table, isThere) = try await target(of: entry)
        try context.checkSpelling(of: entry)
        let write = ServerWrite(user: context.user, clientID: context.request.clientID, entry: entry, rows: self)
        if let values = try await decidedValues(of: write, in: table, isNew: !isThere) {
            try await store(entry, values, in: table)
        }
        if records != nil {
            newRecords.append(AppliedWrite(operationID: entry.operationID, digest: ClientRecords.digest(of: entry)))
        }
    }

    /// Asks the app about a write, and what values it gives the row.
    ///
    /// A row that has appeared since the app was asked may be another transaction's, which the app has not decided about: what is read
    /// after a statement of the app's may be newer than what was read before.
    ///
    /// - Throws: ``ConcurrentChange`` when the row is another transaction's.
    private func decidedValues(
        of write: ServerWrite,
        in table: WritableTable,
        isNew: Bool
    ) async throws -> JsonParam? {
        let entry = write.entry
        func isThere() async throws -> Bool {
            try await row(entry.id, in: table.table, table.idColumn).isThere
        }
        ruleSavepoint = isNew && isStepwise ? .needed : .unneeded
        var values = try context.values(of: entry, by: try await decision(about: write))
        if isNew, values != nil, try await isThere() {
            guard ruleSavepoint == .set else { throw AppearedRow() }
            try await server.run("ROLLBACK TO SAVEPOINT ps_rule")
            rows = ServerRowCache()
            guard try await !isThere() else { throw ConcurrentChange() }
            // The app itself has stored it.
            values = try context.values(of: entry, by: try await decision(about: write))
        }
        if ruleSavepoint == .set { try await server.run("RELEASE SAVEPOINT ps_rule") }
        ruleSavepoint = .unneeded
        return values
    }

    /// Asks the app about a write.
    ///
    /// - Throws: The first error of a statement, whatever the app has made of it: rows that were to be written before it may be missing, or
    ///   the server has rolled back everything. What the app throws.
    private func decision(about write: ServerWrite) async throws -> WriteDecision {
        failure = nil
        let statements = AppStatements(
            prepare: { changes in try await self.prepare(changes: changes) },
            hasFailed: { error in await self.note(error) }
        )
        let decision: WriteDecision
        do {
            decision = try await authorize(write, server.transaction(statements))
        } catch {
            throw failure.map { refusal(of: $0) ?? $0 } ?? error
        }
        if let failure { throw refusal(of: failure) ?? failure }
        return decision
    }

    /// The rejection that the app sees in the error of one of its statements.
    private func refusal(of error: any Error) -> WriteRefusal? {
        if case .rejected(let refusal) = context.fault(of: error, server) { refusal } else { nil }
    }

    /// Before a statement of the app's.
    private func prepare(changes: Bool) async throws {
        try await flush()
        guard changes else { return }
        rows = ServerRowCache()
        if ruleSavepoint == .needed {
            try await server.run("SAVEPOINT ps_rule")
            ruleSavepoint = .set
        }
    }

    /// Keeps the error of a statement, which the app may not pass on.
    func note(_ error: any Error) {
        if failure == nil { failure = error }
    }
}
