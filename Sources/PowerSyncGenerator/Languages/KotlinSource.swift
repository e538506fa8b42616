import PowerSyncSyncConfig

/// Kotlin for the library `com.powersync:core`.
struct KotlinSource {
    let code: ClientCode

    var lines: [String] {
        let head = code.options.packageName.map { ["package \($0)", ""] } ?? []
        return code.header + head + imports.map { "import \($0)" } + [""] + schema
            + code.tables.flatMap { [""] + row($0) } + streams
    }

    private var imports: [String] {
        var names = [
            "com.powersync.db.SqlCursor", "com.powersync.db.schema.Column", "com.powersync.db.schema.Schema",
            "com.powersync.db.schema.Table",
        ]
        names += Set(code.tables.flatMap(\.columns).map { "com.powersync.db.\(reader($0.column))" })
        if !code.streams.isEmpty { names += ["com.powersync.PowerSyncDatabase", "com.powersync.sync.SyncStream"] }
        if code.streams.contains(where: { !$0.parameters.isEmpty || $0.stream.takesAnyParameters }) {
            names.append("com.powersync.utils.JsonParam")
        }
        return names.sorted()
    }

    private var schema: [String] {
        var lines = ["/** The tables of the client. */", "val schema: Schema =", "    Schema("]
        for each in code.tables {
            if let comment = ClientCode.leftOut(each.table) { lines.append("        \(comment)") }
            lines += ["        Table(", "            name = \(literal(each.table.name)),"]
            lines += ["            columns =", "                listOf("]
            lines += each.table.columns.map { "                    Column.\($0.type.column)(\(literal($0.name)))," }
            lines += ["                ),", "        ),"]
        }
        return lines + ["    )"]
    }

    private func row(_ table: ClientCode.Table) -> [String] {
        var lines = ["/** A row of table `\(table.table.name.inOneLine)`. */", "data class \(table.type)("]
        lines += table.columns.map { column, name in
            "    val \(quoted(name)): \(type(column.type))\(column.isOptional ? "?" : ""),"
        }
        lines += [
            ") {", "    companion object {", "        /** Reads a row of a query that has all columns of the table. */",
            "        fun from(cursor: SqlCursor): \(table.type) =", "            \(table.type)(",
        ]
        lines += table.columns.map { column, name in
            "                \(quoted(name)) = cursor.\(reader(column))(\(literal(column.name))),"
        }
        return lines + ["            )", "    }", "}"]
    }

    private func type(_ type: DeclaredType) -> String {
        switch type {
        case .integer: "Long"
        case .real: "Double"
        case .boolean: "Boolean"
        case .text, .decimal, .date, .bytes: "String"
        }
    }

    /// The function that reads a column by its name.
    private func reader(_ column: ClientModel.Table.Column) -> String {
        "get\(type(column.type))\(column.isOptional ? "Optional" : "")"
    }

    // MARK: Streams

    private var streams: [String] {
        guard !code.streams.isEmpty else { return [] }
        var lines = ["", "/** The streams that a database can subscribe to. */", "object Streams {"]
        for (index, each) in code.streams.enumerated() {
            if index > 0 { lines.append("") }
            lines += function(each).map { $0.isEmpty ? "" : "    \($0)" }
        }
        return lines + ["}"]
    }

    private func function(_ each: ClientCode.Stream) -> [String] {
        var parameters = ["database: PowerSyncDatabase"]
        var (required, optional): ([String], [String]) = ([], [])
        for (parameter, name) in each.parameters {
            let (local, member) = (local(name), literal(parameter.name))
            parameters.append("\(local): \(type(of: parameter))\(parameter.isOptional ? "? = null" : "")")
            let value = value(of: parameter, local)
            if parameter.isOptional {
                optional.append("if (\(local) != null) put(\(member), \(value))")
            } else {
                required.append("\(member) to \(value)")
            }
        }
        if each.stream.takesAnyParameters { parameters.append("others: Map<String, JsonParam> = emptyMap()") }
        var lines = ["/** \(each.about) */", "fun \(quoted(each.function))("]
        lines += parameters.map { "    \($0)," }
        lines.append("): SyncStream =")
        let name = literal(each.stream.name)
        guard !optional.isEmpty || each.stream.takesAnyParameters else {
            let map = required.isEmpty ? "" : ", mapOf(\(required.joined(separator: ", ")))"
            return lines + ["    database.syncStream(\(name)\(map))"]
        }
        lines += ["    database.syncStream(", "        \(name),", "        buildMap {"]
        if each.stream.takesAnyParameters { lines.append("            putAll(others)") }
        lines += required.map { "            put(\($0.replacing(" to ", with: ", ")))" }
        return lines + optional.map { "            \($0)" } + ["        },", "    )"]
    }

    private func type(of parameter: ClientModel.Stream.Parameter) -> String {
        let type = parameter.type.map { self.type($0) } ?? "JsonParam"
        return parameter.isArray ? "List<\(type)>" : type
    }

    private func value(of parameter: ClientModel.Stream.Parameter, _ name: String) -> String {
        guard let type = parameter.type else { return parameter.isArray ? "JsonParam.Collection(\(name))" : name }
        let kind =
            switch type {
            case .integer, .real: "Number"
            case .boolean: "Boolean"
            case .text, .decimal, .date, .bytes: "String"
            }
        return parameter.isArray
            ? "JsonParam.Collection(\(name).map { JsonParam.\(kind)(it) })" : "JsonParam.\(kind)(\(name))"
    }

    // MARK: Names

    private static let keywords: Set<String> = [
        "as", "break", "class", "continue", "do", "else", "false", "for", "fun", "if", "in", "interface", "is", "null",
        "object", "package", "return", "super", "this", "throw", "true", "try", "typealias", "typeof", "val", "var",
        "when", "while",
    ]

    private func quoted(_ name: String) -> String { Self.keywords.contains(name) ? "`\(name)`" : name }

    /// A parameter; `database` and `others` are taken.
    private func local(_ name: String) -> String {
        ["database", "others"].contains(name) ? name + "_" : quoted(name)
    }

    private func literal(_ text: String) -> String {
        text.literal(
            "\"",
            escape: { "\\u" + String(repeating: "0", count: max(0, 4 - $0.count)) + $0.suffix(4) },
            escaping: ["$"]
        )
    }
}
