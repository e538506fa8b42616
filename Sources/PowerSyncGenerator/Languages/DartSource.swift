import PowerSyncSyncConfig

/// Dart for the package `powersync`.
struct DartSource {
    let code: ClientCode

    var lines: [String] {
        code.header + [
            "import 'package:powersync/powersync.dart';", "import 'package:powersync/sqlite3_common.dart' as sqlite;",
            "",
        ] + schema + code.tables.flatMap { [""] + row($0) } + streams
    }

    private var schema: [String] {
        var lines = ["/// The tables of the client.", "const schema = Schema(["]
        for each in code.tables {
            if let comment = ClientCode.leftOut(each.table) { lines.append("  \(comment)") }
            lines.append("  Table(\(literal(each.table.name)), [")
            lines += each.table.columns.map { "    Column.\($0.type.column)(\(literal($0.name)))," }
            lines.append("  ]),")
        }
        return lines + ["]);"]
    }

    private func row(_ table: ClientCode.Table) -> [String] {
        var lines = [
            "/// A row of table `\(table.table.name.inOneLine)`.", "final class \(table.type) {",
            "  const \(table.type)({",
        ]
        lines += table.columns.map { column, name in
            "    \(column.isOptional ? "" : "required ")this.\(member(name)),"
        }
        lines += ["  });", "", "  /// Reads a row of a query that has all columns of the table."]
        let values = table.columns.map { column, name in "\(member(name)) = \(value(of: column))" }
        lines.append("  \(table.type).fromRow(sqlite.Row row)")
        lines += values.enumerated().map { index, value in
            (index == 0 ? "    : " : "      ") + value + (index == values.count - 1 ? ";" : ",")
        }
        lines.append("")
        lines += table.columns.map { column, name in
            "  final \(type(column.type))\(column.isOptional ? "?" : "") \(member(name));"
        }
        return lines + ["}"]
    }

    private func type(_ type: DeclaredType) -> String {
        switch type {
        case .integer: "int"
        case .real: "double"
        case .boolean: "bool"
        case .text, .decimal, .date, .bytes: "String"
        }
    }

    private func value(of column: ClientModel.Table.Column) -> String {
        let cell = "row[\(literal(column.name))]"
        switch (column.type, column.isOptional) {
        case (.boolean, true): return "\(cell) == null ? null : (\(cell) as int) != 0"
        case (.boolean, false): return "(\(cell) as int) != 0"
        // SQLite gives 1.0 as an integer where nothing says otherwise.
        case (.real, true): return "(\(cell) as num?)?.toDouble()"
        case (.real, false): return "(\(cell) as num).toDouble()"
        case (_, true): return "\(cell) as \(type(column.type))?"
        case (_, false): return "\(cell) as \(type(column.type))"
        }
    }

    // MARK: Streams

    private var streams: [String] {
        guard !code.streams.isEmpty else { return [] }
        var lines = ["", "/// The streams that a database can subscribe to.", "abstract final class Streams {"]
        for (index, each) in code.streams.enumerated() {
            if index > 0 { lines.append("") }
            lines += function(each).map { $0.isEmpty ? "" : "  \($0)" }
        }
        return lines + ["}"]
    }

    private func function(_ each: ClientCode.Stream) -> [String] {
        var parameters: [String] = []
        var members: [String] = []
        if each.stream.takesAnyParameters { members.append("...?others,") }
        for (parameter, name) in each.parameters {
            let local = local(name)
            let type = parameter.isArray ? "List<\(self.type(of: parameter))>" : self.type(of: parameter)
            if parameter.isOptional {
                parameters.append("\(type)\(parameter.type == nil ? "" : "?") \(local)")
                members.append("if (\(local) != null) \(literal(parameter.name)): \(local),")
            } else {
                parameters.append("required \(type) \(local)")
                members.append("\(literal(parameter.name)): \(local),")
            }
        }
        if each.stream.takesAnyParameters { parameters.append("Map<String, Object?>? others") }
        let head = "static SyncStream \(member(each.function))(PowerSyncDatabase database"
        var lines = ["/// \(each.about)"]
        if parameters.isEmpty {
            lines.append("\(head)) =>")
        } else {
            lines.append("\(head), {")
            lines += parameters.map { "  \($0)," }
            lines.append("}) =>")
        }
        let name = literal(each.stream.name)
        guard !members.isEmpty else { return lines + ["    database.syncStream(\(name));"] }
        return lines + ["    database.syncStream(\(name), {"] + members.map { "      \($0)" } + ["    });"]
    }

    private func type(of parameter: ClientModel.Stream.Parameter) -> String {
        parameter.type.map { self.type($0) } ?? "Object?"
    }

    // MARK: Names

    /// Words that are no names; nothing quotes them.
    private static let keywords: Set<String> = [
        "assert", "break", "case", "catch", "class", "const", "continue", "default", "do", "else", "enum", "extends",
        "false", "final", "finally", "for", "if", "in", "is", "new", "null", "rethrow", "return", "super", "switch",
        "this", "throw", "true", "try", "var", "void", "while", "with", "await", "yield",
    ]

    private func member(_ name: String) -> String { Self.keywords.contains(name) ? name + "_" : name }

    /// A parameter; `database` and `others` are taken, and no named parameter begins with `_`.
    private func local(_ name: String) -> String {
        let free = ["database", "others"].contains(name) ? name + "_" : member(name)
        return free.hasPrefix("_") ? "p\(free)" : free
    }

    private func literal(_ text: String) -> String {
        text.literal("'", escape: { "\\u{\($0)}" }, escaping: ["$"])
    }
}
