import Foundation
import PowerSyncSyncConfig

/// Swift code for a model: a schema, a type for the rows of each table, a function for each stream.
///
/// The same model gives the same text, byte for byte.
struct SwiftSource {
    /// Who may use what is generated.
    enum Access: String, Sendable, CaseIterable {
        case `internal`, package, `public`

        fileprivate var prefix: String { self == .internal ? "" : rawValue + " " }
    }

    /// How the code looks.
    struct Options: Sendable {
        /// The name of the type that everything is in.
        var namespace = "Synced"
        /// Who may use it.
        var access = Access.internal
        /// Whether timestamps are `Date`, rather than the text as it came.
        var usesDates = false
        /// The file names of config and schema, for the comment on top.
        var inputs: [String] = []
        /// The command that generates the code again, for the comment on top.
        var command = "powersync generate swift"
    }

    private let model: ClientModel
    private let options: Options
    private var access: String { options.access.prefix }
    private let names: Names

    /// Prepares the code.
    ///
    /// - Parameters:
    ///   - model: What the app has.
    ///   - options: How the code looks.
    /// - Throws: ``GenerationError`` when two names become one in Swift, or none.
    init(_ model: ClientModel, _ options: Options = Options()) throws {
        self.model = model
        self.options = options
        names = try Names(model, namespace: options.namespace)
    }

    /// The text of the file.
    var text: String {
        var lines = header
        lines += [
            "",
            "/// The tables, rows and streams of \(options.inputs.first.map { "`\($0)`" } ?? "a sync config").",
            "\(access)enum \(options.namespace) {",
        ]
        var parts = [schema] + zip(model.tables, names.tables).map(row)
        if !model.streams.isEmpty { parts.append(streams) }
        lines += parts.joined(separator: [""]).map { $0.isEmpty ? "" : "    " + $0 }
        return (lines + ["}", ""]).joined(separator: "\n")
    }

    private var header: [String] {
        let imports = model.tables.flatMap(\.columns).compactMap { swiftType($0.type, isOptional: false) }
        let needsFoundation = imports.contains("Date") || imports.contains("Decimal")
        return [
            "// Generated from \(options.inputs.joined(separator: " and ")). Do not edit; to generate it again:",
            "//",
            "//   \(options.command)",
            "",
            "// swift-format-ignore-file",
            "",
        ] + (needsFoundation ? ["\(access)import Foundation"] : []) + ["\(access)import PowerSync"]
    }

    // MARK: - Tables

    private var schema: [String] {
        var lines = [
            "/// The tables of the client, for `PowerSyncDatabase(schema:)`.",
            "\(access)static let schema = Schema(tables: [",
        ]
        for table in model.tables {
            if !table.leftOut.isEmpty {
                lines.append("    // Bytes are not synced: \(table.leftOut.map(\.inComment).joined(separator: ", "))")
            }
            lines += ["    Table(", "        name: \(table.name.swiftLiteral),"]
            if table.columns.isEmpty {
                lines.append("        columns: []")
            } else {
                lines.append("        columns: [")
                lines += table.columns.map { "            .\(column($0.type))(\($0.name.swiftLiteral))," }
                lines.append("        ]")
            }
            lines.append("    ),")
        }
        return lines + ["])"]
    }

    /// The function that declares a column of a type: its kind, if it has one, so that uploads have values of the type, too.
    private func column(_ type: DeclaredType) -> String {
        switch type {
        case .boolean: "boolean"
        case .decimal: "decimal"
        case .date: options.usesDates ? "date" : type.column
        case .text, .integer, .real, .bytes: type.column
        }
    }

    private func row(_ table: ClientModel.Table, _ names: Names.Table) -> [String] {
        var properties = [(name: "id", type: "String", column: "id", isOptional: false)]
        for (column, name) in zip(table.columns, names.columns) {
            let type = swiftType(column.type, isOptional: column.isOptional)
            properties.append((SwiftName.quoted(name), type, column.name, column.isOptional))
        }
        var lines = [
            "/// A row of table `\(table.name.inComment)`.",
            "\(access)struct \(names.type): Codable, Equatable, Identifiable, Sendable {",
            "    /// The name of the table.",
            "    \(access)static let tableName = \(table.name.swiftLiteral)",
            "",
        ]
        lines += properties.map { "    \(access)var \($0.name): \($0.type)" }
        if options.access != .internal {
            let parameters = properties.map { "\($0.name): \($0.type)\($0.isOptional ? " = nil" : "")" }
            lines += ["", "    \(access)init(\(parameters.joined(separator: ", "))) {"]
            lines += properties.map { "        self.\($0.name) = \($0.name)" }
            lines.append("    }")
        }
        let isPlain = { (name: String, column: String) in
            name == column || name == SwiftName.quoted(column)
        }
        if !properties.allSatisfy({ isPlain($0.name, $0.column) }) {
            lines += ["", "    \(access)enum CodingKeys: String, CodingKey {"]
            lines += properties.map { property in
                let value = isPlain(property.name, property.column) ? "" : " = \(property.column.swiftLiteral)"
                return "        case \(property.name)\(value)"
            }
            lines.append("    }")
        }
        return lines + ["}"]
    }

    private func swiftType(_ type: DeclaredType, isOptional: Bool) -> String {
        let name =
            switch type {
            case .text, .bytes: "String"
            case .integer: "Int"
            case .real: "Double"
            case .boolean: "Bool"
            case .decimal: "Decimal"
            case .date: options.usesDates ? "Date" : "String"
            }
        return isOptional ? name + "?" : name
    }

    // MARK: - Streams

    private var streams: [String] {
        var lines = ["/// The streams that a database can subscribe to.", "\(access)enum Streams {"]
        for (index, (stream, names)) in zip(model.streams, names.streams).enumerated() {
            if index > 0 { lines.append("") }
            lines += function(stream, names).map { $0.isEmpty ? "" : "    " + $0 }
        }
        return lines + ["}"]
    }

    private func function(_ stream: ClientModel.Stream, _ names: Names.Stream) -> [String] {
        let how = stream.isSubscribedByDefault ? ", which clients get without subscribing" : ""
        var parameters = ["_ database: any PowerSyncDatabaseProtocol"]
        var (required, optional): ([String], [String]) = ([], [])
        for (parameter, name) in zip(stream.parameters, names.parameters) {
            let type = parameterType(parameter)
            parameters.append("\(label(name)): \(type)\(parameter.isOptional ? "? = nil" : "")")
            let member = parameter.name.swiftLiteral
            if parameter.isOptional {
                optional.append("if let \(local(name)) { params[\(member)] = \(value(of: parameter, local(name))) }")
            } else {
                required.append("\(member): \(value(of: parameter, local(name)))")
            }
        }
        if stream.takesAnyParameters { parameters.append("others: JsonParam = [:]") }
        let signature = "\(access)static func \(SwiftName.quoted(names.function))"
        let name = stream.name.swiftLiteral
        var lines = ["/// The stream `\(stream.name.inComment)` of priority \(stream.priority)\(how)."]
        lines.append("\(signature)(\(parameters.joined(separator: ", "))) -> any SyncStream {")
        if optional.isEmpty, !stream.takesAnyParameters {
            let params = required.isEmpty ? "nil" : "[\(required.joined(separator: ", "))]"
            lines.append("    database.syncStream(name: \(name), params: \(params))")
        } else {
            lines.append("    var params: JsonParam = [\(required.isEmpty ? ":" : required.joined(separator: ", "))]")
            lines += optional.map { "    \($0)" }
            if stream.takesAnyParameters { lines.append("    params.merge(others) { typed, _ in typed }") }
            lines.append("    return database.syncStream(name: \(name), params: params)")
        }
        return lines + ["}"]
    }

    /// The parameter in a function's head; `database` and `params` are taken by the body.
    private func label(_ name: String) -> String {
        let (label, local) = (SwiftName.quoted(name), local(name))
        return label == local ? label : "\(label) \(local)"
    }

    private func local(_ name: String) -> String {
        ["database", "params", "others"].contains(name) ? name + "_" : SwiftName.quoted(name)
    }

    private func parameterType(_ parameter: ClientModel.Stream.Parameter) -> String {
        guard let type = parameter.type else { return "JsonValue" }
        // Days and decimals are compared as text.
        let name = [.date, .decimal].contains(type) ? "String" : swiftType(type, isOptional: false)
        return parameter.isArray ? "[\(name)]" : name
    }

    private func value(of parameter: ClientModel.Stream.Parameter, _ name: String) -> String {
        guard let type = parameter.type else { return name }
        let kind =
            switch type {
            case .text, .date, .decimal, .bytes: "string"
            case .integer: "int"
            case .real: "double"
            case .boolean: "bool"
            }
        return parameter.isArray ? ".array(\(name).map { .\(kind)($0) })" : ".\(kind)(\(name))"
    }
}

extension String {
    /// The text in a comment, on one line.
    fileprivate var inComment: String {
        String(UnicodeScalarView(unicodeScalars.filter { $0.properties.generalCategory != .control && $0 != "`" }))
    }
}
