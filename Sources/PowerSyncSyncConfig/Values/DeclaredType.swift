/// What a column of the source holds, by its declaration.
package enum DeclaredType: Sendable, Hashable {
    case text, integer, real, boolean, decimal
    /// A day with a time.
    case date
    /// Bytes, which are not synced.
    case bytes

    /// Reads a declared type of SQLite, PostgreSQL or MySQL: `VARCHAR(20)`, `timestamp with time zone`, `bigint`.
    ///
    /// What is not known is text, which holds everything as it came: dates without a time, JSON, UUIDs, arrays. A name of a type is a
    /// word of the declaration, apart from a width behind it: `int8` is an integer, `int8range` and an enum `print_status` are not.
    ///
    /// - Parameter declaration: The type as it is written; case does not count.
    package init(declaration: String) {
        let name = declaration.prefix { $0 != "(" }.uppercased()
        // Behind the schema, if it has one.
        let words = name.split(whereSeparator: { $0.isWhitespace || $0 == "." }).map(Self.withoutWidth)
        self =
            if declaration.hasSuffix("[]") {
                .text
            } else if let type = words.compactMap({ Self.types[String($0)] }).first {
                type
            } else if name.contains("BLOB") || name.contains("BINARY") || name == "BYTEA" {
                .bytes
            } else {
                .text
            }
    }

    private static let types: [String: DeclaredType] = [
        "BOOL": .boolean, "BOOLEAN": .boolean,
        "TIMESTAMP": .date, "TIMESTAMPTZ": .date, "TIMESTAMP_NTZ": .date, "TIMESTAMP_LTZ": .date, "DATETIME": .date,
        "DATETIMEOFFSET": .date,
        "INT": .integer, "INTEGER": .integer, "TINYINT": .integer, "SMALLINT": .integer, "MEDIUMINT": .integer,
        "BIGINT": .integer, "LONGINT": .integer, "VARINT": .integer, "UINT": .integer,
        "MIDDLEINT": .integer, "HUGEINT": .integer, "BIGINTEGER": .integer,
        "SERIAL": .integer, "SMALLSERIAL": .integer, "BIGSERIAL": .integer,
        "REAL": .real, "FLOAT": .real, "DOUBLE": .real, "BINARY_FLOAT": .real, "BINARY_DOUBLE": .real,
        "DEC": .decimal, "DECIMAL": .decimal, "NUM": .decimal, "NUMERIC": .decimal, "NUMBER": .decimal,
    ]

    /// `INT` of `INT4`.
    private static func withoutWidth(_ word: Substring) -> Substring {
        word.lastIndex { !("0"..."9").contains($0) }.map { word[...$0] } ?? word
    }
}
