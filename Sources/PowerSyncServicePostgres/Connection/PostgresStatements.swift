import PowerSyncProtocol
import PowerSyncServiceCore

/// Runs statements of a bucket storage on a connection, one after the other, on the connection's own queue.
///
/// Values have their binary form in both directions. Statements name the ``schema`` of each table: what the session takes for its
/// `search_path` may be what another client has set.
struct PostgresStatements {
    /// How long the server may take for a statement.
    static let timeout = PostgresConnection.statementTimeout

    private let libpq: LibPQ
    /// What is being done, for errors.
    private let activity: String
    private let storage: PostgresStorageSchema
    /// What the session has to say.
    private let token: String
    /// The schema of the storage, as it stands before a name of it.
    let schema: String

    fileprivate init(_ libpq: LibPQ, _ activity: String, _ storage: PostgresStorageSchema, token: String) {
        self.libpq = libpq
        self.activity = activity
        self.storage = storage
        self.token = token
        schema = PostgresText.identifier(storage.name)
    }

    /// A table or sequence of the storage, for functions that take one.
    func relation(_ name: String) -> String { "\(PostgresText.literal("\(schema).\(name)"))::regclass" }

    /// Runs a statement.
    ///
    /// - Returns: The number of rows that it has changed, or returned.
    @discardableResult
    func run(_ sql: String, _ arguments: [PostgresArgument] = []) throws -> Int {
        try run(sql, arguments) { _ in }
    }

    /// Runs a query.
    ///
    /// - Parameters:
    ///   - sql: One statement.
    ///   - arguments: The values of `$1`, `$2` …
    ///   - read: Makes a value of each row.
    /// - Returns: The values.
    /// - Throws: ``PostgresError``, or what `read` throws.
    func rows<Value>(
        _ sql: String,
        _ arguments: [PostgresArgument] = [],
        _ read: (BinaryRow) throws -> Value
    ) throws -> [Value] {
        var values: [Value] = []
        try run(sql, arguments) { values.append(try read($0)) }
        return values
    }

    /// Runs a query of one row.
    ///
    /// - Returns: The value of the first row; `nil` when there is none.
    func first<Value>(
        _ sql: String,
        _ arguments: [PostgresArgument] = [],
        _ read: (BinaryRow) throws -> Value
    ) throws -> Value? {
        try rows(sql, arguments, read).first
    }

    /// Runs a query that always has a row, such as one of aggregates, or with `RETURNING` and without a conflict.
    ///
    /// - Returns: The value of the first row.
    /// - Throws: ``BucketStorageError`` with code `corrupted` when there is none.
    func one<Value>(
        _ sql: String,
        _ arguments: [PostgresArgument] = [],
        _ read: (BinaryRow) throws -> Value
    ) throws -> Value {
        guard let value = try first(sql, arguments, read) else {
            throw BucketStorageError(
                .corrupted,
                "PostgreSQL, while \(activity): a query that always has a row had none."
            )
        }
        return value
    }

    /// A statement for ``run(together:)``.
    struct Statement {
        var sql: String
        var arguments: [PostgresArgument] = []
        /// Gets each row.
        var read: (BinaryRow) throws -> Void = { _ in }
    }

    /// Runs statements in one round trip; none of them needs what another one returns.
    ///
    /// Without a transaction, they are one. Each may take as long as a statement that runs alone.
    ///
    /// - Throws: The error of the first one that fails; those after it do not run.
    func run(together statements: [Statement]) throws {
        guard statements.count > 1 else {
            for statement in statements { try run(statement.sql, statement.arguments, statement.read) }
            return
        }
        try libpq.runTogether(
            statements.map { ($0.sql, $0.arguments) },
            timeout: Self.timeout,
            activity
        ) { index, row in
            try statements[index].read(BinaryRow(row: row))
        }
    }

    /// Runs a query, and calls a function with each row.
    @discardableResult
    func run(_ sql: String, _ arguments: [PostgresArgument], _ read: (BinaryRow) throws -> Void) throws -> Int {
        let deadline = ContinuousClock.now.advanced(by: Self.timeout)
        try libpq.send(sql, binary: arguments, until: deadline, activity)
        return try libpq.receiveRows(until: deadline, activity) { try read(BinaryRow(row: $0)) }
    }

    /// Runs several statements without parameters.
    func script(_ sql: String) throws {
        let deadline = ContinuousClock.now.advanced(by: Self.timeout)
        try libpq.send(sql, nil, until: deadline, activity)
        _ = try libpq.receiveAll(until: deadline, activity)
    }

    /// Runs `body` in a transaction, which is rolled back when it throws.
    ///
    /// One that writes begins with a look at where it is: in the session that was opened, and in the storage that was.
    ///
    /// - Parameters:
    ///   - mode: How the transaction begins.
    ///   - first: Statements that run with its beginning, in one round trip.
    ///   - body: Runs statements.
    ///   - last: Makes the statements that run with the commit, in one round trip.
    /// - Returns: The result of `body`, after the commit.
    /// - Throws: ``PostgresError`` with code `noSession` in another session, or whose message says that the transaction may have been
    ///   committed; ``BucketStorageError`` with code `otherStorage` in another storage; or what `body` throws.
    func transaction<Result>(
        _ mode: TransactionMode = .write,
        beginningWith first: [Statement] = [],
        _ body: () throws -> Result,
        endingWith last: (Result) throws -> [Statement] = { _ in [] }
    ) throws -> Result {
        var place = Place()
        var beginning = [Statement(sql: mode.rawValue)]
        if mode == .write { beginning.append(placeQuery { place = $0 }) }
        let result: Result
        let ending: [Statement]
        do {
            try run(together: beginning + first)
            if mode == .write { try check(place) }
            result = try body()
            ending = try last(result)
        } catch {
            // If the connection is gone, so is the transaction.
            _ = try? run("ROLLBACK")
            throw error
        }
        do {
            try run(together: ending + [Statement(sql: "COMMIT")])
        } catch let error as PostgresError where error.code != .server {
            throw error.inDoubt
        } catch {
            // One of the last statements has failed, and the commit was left out.
            if !ending.isEmpty { _ = try? run("ROLLBACK") }
            throw error
        }
        return result
    }

    // MARK: Where it is

    /// Where a statement has run.
    struct Place {
        /// What the session says.
        fileprivate(set) var token: String?
        /// The id of the storage.
        fileprivate(set) var storageID: String?
        /// The process of the server.
        fileprivate(set) var process: Int64 = 0
    }

    /// Asks where statements run.
    func placeQuery(_ read: @escaping (Place) -> Void) -> Statement {
        // Asked for only where it is known: before there is a storage, there is no such table.
        let id = storage.id == nil ? "NULL" : "(SELECT id::text FROM \(schema).storage)"
        return Statement(sql: "SELECT \(PostgresConnection.sessionToken), \(id), pg_backend_pid()") {
            read(Place(token: $0.optionalText(0), storageID: $0.optionalText(1), process: try $0.integer(2)))
        }
    }

    /// Checks that statements have run where they should.
    ///
    /// - Throws: ``PostgresError`` with code `noSession` in another session, ``BucketStorageError`` with code `otherStorage` in
    ///   another storage.
    func check(_ place: Place) throws {
        guard place.token == token else { throw PostgresError.noSession(activity) }
        guard place.storageID == storage.id else { throw storage.otherStorage }
    }

    /// What holds only where statements should run; for one that is a transaction by itself.
    ///
    /// - Returns: A condition of SQL.
    var isInPlace: String {
        "(\(PostgresConnection.sessionToken) = \(PostgresText.literal(token)) AND \(isInStorage))"
    }

    /// What holds only in the storage that was opened, as a condition of SQL.
    var isInStorage: String {
        guard let id = storage.id else { return "true" }
        return "(SELECT id::text FROM \(schema).storage) = \(PostgresText.literal(id))"
    }
}

/// How a transaction begins.
enum TransactionMode: String {
    /// For writing: each statement sees what was committed before it.
    case write = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
    /// For reading: all statements see the same.
    case read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
}

/// A row with values in binary form; valid while its reader runs.
struct BinaryRow {
    fileprivate let row: LibPQ.Row

    /// An integer or an OID of any size, or a boolean as 0 or 1.
    ///
    /// - Throws: ``BucketStorageError`` with code `corrupted` for NULL and for what is no integer.
    func integer(_ column: Int) throws(BucketStorageError) -> Int64 { try present(optionalInteger(column), column) }

    /// An integer of any size; `nil` for NULL.
    ///
    /// - Throws: ``BucketStorageError`` with code `corrupted` for what is no integer.
    func optionalInteger(_ column: Int) throws(BucketStorageError) -> Int64? {
        guard let value = unsafe row.memory(column) else { return nil }
        guard value.count > 0, value.count <= 8 else {
            throw BucketStorageError(
                .corrupted,
                "The column \(row.name(column)) in the bucket storage has \(value.count) bytes, which are no integer."
            )
        }
        // The sign is in the first byte; one byte alone is a letter or a boolean, which have none.
        var integer: Int64 = unsafe value.count > 1 ? Int64(Int8(bitPattern: value[0])) : Int64(value[0])
        for index in 1..<max(1, value.count) { integer = unsafe integer << 8 | Int64(value[index]) }
        return integer
    }

    /// A boolean.
    ///
    /// - Throws: ``BucketStorageError`` with code `corrupted` for NULL.
    func boolean(_ column: Int) throws(BucketStorageError) -> Bool { try integer(column) != 0 }

    /// A text, or bytes that are one.
    ///
    /// - Throws: ``BucketStorageError`` with code `corrupted` for NULL.
    func text(_ column: Int) throws(BucketStorageError) -> String { try present(optionalText(column), column) }

    /// A text, or bytes that are one; `nil` for NULL.
    func optionalText(_ column: Int) -> String? { row.withValue(column) { $0?.string } }

    /// Bytes.
    ///
    /// - Throws: ``BucketStorageError`` with code `corrupted` for NULL.
    func bytes(_ column: Int) throws(BucketStorageError) -> [UInt8] { try present(optionalBytes(column), column) }

    /// Bytes; `nil` for NULL.
    func optionalBytes(_ column: Int) -> [UInt8]? { unsafe row.memory(column).map { unsafe Array($0) } }

    private func present<Value>(_ value: Value?, _ column: Int) throws(BucketStorageError) -> Value {
        guard let value else {
            throw BucketStorageError(
                .corrupted,
                "The column \(row.name(column)) in the bucket storage is NULL, which the service never writes there."
            )
        }
        return value
    }

    /// The memory of a value; empty for NULL.
    func memory(_ column: Int) -> UnsafeRawBufferPointer {
        unsafe row.memory(column) ?? UnsafeRawBufferPointer(start: nil, count: 0)
    }
}

extension PostgresConnection {
    /// Runs statements on the queue of the connection; see ``run(_:)``.
    func statements<Value: Sendable>(
        _ activity: String,
        in storage: PostgresStorageSchema,
        _ body: @escaping @Sendable (PostgresStatements) throws -> Value
    ) async throws -> Value {
        let result: Result<Value, any Error> = try await run { [token] libpq in
            do {
                return .success(try body(PostgresStatements(libpq, activity, storage, token: token)))
            } catch let error as PostgresError {
                throw error
            } catch {
                // Not one of the connection, which can be used for something else.
                return .failure(error)
            }
        }
        return try result.get()
    }
}
