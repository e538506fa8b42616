extension ConfigTest {
    private static let keys = ["config", "schema", "tables", "cases"]

    /// Reads a test.
    ///
    /// - Parameter text: YAML or JSON. Integers are exact, and numbers with a point or an exponent are doubles.
    package init(parsing text: String) {
        self.init()
        let (node, problems) = JSONNode.read(text, whenEmpty: "The test is empty; it needs “config” and “cases”.")
        for problem in problems { report(ConfigTestFinding(problem)) }
        guard let node else { return }
        guard case .object(let members) = node else {
            report(.test("not_map", "The test must be a map with “config”, “tables” and “cases”."))
            return
        }
        for member in members {
            switch member.name {
            case "config": readConfig(member.value)
            case "schema": readSchema(member.value)
            case "tables": readTables(member.value)
            case "cases": readCases(member.value)
            default:
                let hint = NearName.hint(for: member.name, among: Self.keys).map { " \($0)" } ?? ""
                report(.test("unknown_key", "Unknown key “\(member.name)” of a test.\(hint)"))
            }
        }
        if node["config"] == nil { report(.test("config", "The test has no “config”.")) }
    }

    private mutating func readConfig(_ node: JSONNode) {
        // A config is a map, which is never written in one line without a colon and a space, or a brace.
        config = node.textOrPath { !$0.contains(": ") && !$0.contains("{") }
        if config == nil {
            report(.test("config", "“config” must be the path of a file, a map with “path”, or the text of a config."))
        }
    }

    private mutating func readSchema(_ node: JSONNode) {
        if case .null = node { return }
        if let text = node.textOrPath(isPath: { !$0.contains("(") }) {
            schema = .statements(text)
        } else if let statements = node.strings {
            schema = .statements(.inline(statements.joined(separator: ";\n")))
        } else if case .object(let members) = node {
            var tables: [SourceSchema.Table] = []
            for member in members {
                let columns: [String]?
                var types: [String: SourceSchema.ColumnType] = [:]
                if case .object(let columnTypes) = member.value {
                    columns = columnTypes.map(\.name)
                    for column in columnTypes {
                        if case .string(let type) = column.value { types[column.name] = .init(postgres: type) }
                    }
                } else {
                    columns = member.value.strings
                }
                guard let columns else {
                    report(.test("schema", "“schema.\(member.name)” must be a list of columns."))
                    continue
                }
                let (schema, table) = Self.splitName(member.name)
                let isDefault = schema == nil || schema == Self.otherDefaultSchema
                tables.append(
                    SourceSchema.Table(
                        name: SourceTableName(schema: isDefault ? "main" : schema ?? "main", name: table),
                        columns: columns,
                        types: types
                    )
                )
            }
            var sourceSchema = SourceSchema(tables: tables)
            sourceSchema.defaultSchemaAliases = [Self.otherDefaultSchema]
            schema = .tables(sourceSchema)
        } else {
            report(
                .test("schema", "“schema” must be CREATE TABLE statements, a map with “path”, or a map of tables.")
            )
        }
    }

    private mutating func readTables(_ node: JSONNode) {
        guard case .object(let tables) = node else {
            if case .null = node { return }
            report(.test("tables", "“tables” must be a map from names of tables to lists of rows."))
            return
        }
        for table in tables {
            guard case .array(let elements) = table.value else {
                if case .null = table.value { continue }
                report(.test("tables", "“tables.\(table.name)” must be a list of rows."))
                continue
            }
            let (schema, name) = Self.splitName(table.name)
            for (position, element) in elements.enumerated() {
                let path = "tables.\(table.name)[\(position)]"
                rows.append(Row(schema: schema, table: name, values: readRow(element, path)))
            }
        }
    }

    /// The schema and the name in `schema.table` or `table`.
    private static func splitName(_ name: String) -> (schema: String?, table: String) {
        guard let dot = name.utf8.firstIndex(of: UInt8(ascii: ".")) else { return (nil, name) }
        return (String(name[..<dot]), String(name[name.utf8.index(after: dot)...]))
    }

    private mutating func readRow(_ node: JSONNode, _ path: String) -> SourceRow? {
        guard case .object(let members) = node else {
            report(.test("row", "“\(path)” must be a map from columns to values."))
            return nil
        }
        var columns: [SourceRow.Column] = []
        var isWhole = true
        for member in members {
            if let value = member.value.sourceValue {
                columns.append(SourceRow.Column(name: member.name, value: value))
            } else {
                report(
                    .test(
                        "value",
                        """
                        “\(path).\(member.name)” is no value: a text, a number within 64 bits, true, false, null, an array \
                        or object for its JSON text, {"$blob": "0aff"}, or {"$real": "NaN"}.
                        """
                    )
                )
                isWhole = false
            }
        }
        return isWhole ? SourceRow(columns: columns) : nil
    }

    private mutating func readCases(_ node: JSONNode) {
        guard case .array(let elements) = node else {
            if case .null = node { return }
            report(.test("cases", "“cases” must be a list."))
            return
        }
        cases = elements.enumerated().map { ConfigTestCase($0.element, number: $0.offset + 1) }
    }
}

extension JSONNode {
    /// A text, or a path: of `{"path": …}`, or a text of one line that is one.
    fileprivate func textOrPath(isPath: (String) -> Bool) -> ConfigTest.Text? {
        switch self {
        case .string(let text): !text.contains(where: \.isNewline) && isPath(text) ? .file(text) : .inline(text)
        case .object(let members) where members.count == 1 && members[0].name == "path":
            if case .string(let path) = members[0].value { .file(path) } else { nil }
        default: nil
        }
    }

    /// The elements of an array of texts.
    fileprivate var strings: [String]? {
        guard case .array(let elements) = self else { return nil }
        var strings: [String] = []
        for element in elements {
            guard case .string(let text) = element else { return nil }
            strings.append(text)
        }
        return strings
    }

    /// The value of a column, as a source has it; `nil` when there is none.
    fileprivate var sourceValue: SQLValue? {
        switch self {
        case .integer(let digits):
            return Int64(digits).map(SQLValue.integer)
        case .object(let members):
            guard members.count == 1, members[0].name.utf8.first == UInt8(ascii: "$") else { return value }
            switch (members[0].name, members[0].value) {
            case ("$blob", .string(let digits)): return [UInt8](hexadecimal: digits).map(SQLValue.blob)
            case ("$real", .string(let text)): return Double(realText: text).map(SQLValue.real)
            case ("$real", .integer(let digits)): return Double(digits).map(SQLValue.real)
            case ("$real", .real(let number)): return .real(number)
            case ("$blob", _), ("$real", _): return nil
            default: return value
            }
        case .null, .bool, .real, .string, .array:
            return value
        }
    }
}

extension Double {
    /// A number in decimal digits, `NaN`, `Infinity` or `-Infinity`.
    fileprivate init?(realText text: String) {
        switch text {
        case "NaN": self = .nan
        case "Infinity", "+Infinity": self = .infinity
        case "-Infinity": self = -.infinity
        default:
            let characters = "+-.0123456789eE"
            guard !text.isEmpty, text.allSatisfy({ characters.contains($0) }), let number = Double(text) else {
                return nil
            }
            self = number
        }
    }
}
