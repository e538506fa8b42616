import Foundation
import GRDB
import GRDBSQLite
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSQLite

/// A statement of a reader outside of the app, which runs on a connection of the app for reading, and cannot change anything.
///
/// The connection itself only reads. Besides that a statement is refused unless it begins with a word of ``firstWords``, is one that
/// SQLite takes for reading only, and calls none of the functions that act: so there is no `ATTACH`, no `PRAGMA` but as a
/// function in a `FROM`, no transaction that stays open. Not by SQLite's authorizer: a connection has one, which is GRDB's.
struct ReadOnlyStatement {
    /// What a statement can begin with.
    private static let firstWords: [StaticString] = ["SELECT", "WITH", "VALUES", "EXPLAIN"]
    /// The functions of the SDK that can be called; the others write, or mean something inside of triggers only.
    private static let harmless: Set<String> = [
        "powersync_client_id", "powersync_diff", "powersync_in_sync_operation", "powersync_json_merge",
        "powersync_last_synced_at", "powersync_offline_sync_status", "powersync_rs_version",
    ]
    /// Functions of SQLite that reach outside of the database.
    private static let harmful: Set<String> = ["load_extension", "fts3_tokenizer"]

    private let query: InspectionQuery
    private let limits: InspectionLimits

    /// Looks at a statement, without running it.
    ///
    /// - Throws: ``RPCError`` for a statement that is refused by its words.
    init(_ query: InspectionQuery, limits: InspectionLimits) throws(RPCError) {
        self.query = query
        self.limits = limits
        var last: SQLTokens.Token?
        for token in SQLTokens(query.sql) {
            if last == nil, !Self.firstWords.contains(where: token.isKeyword) { throw Self.refusal }
            if token.isSymbol("("), let name = last?.name { try Self.checkFunction(name.lowercased()) }
            last = token
        }
        guard last != nil else { throw RPCError(.invalidParameters, "There is no statement") }
    }

    private static let refusal = RPCError(
        .failed,
        "Only statements that read are run: SELECT, WITH … SELECT, VALUES and EXPLAIN"
    )

    private static func checkFunction(_ name: String) throws(RPCError) {
        guard harmful.contains(name) || (name.hasPrefix("powersync_") && !harmless.contains(name)) else { return }
        throw RPCError(.failed, "The function \(name) is not for queries from outside")
    }

    /// Runs the statement.
    ///
    /// - Parameters:
    ///   - db: A connection that has no other user meanwhile.
    ///   - isAbandoned: Whether the rows have no waiter any more.
    /// - Returns: `columns`, `rows` (arrays in the order of the columns), and `isComplete`.
    /// - Throws: ``RPCError``.
    func run(_ db: Database, isAbandoned: @escaping @Sendable () -> Bool) throws(RPCError) -> JSONObject {
        guard let connection = unsafe db.sqliteConnection else { throw RPCError(.failed, "The database is closed") }
        let guardian = StatementGuardian(limit: limits.queryTime, isAbandoned: isAbandoned)
        let length = unsafe sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, CInt(limits.valueBytes))
        unsafe guardian.watch(connection)
        defer {
            unsafe guardian.leave(connection)
            unsafe sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, length)
        }
        do {
            return try unsafe rows(connection)
        } catch let error as RPCError {
            throw error
        } catch let error as DatabaseError where error.resultCode == .SQLITE_INTERRUPT {
            throw RPCError(.failed, "The statement was ended after \(limits.queryTime)")
        } catch {
            throw RPCError(.failed, (error as? DatabaseError)?.message ?? error.lineOfText)
        }
    }

    private func rows(_ connection: OpaquePointer) throws -> JSONObject {
        var rest = query.sql[...]
        guard let statement = try unsafe PreparedStatement(preparingFirstOf: &rest, on: connection) else {
            throw RPCError(.invalidParameters, "There is no statement")
        }
        let following = SQLText.statements(String(rest))
        guard following.isEmpty else { throw RPCError(.invalidParameters, "There is more than one statement") }
        guard unsafe sqlite3_stmt_readonly(statement.handle) != 0 else { throw Self.refusal }
        guard statement.parameterCount == query.parameters.count else {
            throw RPCError(
                .invalidParameters,
                "The statement has \(statement.parameterCount.counted("parameter")), "
                    + "and \(query.parameters.count.counted("value was", "values were")) given"
            )
        }
        for (index, value) in query.parameters.enumerated() { try bind(value, to: statement, at: CInt(index + 1)) }
        defer { statement.reset() }
        let columns = (0..<statement.columnCount).map { ExactJSON.string(statement.name(of: $0) ?? "") }
        let limit = query.limit ?? InspectionQuery.defaultLimit
        var (rows, bytes, isComplete) = ([ExactJSON](), 0, true)
        while try statement.step() {
            var size = 0
            for column in 0..<statement.columnCount { size += 24 + statement.byteCountAsText(at: column) }
            guard rows.count < limit, bytes + size <= limits.answerBytes else {
                isComplete = false
                break
            }
            bytes += size
            rows.append(.array((0..<statement.columnCount).map { statement.json(at: $0) }))
        }
        return ["columns": .array(columns), "rows": .array(rows), "isComplete": .bool(isComplete)]
    }

    private func bind(_ value: ExactJSON, to statement: PreparedStatement, at index: CInt) throws {
        switch value {
        case .null: statement.bindNull(at: index)
        case .bool(let flag): statement.bind(flag ? 1 as Int64 : 0, at: index)
        case .integer(let integer): statement.bind(integer, at: index)
        case .double(let double): statement.bind(double, at: index)
        case .string(let text): try statement.bind(checkedText: text, at: index)
        case .array, .object:
            throw RPCError(.invalidParameters, "A value for a parameter is a text, a number, true, false or null")
        }
    }
}

extension PreparedStatement {
    /// About how many bytes a value has in an answer.
    fileprivate func byteCountAsText(at column: CInt) -> Int {
        switch storageClass(at: column) {
        case .null, .integer, .real: 0
        case .text: byteCount(at: column)
        case .blob: byteCount(at: column) / 3 * 4
        }
    }

    /// A value of the row: a blob as `{"base64": "…"}`, a number that JSON does not have as `{"real": "inf"}`.
    fileprivate func json(at column: CInt) -> ExactJSON {
        switch storageClass(at: column) {
        case .null: return .null
        case .integer: return .integer(integer(at: column))
        case .real:
            let real = double(at: column)
            return real.isFinite ? .double(real) : ["real": .string("\(real)")]
        case .text: return .string(string(at: column) ?? "")
        case .blob: return ["base64": .string(unsafe Data(blob(at: column)).base64EncodedString())]
        }
    }
}

/// Ends a statement that takes too long or has no waiter: SQLite asks every some thousand steps.
///
/// Not `sqlite3_interrupt`, which has no effect before the statement has begun.
///
/// `@safe`: SQLite calls it between ``watch(_:)`` and ``leave(_:)`` only.
@safe private final class StatementGuardian {
    /// How many steps of SQLite's machine are between two questions: less than a millisecond.
    private static let steps: CInt = 10_000

    private let end: ContinuousClock.Instant
    private let isAbandoned: @Sendable () -> Bool

    init(limit: Duration, isAbandoned: @escaping @Sendable () -> Bool) {
        end = .now + limit
        self.isAbandoned = isAbandoned
    }

    private var isOver: Bool { isAbandoned() || ContinuousClock.now >= end }

    func watch(_ connection: OpaquePointer) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe sqlite3_progress_handler(
            connection,
            Self.steps,
            { context in
                guard let context = unsafe context else { return 0 }
                return unsafe Unmanaged<StatementGuardian>.fromOpaque(context).takeUnretainedValue().isOver ? 1 : 0
            },
            context
        )
    }

    func leave(_ connection: OpaquePointer) {
        unsafe sqlite3_progress_handler(connection, 0, nil, nil)
    }
}
