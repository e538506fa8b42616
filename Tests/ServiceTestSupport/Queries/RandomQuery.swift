package import PowerSyncProtocol
import TestSupport

/// A random stream query that selects rows of `p`, and the SQL that selects their ids.
package struct RandomQuery {
    /// Common table expressions by name.
    var commonTables: [(name: String, text: String)] = []
    /// The query of the stream.
    var text: String
    /// The ids that SQLite selects.
    package var sql: String

    /// The sync config of the query.
    package func config(edition: Int) -> String {
        var lines = ["config: {edition: \(edition)}"]
        if !commonTables.isEmpty {
            lines.append("with:")
            lines += commonTables.map { "  \($0.name): |\n    \($0.text)" }
        }
        return
            (lines + [
                "streams:", "  s:", "    auto_subscribe: true", "    accept_potentially_dangerous_queries: true",
                "    query: |", "      \(text)",
            ]).joined(separator: "\n") + "\n"
    }
}

/// Draws queries from the grammar.
package struct QuerySource {
    private let edition: Int
    private var generator: SeededGenerator
    private var aliases = 0

    /// A value of the request in both texts; lists are JSON arrays.
    private static let values = [
        RandomExpression("auth.user_id()", "'x'"), RandomExpression("auth.parameter('n')", "1"),
        RandomExpression("connection.parameter('c')", "2.5"), RandomExpression("auth.parameter('none')", "NULL"),
        RandomExpression("auth.parameter('n') + 1", "2"), RandomExpression("'2y'"), RandomExpression("3"),
        RandomExpression("auth.parameter('big')", "9007199254740993"),
        RandomExpression("upper(auth.user_id())", "'X'"),
    ]
    private static let lists = [
        RandomExpression("auth.parameter('list')", #"'[1,"x",null,2.5,true]'"#),
        RandomExpression("connection.parameter('empty')", "'[]'"), RandomExpression(#"'["2y",3]'"#),
        RandomExpression("auth.parameter('none')", "NULL"),
    ]
    private static let conditions = [
        RandomExpression("auth.parameter('n') = 1", "1"), RandomExpression("auth.parameter('n') > 1", "0"),
        RandomExpression("NOT auth.parameter('none')", "1"), RandomExpression("connection.parameter('c')", "1"),
        RandomExpression("'x' IN auth.parameter('list')", "1"), RandomExpression("'q' IN auth.parameter('list')", "0"),
        RandomExpression("1 = 1"), RandomExpression("false", "0"),
    ]
    private static let columns = ["a", "b", "c"]

    /// The claims of the token of the request that queries are drawn for.
    package static let claims: JSONObject = [
        "sub": "x", "n": 1, "big": 9_007_199_254_740_993, "list": [1, "x", nil, 2.5, true],
    ]
    /// The parameters of its connection.
    package static let parameters: JSONObject = ["c": 2.5, "empty": []]

    package init(seed: UInt64, edition: Int) {
        self.edition = edition
        generator = SeededGenerator(seed: seed)
    }

    private mutating func one<Element>(of elements: [Element]) -> Element {
        elements[generator.number(below: elements.count)]
    }

    private mutating func chance(_ percent: Int) -> Bool { generator.number(below: 100) < percent }

    /// A query.
    package mutating func query() -> RandomQuery {
        chance(65) ? nestedQuery() : joinedQuery()
    }

    // MARK: Terms

    /// A filter on one table.
    private mutating func filter(_ table: String) -> RandomExpression {
        var source = ExpressionSource(table: table, edition: edition, generator: generator)
        let filter = source.condition(depth: generator.number(below: 3))
        generator = source.generator
        return RandomExpression(filter.text, filter.truth)
    }

    /// A match of two sides.
    private static func match(_ lhs: RandomExpression, _ rhs: RandomExpression) -> RandomExpression {
        RandomExpression("\(lhs.text) = \(rhs.text)", "ifnull((\(lhs.sql)) = (\(rhs.sql)), 0)")
    }

    private mutating func column(_ table: String) -> RandomExpression {
        let column = "\(table).\(one(of: Self.columns))"
        // Expressions of one row may be keys, too.
        return chance(15) ? RandomExpression("ifnull(\(column), 'x')") : RandomExpression(column)
    }

    /// A term that reads a table and the request, or the elements of an array.
    private mutating func requestTerm(_ table: String) -> RandomExpression {
        switch generator.number(below: 9) {
        case 0:
            let (value, list) = (column(table), one(of: Self.lists))
            return RandomExpression(
                "\(value.text) IN \(list.text)",
                "EXISTS (SELECT 1 FROM json_each(\(list.sql)) WHERE value = \(value.sql))"
            )
        case 1:
            let value = one(of: Self.values)
            return RandomExpression(
                "\(value.text) IN \(table).l",
                "EXISTS (SELECT 1 FROM json_each(\(table).l) WHERE value = \(value.sql))"
            )
        case 2:
            // The negation is that of the comparison: some element differs.
            let literal = one(of: ["1", "'x'", "2.5"])
            return RandomExpression(
                "NOT (\(literal) IN \(table).l)",
                "EXISTS (SELECT 1 FROM json_each(\(table).l) WHERE ifnull(value = \(literal), 0) = 0)"
            )
        case 3:
            return RandomExpression(
                "\(table).l && '[1,\"x\"]'",
                "EXISTS (SELECT 1 FROM json_each(\(table).l) WHERE value IN (1, 'x'))"
            )
        default:
            let (lhs, rhs) = (column(table), one(of: Self.values))
            return chance(50) ? Self.match(lhs, rhs) : Self.match(rhs, lhs)
        }
    }

    // MARK: Subqueries

    /// A condition on a table, with subqueries.
    ///
    /// - Parameters:
    ///   - table: The table.
    ///   - outer: Tables around it that it may be compared with.
    ///   - depth: How deep subqueries may be nested.
    ///   - size: How many terms it has.
    /// - Returns: The condition.
    private mutating func tree(_ table: String, outer: [String], depth: Int, size: Int) -> RandomExpression {
        if size > 1 {
            let left = 1 + generator.number(below: size - 1)
            let lhs = tree(table, outer: outer, depth: depth, size: left)
            let rhs = tree(table, outer: outer, depth: depth, size: size - left)
            let name = chance(60) ? "AND" : "OR"
            return RandomExpression("(\(lhs.text) \(name) \(rhs.text))", "(\(lhs.sql) \(name) \(rhs.sql))")
        }
        switch generator.number(below: 10) {
        case 0, 1: return filter(table)
        case 2: return one(of: Self.conditions)
        case 3, 4, 5: return requestTerm(table)
        case 6 where !outer.isEmpty: return Self.match(column(table), column(one(of: outer)))
        default: return depth > 0 ? membership(table, outer: outer, depth: depth) : requestTerm(table)
        }
    }

    /// `value IN (SELECT …)`, or `array && (SELECT …)`.
    private mutating func membership(_ table: String, outer: [String], depth: Int) -> RandomExpression {
        aliases += 1
        let name = one(of: ["s", "m"])
        let alias = "\(name)\(aliases)"
        let element = column(alias)
        let condition = tree(alias, outer: outer + [table], depth: depth - 1, size: 1 + generator.number(below: 3))
        let subquery = "(SELECT \(element.text) FROM \(name) AS \(alias) WHERE \(condition.text))"
        if chance(15) {
            return RandomExpression(
                "\(table).l && \(subquery)",
                """
                EXISTS (SELECT 1 FROM \(name) AS \(alias), json_each(\(table).l) AS e \
                WHERE e.value = \(element.sql) AND \(condition.sql))
                """
            )
        }
        let value = chance(75) ? column(table) : one(of: Self.values)
        return RandomExpression(
            "\(value.text) IN \(subquery)",
            "EXISTS (SELECT 1 FROM \(name) AS \(alias) WHERE (\(value.sql)) = \(element.sql) AND \(condition.sql))"
        )
    }

    /// Conditions and subqueries, in any boolean structure.
    private mutating func nestedQuery() -> RandomQuery {
        var query = RandomQuery(text: "", sql: "")
        var condition = tree("p", outer: [], depth: 2, size: 1 + generator.number(below: 5))
        if edition == 3, chance(25) {
            let inner = tree("s", outer: [], depth: 1, size: 1 + generator.number(below: 2))
            let element = column("s")
            let value = column("p")
            query.commonTables = [("mine", "SELECT \(element.text) AS x FROM s WHERE \(inner.text)")]
            let uses = [
                RandomExpression("\(value.text) IN mine"), RandomExpression("\(value.text) IN (SELECT x FROM mine)"),
            ]
            let sql = "EXISTS (SELECT 1 FROM s WHERE (\(value.sql)) = \(element.sql) AND \(inner.sql))"
            let name = chance(60) ? "AND" : "OR"
            condition = RandomExpression(
                "(\(condition.text)) \(name) \(one(of: uses).text)",
                "(\(condition.sql)) \(name) \(sql)"
            )
        }
        query.text = "SELECT * FROM p WHERE \(condition.text)"
        query.sql = "SELECT id FROM p WHERE \(condition.sql)"
        // The same, with the table in a subquery of its own.
        if !chance(85), query.commonTables.isEmpty {
            query.text = "SELECT p.* FROM p WHERE \(condition.text)"
        }
        return query
    }

    // MARK: Joins

    /// A join of up to four relations with alternatives of terms: each alternative joins what it mentions.
    private mutating func joinedQuery() -> RandomQuery {
        let relations = [
            "s": "s AS s", "m": "m AS m", "e": "json_each(p.l) AS e",
            "q": "(SELECT a AS a, b AS b FROM s WHERE c = 1) AS q",
        ]
        let tables = ["p", "s", "m"]
        var branches: [(mentioned: Set<String>, terms: [RandomExpression])] = []
        for _ in 0..<(1 + generator.number(below: 3)) {
            var mentioned: Set<String> = []
            var terms: [RandomExpression] = []
            for _ in 0..<(1 + generator.number(below: 4)) {
                let table = one(of: tables)
                let other = one(of: tables)
                switch generator.number(below: 9) {
                case 0: terms.append(filter(table))
                case 1, 2: terms.append(requestTerm(table))
                case 3:
                    terms.append(Self.match(RandomExpression("e.value"), one(of: Self.values)))
                    mentioned.insert("e")
                case 4:
                    let side = RandomExpression("q.\(one(of: ["a", "b"]))")
                    terms.append(Self.match(side, chance(50) ? column(table) : one(of: Self.values)))
                    mentioned.insert("q")
                case 5: terms.append(one(of: Self.conditions))
                default:
                    terms.append(Self.match(column(table), column(other)))
                    mentioned.insert(other)
                }
                if terms.last?.text.contains("\(table).") ?? false { mentioned.insert(table) }
            }
            branches.append((mentioned, terms))
        }
        // The conditions of a subquery in FROM hold wherever it is.
        let usesSubquery = branches.contains { $0.mentioned.contains("q") }
        let alternatives = branches.map { branch in
            let mentioned = branch.mentioned.union(usesSubquery ? ["q"] : []).subtracting(["p"])
            let from = mentioned.sorted().compactMap { relations[$0] }.joined(separator: ", ")
            let terms = branch.terms.map(\.sql).joined(separator: " AND ")
            return RandomExpression(
                "(\(branch.terms.map(\.text).joined(separator: " AND ")))",
                "EXISTS (SELECT 1\(from.isEmpty ? "" : " FROM \(from)") WHERE \(terms))"
            )
        }
        let from = ["p", "s", "m", "json_each(p.l) AS e"] + (usesSubquery ? [relations["q"] ?? ""] : [])
        let condition = alternatives.map(\.text).joined(separator: " OR ")
        return RandomQuery(
            text: "SELECT p.* FROM \(from.joined(separator: ", ")) WHERE \(condition)",
            sql: "SELECT id FROM p WHERE \(alternatives.map(\.sql).joined(separator: " OR "))"
        )
    }
}
