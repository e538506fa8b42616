import Testing

/// A value of the table of the documentation ("What Columns Can Hold"), which tests put into each place that there is.
package struct ColumnValue: Sendable, CustomTestStringConvertible {
    package let testDescription: String
    /// An expression in SQL.
    package let sql: String
    /// The column that has the type of the value.
    package let column: String
    /// What an entry of the upload queue has; `nil` when the value is refused.
    package let json: String?
    /// Words of the refusal.
    package let refusal: String

    package init(_ name: String, _ sql: String, _ column: String, _ json: String) {
        (testDescription, self.sql, self.column, self.json, refusal) = (name, sql, column, json, "")
    }

    package init(_ name: String, _ sql: String, _ column: String, refusedWith refusal: String) {
        (testDescription, self.sql, self.column, json, self.refusal) = (name, sql, column, nil, refusal)
    }

    private static let megabyte = String(repeating: "0123456789abcde😀", count: 1 << 16)

    /// What columns of views keep.
    package static let kept = [
        ColumnValue("NULL", "NULL", "t", "null"),
        ColumnValue("NaN", "9e999 - 9e999", "r", "null"),
        ColumnValue("0", "0", "i", "0"),
        ColumnValue("2^53 - 1", "9007199254740991", "i", "9007199254740991"),
        ColumnValue("2^53 + 1", "9007199254740993", "i", "9007199254740993"),
        ColumnValue("2^63 - 1", "9223372036854775807", "i", "9223372036854775807"),
        ColumnValue("-2^63", "-9223372036854775807 - 1", "i", "-9223372036854775808"),
        ColumnValue("0.0", "0.0", "r", "0.0"),
        ColumnValue("-0.0", "-0.0", "r", "-0.0"),
        ColumnValue("0.1 + 0.2", "0.1 + 0.2", "r", "0.30000000000000004"),
        ColumnValue("1.0 / 3", "1.0 / 3", "r", "0.3333333333333333"),
        ColumnValue("2^53 as real", "9007199254740992.0", "r", "9007199254740992.0"),
        ColumnValue("1e21", "1e21", "r", "1e21"),
        ColumnValue("least", "5e-324", "r", "5e-324"),
        ColumnValue("greatest", "1.7976931348623157e308", "r", "1.7976931348623157e308"),
        ColumnValue("-greatest", "-1.7976931348623157e308", "r", "-1.7976931348623157e308"),
        ColumnValue("empty", "''", "t", #""""#),
        ColumnValue("quotes", #"'"\/'"#, "t", #""\"\\/""#),
        ColumnValue(
            "control characters",
            "char(1, 8, 9, 10, 12, 13, 31, 127)",
            "t",
            #""\u0001\b\t\n\f\r\u001f"# + "\u{7f}\""
        ),
        ColumnValue("NUL", "'a' || char(0) || 'b'", "t", #""a\u0000b""#),
        ColumnValue("every plane", "'é麵😀' || char(1114111)", "t", "\"é麵😀\u{10ffff}\""),
        ColumnValue("JSON function", "json_object('a', 1)", "t", #""{\"a\":1}""#),
        ColumnValue("like JSON", "'null'", "t", #""null""#),
        ColumnValue("a megabyte", "'\(megabyte)'", "t", "\"\(megabyte)\""),
    ]

    /// What columns of views refuse, because JSON cannot hold it.
    package static let refused =
        [
            ColumnValue("Infinity", "9e999", "r", refusedWith: "infinite numbers"),
            ColumnValue("-Infinity", "-9e999", "r", refusedWith: "infinite numbers"),
            ColumnValue("Infinity for a text", "9e999", "t", refusedWith: "infinite numbers"),
            ColumnValue("text that ends inside a character", "CAST(x'61c3' AS TEXT)", "t", refusedWith: "UTF-8"),
            ColumnValue("half a surrogate pair", "CAST(x'eda080' AS TEXT)", "t", refusedWith: "UTF-8"),
            ColumnValue("overlong", "CAST(x'c080' AS TEXT)", "t", refusedWith: "UTF-8"),
            ColumnValue("no UTF-8", "CAST(x'ff' AS TEXT)", "t", refusedWith: "UTF-8"),
            ColumnValue("empty BLOB", "x''", "t", refusedWith: "JSON cannot hold BLOB values"),
            ColumnValue("BLOB for a number", "x'00'", "i", refusedWith: "JSON cannot hold BLOB values"),
        ]
        // What SQLite takes for JSONB from version 3.45 on: all types, sizes in the header and behind it, containers, broken ones.
        + [
            "1331", "2331", "143078", "35312e35", "0c", "0b", "1741", "1841", "2a5c6e", "3c1761", "2b1330", "4c176113",
            "c30131",
            "d3000131", "e30000000131", "f300000000000000 0131", "cc00", "1c", "ff", "2c1761", "dc00",
        ].map {
            ColumnValue(
                "JSONB \($0)",
                "x'\($0.replacing(" ", with: ""))'",
                "t",
                refusedWith: "JSON cannot hold BLOB values"
            )
        }
}
