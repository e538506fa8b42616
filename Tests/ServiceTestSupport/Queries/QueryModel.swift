import Foundation
import GRDB
import PowerSyncProtocol
package import PowerSyncSyncConfig
package import PowerSyncServiceCore
package import TestSupport

/// Tables in SQLite with random rows, over which random queries are run.
package struct QueryModel: Sendable {
    /// The names of the tables.
    package static let tables = ["p", "s", "m"]

    /// What happens to a table.
    package struct Change: Sendable {
        package enum Kind: Sendable {
            case row(SourceChange)
            case truncation
        }

        package let table: String
        package let kind: Kind

        /// The row after the change; `nil` when it is gone.
        package var row: SourceRow? {
            if case .row(let change) = kind { change.row } else { nil }
        }

        /// Does the same to rows by id.
        package func apply(to rows: inout [String: SourceRow]) {
            guard case .row(let change) = kind else {
                rows = [:]
                return
            }
            if case .text(let id) = change.oldKey?.first { rows[id] = nil }
            if case .text(let id) = change.row?["id"] { rows[id] = change.row }
        }
    }

    private let database: DatabaseQueue
    private static let columns = ["id", "a", "b", "c", "t", "l", "o"]

    /// Makes the tables, without rows.
    package init() throws {
        database = try DatabaseQueue()
        try database.write { db in
            // Without types, so that SQLite compares values as they are.
            for table in Self.tables {
                try db.execute(sql: "CREATE TABLE \(table) (\(Self.columns.joined(separator: ", ")))")
            }
        }
    }

    /// New rows in all tables.
    package func fill(seed: UInt64) async throws -> [Change] {
        var generator = SeededGenerator(seed: seed)
        var changes: [Change] = []
        for table in Self.tables {
            changes.append(Change(table: table, kind: .truncation))
            for number in 0..<5 {
                let row = Self.row("\(table)\(number)", &generator)
                changes.append(Change(table: table, kind: .row(.insert(row))))
            }
        }
        try await apply(changes)
        return changes
    }

    /// A random transaction.
    package func change(_ generator: inout SeededGenerator) async throws -> [Change] {
        var transaction: [Change] = []
        for _ in 0...generator.number(below: 4) {
            let table = Self.tables[generator.number(below: Self.tables.count)]
            let (id, other) = ("\(table)\(generator.number(below: 7))", "\(table)\(generator.number(below: 7))")
            let exists = try await !select("SELECT id FROM \(table) WHERE id = '\(id)'").isEmpty
            let kinds: [Change.Kind] =
                switch generator.number(below: 12) {
                case 0: [.truncation]
                case 1, 2: [.row(.delete(key: [.text(id)]))]
                case 3...4 where exists && id != other:
                    // Its new key may be that of another row, which makes room.
                    [
                        .row(.delete(key: [.text(other)])),
                        .row(.update(Self.row(other, &generator), oldKey: [.text(id)])),
                    ]
                default: [.row(exists ? .update(Self.row(id, &generator)) : .insert(Self.row(id, &generator)))]
                }
            let changes = kinds.map { Change(table: table, kind: $0) }
            try await apply(changes)
            transaction += changes
        }
        return transaction
    }

    /// The ids that a query selects.
    package func select(_ sql: String) async throws -> Set<String> {
        try await database.read { db in Set(try String.fetchAll(db, sql: sql)) }
    }

    /// A row of random values.
    private static func row(_ id: String, _ generator: inout SeededGenerator) -> SourceRow {
        let scalars: [SQLValue] = [
            0, 1, 1, 1.0, 2, 2.5, 3, "x", "x", "2y", "", nil, -1, 9_007_199_254_740_993, 9_007_199_254_740_992.0,
        ]
        let texts: [SQLValue] = ["abc", "b", "", "2b", nil]
        let lists: [SQLValue] = ["[]", "[1]", #"["x",2.5]"#, #"[3,1,1,null]"#, #"["2y","x"]"#, nil]
        let objects: [SQLValue] = [#"{"k":1,"n":null}"#, #"{"k":"x"}"#, "{}", nil]
        func one(_ values: [SQLValue]) -> SQLValue { values[generator.number(below: values.count)] }
        let values: [SQLValue] =
            [.text(id)] + [one(scalars), one(scalars), one(scalars)] + [one(texts), one(lists), one(objects)]
        return SourceRow(columns: zip(columns, values).map { SourceRow.Column(name: $0, value: $1) })
    }

    private func apply(_ changes: [Change]) async throws {
        try await database.write { db in
            for change in changes {
                guard case .row(let row) = change.kind else {
                    try db.execute(sql: "DELETE FROM \(change.table)")
                    continue
                }
                for id in [row.oldKey?.first, row.row?["id"]] {
                    guard let id else { continue }
                    try db.execute(sql: "DELETE FROM \(change.table) WHERE id = ?", arguments: [id.databaseValue])
                }
                guard let row = row.row else { continue }
                try db.execute(
                    sql: "INSERT INTO \(change.table) VALUES (?, ?, ?, ?, ?, ?, ?)",
                    arguments: StatementArguments(row.values.map(\.databaseValue))
                )
            }
        }
    }
}

extension SQLValue {
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
