import Foundation
import GRDB
import PowerSyncProtocol
import PowerSyncRules
import TestSupport
import Testing

/// Clients receive exactly the rows that SQLite selects for the same query over the same data.
///
/// Queries are drawn from the grammar, for editions 2 and 3. Where the language differs from SQLite on purpose (NULL, the truth
/// of texts, doubles as text), the SQL says so. `POWERSYNC_QUERIES` says how many queries are tried; 1,500 by default.
/// `POWERSYNC_QUERY_SEED` names one to be tried alone.
@Suite struct QueryModelTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let count = environment["POWERSYNC_QUERIES"].flatMap(UInt64.init) ?? 1500

    /// The seeds, in portions whose names tests have.
    static var portions: [ClosedRange<UInt64>] {
        if let seed = environment["POWERSYNC_QUERY_SEED"].flatMap(UInt64.init) { return [seed...seed] }
        return stride(from: 1, through: count, by: 300).map { $0...min($0 + 299, count) }
    }

    private static let claims: JSONObject = [
        "sub": "x", "n": 1, "big": 9_007_199_254_740_993, "list": [1, "x", nil, 2.5, true],
    ]
    private static let parameters: JSONObject = ["c": 2.5, "empty": []]

    @Test(arguments: portions) func clientsReceiveWhatSQLiteSelects(seeds: ClosedRange<UInt64>) async throws {
        let model = try QueryModel()
        var checked = 0
        var selected = 0
        for seed in seeds {
            let edition = seed % 4 == 0 ? 2 : 3
            var source = QuerySource(seed: seed, edition: edition)
            let query = source.query()
            let yaml = query.config(edition: edition)
            let result = SyncConfig.parse(yaml)
            let codes = Set(result.diagnostics.filter { $0.severity == .error }.map(\.code))
            #expect(
                codes.isSubset(of: [
                    "filter.unrelated", "filter.too_complex", "filter.mixed_dependencies", "stream.too_many_buckets",
                ]),
                "seed \(seed): \(result.diagnostics) \(yaml)"
            )
            guard let plan = result.plan else { continue }
            checked += 1
            let data = try await model.fill(seed: seed)
            var rehearsal = Rehearsal(try SyncPlan(encodedJSON: plan.encodedJSON()))
            for (table, row) in data { rehearsal.add(row, of: SourceTableName(schema: "main", name: table)) }
            #expect(rehearsal.problems.isEmpty, "seed \(seed): \(rehearsal.problems) \(yaml)")
            let request = SyncPlanRequest(tokenPayload: Self.claims, parameters: Self.parameters)
            let reply = await rehearsal.reply(to: request)
            #expect(reply.error == nil && reply.streams.allSatisfy(\.errors.isEmpty), "seed \(seed): \(yaml)")
            let received = Set(reply.rows.map(\.id))
            let expected = try await model.select(query.sql)
            selected += expected.count
            #expect(received == expected, "seed \(seed), edition \(edition): \(yaml)\n\(query.sql)\n\(data)")
        }
        // The others are refused, because a condition connects a table with nothing.
        #expect(seeds.count == 1 || checked * 10 > seeds.count * 7, "\(checked) of \(seeds)")
        #expect(seeds.count == 1 || selected > checked / 2, "\(selected) rows of \(checked) queries")
    }
}

/// Tables in SQLite with random rows.
struct QueryModel {
    private let database: DatabaseQueue
    private static let tables = ["p", "s", "m"]
    private static let columns = ["id", "a", "b", "c", "t", "l", "o"]

    init() throws {
        database = try DatabaseQueue()
        try database.write { db in
            // Without types, so that SQLite compares values as they are.
            for table in Self.tables {
                try db.execute(sql: "CREATE TABLE \(table) (\(Self.columns.joined(separator: ", ")))")
            }
        }
    }

    /// New rows in all tables.
    ///
    /// - Returns: Each row with its table.
    func fill(seed: UInt64) async throws -> [(table: String, row: SourceRow)] {
        var generator = SeededGenerator(seed: seed)
        let scalars: [SQLiteValue] = [
            0, 1, 1, 1.0, 2, 2.5, 3, "x", "x", "2y", "", nil, -1, 9_007_199_254_740_993, 9_007_199_254_740_992.0,
        ]
        let texts: [SQLiteValue] = ["abc", "b", "", "2b", nil]
        let lists: [SQLiteValue] = ["[]", "[1]", #"["x",2.5]"#, #"[3,1,1,null]"#, #"["2y","x"]"#, nil]
        let objects: [SQLiteValue] = [#"{"k":1,"n":null}"#, #"{"k":"x"}"#, "{}", nil]
        var rows: [(table: String, row: SourceRow)] = []
        for table in Self.tables {
            for number in 0..<5 {
                func one(_ values: [SQLiteValue]) -> SQLiteValue { values[generator.number(below: values.count)] }
                let values: [SQLiteValue] =
                    [.text("\(table)\(number)")] + [one(scalars), one(scalars), one(scalars)]
                    + [one(texts), one(lists), one(objects)]
                let columns = zip(Self.columns, values).map { SourceRow.Column(name: $0, value: $1) }
                rows.append((table, SourceRow(columns: columns)))
            }
        }
        let inserted = rows
        try await database.write { db in
            for table in Self.tables { try db.execute(sql: "DELETE FROM \(table)") }
            for (table, row) in inserted {
                try db.execute(
                    sql: "INSERT INTO \(table) VALUES (?, ?, ?, ?, ?, ?, ?)",
                    arguments: StatementArguments(row.columns.map(\.value.databaseValue))
                )
            }
        }
        return rows
    }

    /// The ids that a query selects.
    func select(_ sql: String) async throws -> Set<String> {
        try await database.read { db in Set(try String.fetchAll(db, sql: sql)) }
    }
}

extension SQLiteValue {
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
