import Foundation
import GRDB
import PowerSyncSyncConfig

/// SQLite itself, to compare with.
struct SQLiteOracle {
    private let queue: DatabaseQueue

    /// An empty database in memory.
    init() throws {
        queue = try DatabaseQueue()
    }

    /// Makes a table whose columns have no type, so that SQLite compares values as they are.
    func makeTable(_ name: String, _ rows: [SourceRow]) throws {
        guard let layout = rows.first?.layout else { return }
        let columns = layout.names.joined(separator: ", ")
        let places = layout.names.map { _ in "?" }.joined(separator: ", ")
        try queue.write { db in
            try db.execute(sql: "CREATE TABLE \(name) (\(columns))")
            for row in rows {
                try db.execute(
                    sql: "INSERT INTO \(name) VALUES (\(places))",
                    arguments: StatementArguments(row.values.map(\.databaseValue))
                )
            }
        }
    }

    /// The first column of what a query gives.
    ///
    /// - Parameters:
    ///   - sql: A query.
    ///   - parameters: The values of its parameters by name; those that it does not have are ignored.
    /// - Returns: One value for each row.
    /// - Throws: `DatabaseError`.
    func values(of sql: String, _ parameters: [String: SQLValue] = [:]) throws -> [SQLValue] {
        try queue.read { db in
            let used = parameters.filter { sql.contains(":\($0.key)") }
            return try Row.fetchAll(db, sql: sql, arguments: StatementArguments(used.mapValues(\.databaseValue)))
                .map { SQLValue(Array($0.databaseValues)[0]) }
        }
    }

    /// The value of an expression over the parameters `:a` and `:b`; `nil` when SQLite refuses it.
    func value(of expression: String, a: SQLValue = nil, b: SQLValue = nil) -> SQLValue? {
        (try? values(of: "SELECT \(expression)", ["a": a, "b": b]))?.first
    }
}

extension SQLValue {
    fileprivate init(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let integer): self = .integer(integer)
        case .double(let number): self = .real(number)
        case .string(let text): self = .text(text)
        case .blob(let bytes): self = .blob([UInt8](bytes))
        }
    }

    fileprivate var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let integer): integer.databaseValue
        case .real(let number): number.databaseValue
        case .text(let text): text.databaseValue
        case .blob(let bytes): Data(bytes).databaseValue
        }
    }
}
