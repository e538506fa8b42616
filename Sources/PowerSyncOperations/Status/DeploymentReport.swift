package import PowerSyncProtocol
import PowerSyncTerminal

/// What deploying a sync config does with each stream, as the admin API says it.
package struct DeploymentReport: Sendable, Encodable {
    /// What becomes of a stream.
    package struct Stream: Sendable, Encodable {
        /// The name.
        package var name: String
        /// `kept`, `read` or `removed`.
        package var change: String
        /// Why, as a part of a sentence.
        package var reason: String
        /// The tables that are read for it, as the sync config names them.
        package var tables: [String]
        /// About how many rows there are of them, by their names in the source; those of which nothing is known are not there.
        package var estimatedRows: [String: Int64]

        private enum CodingKeys: String, CodingKey {
            case name, change, reason, tables
            case estimatedRows = "estimated_rows"
        }
    }

    /// Why all tables are read; `nil` when what is the same is kept.
    package var everythingIsRead: String?
    /// The streams of the new config in its order, then those that are not in it.
    package var streams: [Stream]

    private enum CodingKeys: String, CodingKey {
        case everythingIsRead = "everything_is_read"
        case streams
    }

    /// Reads the `data` of `/api/sync-rules/v1/deploy`.
    package init(_ data: JSONObject) {
        if case .string(let reason) = data["everything_is_read"] { everythingIsRead = reason }
        streams = data.entries("streams").map { stream in
            var tables: [String] = []
            if case .array(let names) = stream["tables"] {
                tables = names.map { if case .string(let name) = $0 { name } else { $0.text } }
            }
            var rows: [String: Int64] = [:]
            if case .object(let counts) = stream["estimated_rows"] {
                for member in counts.members {
                    if case .integer(let count) = member.value { rows[member.name] = count }
                }
            }
            return Stream(
                name: stream.string("name"),
                change: stream.string("change"),
                reason: stream.string("reason"),
                tables: tables,
                estimatedRows: rows
            )
        }
    }

    /// What to print: a line for each stream, and one before them if everything is read.
    package var lines: [String] {
        let everything = everythingIsRead.map { ["all tables are read: \($0)"] } ?? []
        let each = streams.map { stream in
            var change = stream.change
            if !stream.tables.isEmpty { change += " from \(stream.tables.joined(separator: ", "))" }
            if !stream.estimatedRows.isEmpty {
                let total = stream.estimatedRows.values.reduce(Int64(0)) { $0.addingReportingOverflow($1).partialValue }
                change += " (about \(total.counted("row")))"
            }
            return "\(stream.name): \(change): \(stream.reason)"
        }
        return (everything + each).map { TerminalText.line($0) }
    }
}
