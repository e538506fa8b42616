/// A type of the source's database that values cannot be cast to here, and what to write in its place.
enum ForeignType {
    private static let replacements: [String: SQLType] = [
        "int": .integer, "int2": .integer, "int4": .integer, "int8": .integer, "smallint": .integer, "bigint": .integer,
        "serial": .integer, "bigserial": .integer, "oid": .integer, "tinyint": .integer, "mediumint": .integer,
        "signed": .integer, "unsigned": .integer,
        "float": .real, "float4": .real, "float8": .real, "double": .real, "double precision": .real,
        "decimal": .numeric, "dec": .numeric, "number": .numeric, "money": .numeric,
        "char": .text, "character": .text, "character varying": .text, "varchar": .text, "bpchar": .text,
        "citext": .text,
        "string": .text, "name": .text, "nchar": .text, "nvarchar": .text,
        "bytea": .blob, "binary": .blob, "varbinary": .blob,
    ]

    /// The words that go on with the name of a type, by the words before them.
    static let continuations: [String: Set<String>] = [
        "double": ["precision"], "character": ["varying"], "timestamp": ["with", "without"],
        "time": ["with", "without"],
        "with": ["time"], "without": ["time"], "bit": ["varying"],
    ]

    /// What to write in place of a cast.
    ///
    /// - Parameters:
    ///   - name: The name of the type in lower case, without brackets.
    ///   - isArray: Whether brackets follow it.
    /// - Returns: A hint.
    static func hint(for name: String, isArray: Bool) -> String {
        if !isArray, let type = replacements[name] { return "Write “\(type.rawValue)”." }
        let types = SQLType.allCases.map(\.rawValue).joined(separator: ", ")
        let value =
            switch name {
            case _ where isArray: "an array is the JSON text of one"
            case "bool", "boolean": "a boolean is 1 or 0"
            case "json", "jsonb": "JSON is a text"
            default: "a value of this type is a text already"
            }
        return "Leave the cast out: \(value). Types are \(types)."
    }
}
