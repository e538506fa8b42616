import PowerSyncSyncConfig

/// TypeScript for the package `@powersync/common`: rows are objects with the names of the columns.
struct TypeScriptSource {
    let code: ClientCode

    var lines: [String] {
        code.header + [
            "import { type AbstractPowerSyncDatabase, column, Schema, type SyncStream, Table } from '@powersync/common';",
            "",
        ] + schema + code.tables.flatMap { [""] + row($0) } + streams
    }

    private var schema: [String] {
        var lines = ["/** The tables of the client. */", "export const schema = new Schema({"]
        for each in code.tables {
            if let comment = ClientCode.leftOut(each.table) { lines.append("  \(comment)") }
            lines.append("  \(key(each.table.name)): new Table({")
            lines += each.table.columns.map { "    \(key($0.name)): column.\($0.type.column)," }
            lines.append("  }),")
        }
        return lines + ["});"]
    }

    private func row(_ table: ClientCode.Table) -> [String] {
        ["/** A row of table `\(table.table.name.inOneLine)`. */", "export interface \(table.type) {"]
            + table.columns.map { column, _ in
                "  \(key(column.name)): \(type(column.type))\(column.isOptional ? " | null" : "");"
            } + ["}"]
    }

    /// What a column reads as: a boolean is 0 or 1.
    private func type(_ type: DeclaredType) -> String {
        switch type {
        case .integer, .real, .boolean: "number"
        case .text, .decimal, .date, .bytes: "string"
        }
    }

    private var streams: [String] {
        guard !code.streams.isEmpty else { return [] }
        var lines = ["", "/** The streams that a database can subscribe to. */", "export const streams = {"]
        for each in code.streams {
            lines.append("  /** \(each.about) */")
            var parameters = ["database: AbstractPowerSyncDatabase"]
            let members = each.parameters.map { parameter, _ in
                "\(key(parameter.name))\(parameter.isOptional ? "?" : ""): \(self.type(of: parameter))"
            }
            let others = each.stream.takesAnyParameters
            if !members.isEmpty || others {
                let type = "{ \(members.joined(separator: "; ")) }"
                parameters.append(
                    "parameters: "
                        + (others ? (members.isEmpty ? "" : "\(type) & ") + "Record<string, unknown>" : type)
                )
            }
            let arguments = [literal(each.stream.name)] + (parameters.count > 1 ? ["parameters"] : [])
            lines.append("  \(key(each.function)): (\(parameters.joined(separator: ", "))): SyncStream =>")
            lines.append("    database.syncStream(\(arguments.joined(separator: ", "))),")
        }
        return lines + ["};"]
    }

    private func type(of parameter: ClientModel.Stream.Parameter) -> String {
        let type =
            switch parameter.type {
            case .integer?, .real?: "number"
            case .boolean?: "boolean"
            case .text?, .decimal?, .date?, .bytes?: "string"
            case nil: "unknown"
            }
        return parameter.isArray ? "\(type)[]" : type
    }

    /// A name as the key of an object.
    private func key(_ name: String) -> String {
        let isPlain = name.unicodeScalars.allSatisfy { $0.isASCII && ($0.properties.isXIDContinue || $0 == "_") }
        let begins = name.unicodeScalars.first.map { $0 == "_" || $0.properties.isXIDStart } ?? false
        return isPlain && begins ? name : literal(name)
    }

    private func literal(_ text: String) -> String { text.literal("'", escape: { "\\u{\($0)}" }) }
}
