import PowerSyncSyncConfig
import TestSupport
import Testing

/// Rows are read by position; names decide which position that is.
@Suite struct RowLayoutTests {
    private static let table = SourceTableName(schema: "main", name: "t")

    private func texts(_ evaluator: inout TableEvaluator, _ row: SourceRow) -> [String] {
        evaluator.evaluate(row, bucketPrefix: "1#").map { "\($0.bucket) \($0.table)/\($0.id) \($0.data)" }
    }

    private func entries(_ evaluator: inout TableEvaluator, _ row: SourceRow) -> [String] {
        evaluator.evaluateParameters(row).map { "\($0.lookup.rawValue) \($0.rows.map(\.values))" }
    }

    @Test func oneEvaluatorReadsRowsOfDifferentLayouts() throws {
        let plan = try plan(
            config(
                TestStream("s", "SELECT * FROM t WHERE a = auth.user_id()"),
                TestStream("r", "SELECT b AS x, upper(c) AS y, a, id FROM t WHERE NOT d"),
                TestStream("e", "SELECT id FROM t WHERE auth.user_id() IN t.e"),
                TestStream("p", "SELECT * FROM u WHERE id IN (SELECT b FROM t WHERE c = auth.user_id())")
            )
        )
        let names = ["id", "a", "b", "c", "d", "e"]
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        var evaluator = plan.evaluator(for: Self.table)
        for _ in 0..<500 {
            let columns = names.shuffled(using: &random).prefix(Int.random(in: 0...6, using: &random)).map { name in
                let values: [SQLValue] = [nil, 1, 2.5, "u1", .blob([1]), "[1,\"u1\"]"]
                return SourceRow.Column(name: name, value: values.randomElement(using: &random) ?? .null)
            }
            let row = SourceRow(columns: columns)
            var fresh = plan.evaluator(for: Self.table)
            #expect(texts(&evaluator, row) == texts(&fresh, row), "seed \(seed), \(row.columns)")
            #expect(entries(&evaluator, row) == entries(&fresh, row), "seed \(seed), \(row.columns)")
        }
    }

    @Test func aColumnThatMovesIsFoundAgain() throws {
        var evaluator = try plan(query: "SELECT id, a FROM t WHERE b = auth.user_id()").evaluator(for: Self.table)
        #expect(texts(&evaluator, ["id": 1, "a": 2, "b": 3]) == [#"1#s|0[3] t/1 {"id":1,"a":2}"#])
        #expect(texts(&evaluator, ["b": 3, "a": 2, "id": 1]) == [#"1#s|0[3] t/1 {"id":1,"a":2}"#])
        #expect(texts(&evaluator, ["b": 3, "id": 1]) == [#"1#s|0[3] t/1 {"id":1}"#])
        #expect(texts(&evaluator, ["id": 1, "a": 2]).isEmpty)
        #expect(texts(&evaluator, ["id": 1, "a": 2, "b": 3]) == [#"1#s|0[3] t/1 {"id":1,"a":2}"#])
    }

    @Test func namesThatLookAlikeAreDifferentColumns() throws {
        // "é" as one scalar and as two: equal as Swift strings, different as names.
        let (one, two) = ("\u{e9}", "e\u{301}")
        var evaluator = try plan(query: "SELECT id, \"\(one)\" AS x FROM t").evaluator(for: Self.table)
        #expect(texts(&evaluator, ["id": 1, "\u{e9}": 2]) == [#"1#s|0[] t/1 {"id":1,"x":2}"#])
        #expect(texts(&evaluator, ["id": 1, "e\u{301}": 2]) == [#"1#s|0[] t/1 {"id":1}"#])
        #expect(texts(&evaluator, ["id": 1, "e\u{301}": 2, "\u{e9}": 3]) == [#"1#s|0[] t/1 {"id":1,"x":3}"#])
        #expect(RowLayout([one]) != RowLayout([two]))
        #expect(RowLayout([one]) == RowLayout([one]))
        #expect(RowLayout([one]) != RowLayout([one, one]))
    }

    @Test(arguments: [15, 16, 17, 40]) func columnsOfWideRowsAreFound(count: Int) throws {
        let names = (0..<count).map { "c\($0)" } + ["e\u{301}"]
        let layout = RowLayout(names)
        for (position, name) in names.enumerated() { #expect(layout.position(of: name) == position) }
        #expect(layout.position(of: "c\(count)") == nil)
        #expect(layout.position(of: "\u{e9}") == nil)
        #expect(layout.nameBytes == names.joined().utf8.count)
        let row = SourceRow(layout: layout, values: names.indices.map { .integer(Int64($0)) })
        for (position, name) in names.enumerated() { #expect(row[name] == .integer(Int64(position))) }
        #expect(row["c"] == nil)
    }

    @Test func rowsAreEqualByNamesAndValues() {
        let layout = RowLayout(["id", "a"])
        let row = SourceRow(layout: layout, values: [1, "x"])
        #expect(row == ["id": 1, "a": "x"])
        #expect(row != ["id": 1, "b": "x"])
        #expect(row != ["id": 1, "a": "y"])
        #expect(Set([row, ["id": 1, "a": "x"]]).count == 1)
        #expect(row.columns == [.init(name: "id", value: 1), .init(name: "a", value: "x")])
        var changed = row
        changed.columns[1].value = 5
        changed.columns.append(.init(name: "b", value: nil))
        #expect(changed == ["id": 1, "a": 5, "b": nil])
        #expect(row["b"] == nil && changed["b"] == .null)
    }

    @Test func repeatedNamesDependOnTheRow() throws {
        let plan = try plan(query: "SELECT a AS id, a AS x, *, b AS x FROM t")
        #expect(
            plan.synced("t", ["id": 1, "a": 2, "x": 3, "b": 4]) == [#"1#s|0[] t/1 {"id":1,"x":4,"a":2,"b":4}"#]
        )
        // Bytes are left out; they replace all the same, and a value that comes after them has their place.
        #expect(
            plan.synced("t", ["id": 1, "a": .blob([2]), "x": 3, "b": 4]) == [#"1#s|0[] t/1 {"id":1,"x":4,"b":4}"#]
        )
        #expect(plan.synced("t", ["id": .blob([1]), "a": 2, "x": 3, "b": 4]) == [])
        #expect(
            plan.synced("t", ["id": 1, "a": 2, "x": .blob([3]), "b": .blob([4])])
                == [#"1#s|0[] t/1 {"id":1,"a":2}"#]
        )
    }

    @Test func aMissingColumnReplacesTheEarlierOne() throws {
        let masked = try plan(query: "SELECT *, masked_email AS email FROM users")
        #expect(
            masked.synced("users", ["id": 1, "email": "a@b.c", "masked_email": "***"])
                == [#"1#s|0[] users/1 {"id":1,"email":"***","masked_email":"***"}"#]
        )
        #expect(masked.synced("users", ["id": 1, "email": "a@b.c"]) == [#"1#s|0[] users/1 {"id":1}"#])
        #expect(
            masked.synced("users", ["id": 1, "email": "a@b.c", "masked_email": .blob([1])])
                == [#"1#s|0[] users/1 {"id":1}"#]
        )
        let twice = try plan(query: "SELECT *, masked_email AS email, name AS email FROM users")
        #expect(
            twice.synced("users", ["id": 1, "email": "a@b.c", "name": "A"])
                == [#"1#s|0[] users/1 {"id":1,"email":"A","name":"A"}"#]
        )
        let id = try plan(query: "SELECT *, uuid AS id FROM users")
        #expect(id.synced("users", ["id": 1, "name": "A"]) == [#"1#s|0[] users/1 {"id":1,"name":"A"}"#])
    }

    @Test func wildcardsAndNamesKeepTheOrderOfThePlan() throws {
        let plan = try plan(
            config(
                TestStream("a", "SELECT id FROM \"%\".t"),
                TestStream("b", "SELECT id FROM t"),
                TestStream("c", "SELECT id FROM \"t%\""),
                TestStream("d", "SELECT id FROM u"),
                TestStream("e", "SELECT id FROM main.t"),
                TestStream("f", "SELECT id FROM \"%\".\"%\""),
                TestStream("p", "SELECT * FROM x WHERE id IN (SELECT b FROM \"t%\" WHERE c = auth.user_id())"),
                TestStream("q", "SELECT * FROM x WHERE id IN (SELECT b FROM t WHERE c = auth.user_id())")
            )
        )
        let names = { (table: String, schema: String) in
            plan.synced(table, ["id": 1], schema: schema).map { $0.prefix { $0 != "|" } }
        }
        #expect(names("t", "main") == ["1#a", "1#b", "1#c", "1#e", "1#f"])
        #expect(names("u", "main") == ["1#d", "1#f"])
        #expect(names("t2", "main") == ["1#c", "1#f"])
        #expect(names("t", "other") == ["1#a", "1#f"])
        let row: SourceRow = ["b": 1, "c": 2]
        #expect(plan.evaluateParameters(row, of: Self.table).map(\.lookup.rawValue) == ["0[2]", "1[2]"])
        let other = SourceTableName(schema: "main", name: "t2")
        #expect(plan.evaluateParameters(row, of: other).map(\.lookup.rawValue) == ["0[2]"])
        #expect(plan.readsTable(other) && plan.readsTable(SourceTableName(schema: "any", name: "z")))
    }

    @Test func aTableIsReadByItsBytes() throws {
        let plan = try plan(query: "SELECT id FROM \"\u{e9}\"")
        #expect(plan.readsTable(SourceTableName(schema: "main", name: "\u{e9}")))
        #expect(!plan.readsTable(SourceTableName(schema: "main", name: "e\u{301}")))
        #expect(!plan.readsTable(SourceTableName(schema: "other", name: "\u{e9}")))
    }
}
