import TestSupport

/// A random expression in two texts: in a sync config, and in SQL that SQLite evaluates by its own rules.
package struct RandomExpression {
    /// The text in a query of a stream.
    package var text: String
    /// What SQLite evaluates to the same value.
    package var sql: String

    init(_ text: String, _ sql: String? = nil) {
        self.text = text
        self.sql = sql ?? text
    }

    /// Whether the value is true in the language: a text by its leading integer, NULL never.
    var truth: String {
        """
        (CASE typeof(\(sql)) WHEN 'null' THEN 0 WHEN 'text' THEN CAST(\(sql) AS INTEGER) <> 0 ELSE (\(sql)) <> 0 END)
        """
    }

    /// The value as text: whole doubles have no fraction in the language.
    var textForm: String {
        """
        (CASE WHEN typeof(\(sql)) = 'real' AND (\(sql)) = CAST((\(sql)) AS INTEGER) \
        THEN CAST(CAST((\(sql)) AS INTEGER) AS TEXT) ELSE CAST((\(sql)) AS TEXT) END)
        """
    }
}

/// Draws expressions over the columns of one table.
struct ExpressionSource {
    /// What the columns are qualified with.
    var table: String
    /// The edition, which decides what NULL means.
    var edition: Int
    var generator: SeededGenerator

    private mutating func one<Element>(of elements: [Element]) -> Element {
        elements[generator.number(below: elements.count)]
    }

    /// A column with a number, a text or NULL.
    private mutating func column() -> RandomExpression {
        RandomExpression("\(table).\(one(of: ["a", "b", "c"]))")
    }

    private mutating func literal() -> RandomExpression {
        RandomExpression(one(of: ["0", "1", "2", "3", "1.0", "2.5", "'x'", "'1'", "'2y'", "''", "NULL", "-1"]))
    }

    /// A value of any kind.
    mutating func value(depth: Int) -> RandomExpression {
        guard depth > 0 else { return generator.number(below: 3) == 0 ? literal() : column() }
        switch generator.number(below: 14) {
        case 0, 1, 2: return column()
        case 3: return literal()
        case 4:
            let (lhs, rhs) = (value(depth: depth - 1), value(depth: depth - 1))
            let name = one(of: ["+", "-", "*", "/", "%"])
            return RandomExpression("(\(lhs.text) \(name) \(rhs.text))", "((\(lhs.sql)) \(name) (\(rhs.sql)))")
        case 5:
            let (lhs, rhs) = (value(depth: 0), value(depth: 0))
            return RandomExpression("(\(lhs.text) || \(rhs.text))", "(\(lhs.textForm) || \(rhs.textForm))")
        case 6:
            let (condition, yes, no) = (condition(depth: depth - 1), value(depth: depth - 1), value(depth: 0))
            return RandomExpression(
                "iif(\(condition.text), \(yes.text), \(no.text))",
                "(CASE WHEN \(condition.truth) THEN \(yes.sql) ELSE \(no.sql) END)"
            )
        case 7:
            let (value, other) = (value(depth: depth - 1), value(depth: depth - 1))
            let name = one(of: ["ifnull", "nullif", "coalesce"])
            return RandomExpression("\(name)(\(value.text), \(other.text))", "\(name)(\(value.sql), \(other.sql))")
        case 8:
            let (value, when, then) = (value(depth: depth - 1), value(depth: 0), value(depth: 0))
            return RandomExpression(
                "CASE \(value.text) WHEN \(when.text) THEN \(then.text) ELSE 'e' END",
                "(CASE \(value.sql) WHEN \(when.sql) THEN \(then.sql) ELSE 'e' END)"
            )
        case 9:
            return RandomExpression(
                one(of: [
                    "upper(\(table).t)", "lower(\(table).t)", "length(\(table).t)", "substring(\(table).t, 2, 2)",
                    "instr(\(table).t, 'b')", "trim(\(table).t)", "replace(\(table).t, 'a', 'z')", "hex(\(table).t)",
                ])
            )
        case 10: return RandomExpression("typeof(\(table).\(one(of: ["a", "b", "t", "l"])))")
        case 11: return RandomExpression("\(table).o ->> '\(one(of: ["k", "n", "none"]))'")
        case 12: return RandomExpression("json_array_length(\(table).l)")
        default: return condition(depth: depth - 1)
        }
    }

    /// A value that is meant to be true or false.
    mutating func condition(depth: Int) -> RandomExpression {
        let (lhs, rhs) = (value(depth: depth - 1), value(depth: depth - 1))
        switch generator.number(below: 12) {
        case 0, 1:
            let name = one(of: ["=", "<", ">", "<=", ">="])
            return RandomExpression("(\(lhs.text) \(name) \(rhs.text))", "((\(lhs.sql)) \(name) (\(rhs.sql)))")
        case 2:
            let name = one(of: ["!=", "<>"])
            let equal = "((\(lhs.sql)) = (\(rhs.sql)))"
            return RandomExpression(
                "(\(lhs.text) \(name) \(rhs.text))",
                edition == 3 ? "(ifnull(\(equal), 0) = 0)" : "(NOT \(equal))"
            )
        case 3:
            return RandomExpression("(\(lhs.text) IS NULL)", "((\(lhs.sql)) IS NULL)")
        case 4:
            return RandomExpression("(\(lhs.text) IS NOT NULL)", "((\(lhs.sql)) IS NOT NULL)")
        case 5:
            return between(lhs, rhs, value(depth: 0))
        case 6:
            let isNegated = generator.number(below: 2) == 0
            let list = "(\(lhs.sql)) IN (\(rhs.sql), 1, 'x')"
            let text = "(\(lhs.text) \(isNegated ? "NOT " : "")IN ARRAY[\(rhs.text), 1, 'x'])"
            guard isNegated else { return RandomExpression(text, "(\(list))") }
            return RandomExpression(text, edition == 3 ? "(ifnull(\(list), 0) = 0)" : "(NOT (\(list)))")
        case 7 where depth > 0:
            let term = condition(depth: depth - 1)
            return RandomExpression("(NOT \(term.text))", "(NOT \(term.truth))")
        case 8 where depth > 0:
            let (first, second) = (condition(depth: depth - 1), condition(depth: depth - 1))
            return RandomExpression("(\(first.text) AND \(second.text))", "(\(first.truth) AND \(second.truth))")
        case 9 where depth > 0:
            let (first, second) = (condition(depth: depth - 1), condition(depth: depth - 1))
            return RandomExpression("(\(first.text) OR \(second.text))", "(\(first.truth) OR \(second.truth))")
        case 10:
            let needle = one(of: ["1", "'x'", "3"])
            let contains = "EXISTS (SELECT 1 FROM json_each(\(table).l) WHERE value = \(needle))"
            // NULL for a NULL array.
            let sql = "(CASE WHEN \(table).l IS NULL THEN NULL ELSE \(contains) END)"
            return RandomExpression(
                "(\(needle) NOT IN \(table).l)",
                edition == 3 ? "(ifnull(\(sql), 0) = 0)" : "(NOT \(sql))"
            )
        default:
            return RandomExpression("(\(lhs.text) = \(rhs.text))", "((\(lhs.sql)) = (\(rhs.sql)))")
        }
    }

    private mutating func between(
        _ value: RandomExpression,
        _ low: RandomExpression,
        _ high: RandomExpression
    ) -> RandomExpression {
        let isNegated = generator.number(below: 2) == 0
        let (fits, tops) = ("((\(value.sql)) >= (\(low.sql)))", "((\(value.sql)) <= (\(high.sql)))")
        // NULL as soon as one of the comparisons is.
        let sql = "(CASE WHEN \(fits) IS NULL OR \(tops) IS NULL THEN NULL ELSE \(fits) AND \(tops) END)"
        let text = "(\(value.text) \(isNegated ? "NOT " : "")BETWEEN \(low.text) AND \(high.text))"
        guard isNegated else { return RandomExpression(text, sql) }
        return RandomExpression(text, edition == 3 ? "(ifnull(\(sql), 0) = 0)" : "(NOT \(sql))")
    }
}
