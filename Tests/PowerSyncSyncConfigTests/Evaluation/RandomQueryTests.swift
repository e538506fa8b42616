import PowerSyncProtocol
import PowerSyncSyncConfig
import TestSupport
import Testing

/// Clients get exactly the rows that a query selects, for random queries over random rows.
///
/// A query is an `OR` of branches, a branch an `AND` of terms over the tables `p` (which is synced), `s` and `m`. The model
/// is the meaning of SQL: a row of `p` is selected when, for some branch, there are rows of the tables that the branch
/// mentions for which all of its terms hold.
@Suite struct RandomQueryTests {
    /// A term with its text and its meaning.
    private struct Term {
        var text: String
        /// The tables besides `p`.
        var tables: Set<String>
        /// Whether the term holds, given a row of each table and the elements of arrays that it may choose from.
        var holds: ([String: SourceRow]) -> Bool
    }

    private static let columns = ["a", "b", "c"]
    private static let userID: SQLValue = 1
    private static let list: [SQLValue] = [1, 3]
    private static let token: JSONObject = ["sub": 1, "list": [1, 3]]

    /// `=` of values that can be keys.
    private static func equal(_ lhs: SQLValue?, _ rhs: SQLValue?) -> Bool {
        guard let lhs = lhs?.normalizedKey, let rhs = rhs?.normalizedKey else { return false }
        return lhs == rhs
    }

    /// The numbers in a small JSON array.
    private static func elements(_ value: SQLValue?) -> [SQLValue] {
        guard case .text(let text) = value else { return [] }
        return text.compactMap { $0.wholeNumberValue }.map { .integer(Int64($0)) }
    }

    private static func term(using generator: inout SeededGenerator) -> Term {
        let tables = ["p", "p", "s", "s", "m"]
        let table = tables[generator.number(below: tables.count)]
        let other = tables[generator.number(below: tables.count)]
        let column = columns[generator.number(below: 3)]
        let otherColumn = columns[generator.number(below: 3)]
        let literal = Int64(generator.number(below: 4))
        let used = Set([table]).subtracting(["p"])
        let name = "\(table).\(column)"
        switch generator.number(below: 9) {
        case 0, 1, 2:
            return Term(text: "\(name) = \(other).\(otherColumn)", tables: used.union(Set([other]).subtracting(["p"])))
            {
                equal($0[table]?[column], $0[other]?[otherColumn])
            }
        case 3, 4:
            return Term(text: "auth.user_id() = \(name)", tables: used) { equal($0[table]?[column], userID) }
        case 5:
            return Term(text: "\(name) = \(literal)", tables: used) { equal($0[table]?[column], .integer(literal)) }
        case 6:
            // NULL is unequal in edition 3.
            return Term(text: "\(name) != \(literal)", tables: used) { !equal($0[table]?[column], .integer(literal)) }
        case 7:
            return Term(text: "\(name) IN auth.parameter('list')", tables: used) { rows in
                list.contains { equal(rows[table]?[column], $0) }
            }
        default:
            return Term(text: "auth.user_id() IN \(table).l", tables: used) { rows in
                elements(rows[table]?["l"]).contains { equal($0, userID) }
            }
        }
    }

    private static func rows(using generator: inout SeededGenerator) -> [SourceRow] {
        let values: [SQLValue] = [0, 1, 1.0, 2, 3, nil]
        let lists: [SQLValue] = ["[]", "[1]", "[1,2]", "[3,1,1]", nil]
        return (0..<4).map { number in
            var row: SourceRow = ["id": .integer(Int64(number))]
            for column in columns {
                row.columns.append(.init(name: column, value: values[generator.number(below: values.count)]))
            }
            row.columns.append(.init(name: "l", value: lists[generator.number(below: lists.count)]))
            return row
        }
    }

    private static func selects(_ branch: [Term], _ p: SourceRow, _ data: [String: [SourceRow]]) -> Bool {
        let tables = branch.reduce(into: Set<String>()) { $0.formUnion($1.tables) }
        var combinations: [[String: SourceRow]] = [["p": p]]
        for table in tables.sorted() {
            combinations = combinations.flatMap { combination in
                (data[table] ?? []).map { row in combination.merging([table: row]) { _, new in new } }
            }
        }
        return combinations.contains { rows in branch.allSatisfy { $0.holds(rows) } }
    }

    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func clientsGetWhatTheQuerySelects(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        var checked = 0
        for round in 0..<150 {
            let branches = (0..<(1 + generator.number(below: 3))).map { _ in
                (0..<(1 + generator.number(below: 4))).map { _ in Self.term(using: &generator) }
            }
            let condition = branches.map { "(\($0.map(\.text).joined(separator: " AND ")))" }.joined(separator: " OR ")
            let query = "SELECT p.* FROM p, s, m WHERE \(condition)"
            let data = [
                "p": Self.rows(using: &generator), "s": Self.rows(using: &generator), "m": Self.rows(using: &generator),
            ]
            // Conditions that connect a table with nothing are refused.
            guard let plan = SyncConfig.parse(config(TestStream("s", query))).plan else { continue }
            checked += 1
            let loaded = try SyncPlan(encodedJSON: plan.encodedJSON())
            var index = ParameterStore()
            for table in ["s", "m"] { index.add(data[table] ?? [], of: table, loaded) }
            let buckets = Set(try await loaded.bucketNames(token: Self.token, index: index))
            for p in data["p"] ?? [] {
                let isSelected = branches.contains { Self.selects($0, p, data) }
                let isSynced = !buckets.isDisjoint(with: loaded.bucketNames("p", p))
                #expect(isSynced == isSelected, "seed \(seed), round \(round): \(query) with \(p) and \(data)")
            }
        }
        #expect(checked > 60)
    }
}
