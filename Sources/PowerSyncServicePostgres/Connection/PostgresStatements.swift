import PowerSyncProtocol
import PowerSyncServiceCore

/// Runs statements on a connection, one after the other, on the connection's own queue.
///
/// Values have their binary form in both directions.
struct PostgresStatements {
    /// How long the server may take for a statement.
    static let timeout = PostgresConnection.statementTimeout

    private let libpq: LibPQ
    /// What is being done, for errors.
    private let activity: String

    fileprivate init(_ libpq: LibPQ, _ activity: String) {
        self.libpq = libpq
        self.activity = activity
    }

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
    /// - Parameters:
    ///   - mode: How the transaction begins.
    ///   - body: Runs statements.
    /// - Returns: The result of `body`, after the commit.
    /// - Throws: ``PostgresError``, or what `body` throws.
    func transaction<Result>(_ mode: TransactionMode = .write, _ body: () throws -> Result) throws -> Result {
        try run(mode.rawValue)
        let result: Result
        do {
            result = try body()
        } catch {
            // If the connection is gone, so is the transaction.
            _ = try? run("ROLLBACK")
            throw error
        }
        try run("COMMIT")
        return result
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

    /// Whether a value is NULL.
    func isNull(_ column: Int) -> Bool { row.withValue(column) { $0 == nil } }

    /// An integer or an OID of any size, or a boolean as 0 or 1; 0 for NULL.
    func integer(_ column: Int) -> Int64 { optionalInteger(column) ?? 0 }

    /// An integer of any size; `nil` for NULL.
    func optionalInteger(_ column: Int) -> Int64? {
        row.withValue(column) { value in
            guard let value, value.count > 0, value.count <= 8 else { return nil }
            // The sign is in the first byte; one byte alone is a letter or a boolean, which have none.
            var integer: Int64 = value.count > 1 ? Int64(Int8(bitPattern: value[0])) : Int64(value[0])
            for index in 1..<max(1, value.count) { integer = integer << 8 | Int64(value[index]) }
            return integer
        }
    }

    /// A boolean; `false` for NULL.
    func boolean(_ column: Int) -> Bool { integer(column) != 0 }

    /// A text, or bytes that are one; `nil` for NULL.
    func text(_ column: Int) -> String? { row.withValue(column) { $0?.string } }

    /// Bytes; `nil` for NULL.
    func bytes(_ column: Int) -> [UInt8]? { row.memory(column).map { Array($0) } }

    /// The memory of a value; empty for NULL.
    func memory(_ column: Int) -> UnsafeRawBufferPointer {
        row.memory(column) ?? UnsafeRawBufferPointer(start: nil, count: 0)
    }
}

extension PostgresConnection {
    /// Runs statements on the queue of the connection; see ``run(_:)``.
    func statements<Value: Sendable>(
        _ activity: String,
        _ body: @escaping @Sendable (PostgresStatements) throws -> Value
    ) async throws -> Value {
        let result: Result<Value, any Error> = try await run { libpq in
            do {
                return .success(try body(PostgresStatements(libpq, activity)))
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
