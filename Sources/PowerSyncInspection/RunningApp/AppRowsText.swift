import PowerSyncProtocol
import PowerSyncTerminal

/// The rows of a query in an app as a table for people.
struct AppRowsText {
    private let result: JSONObject

    /// Reads an answer to a query.
    init(_ result: JSONObject) {
        self.result = result
    }

    /// The lines, the number of rows the last one.
    var lines: [String] {
        let rows = array(result["rows"]).map { array($0).map(cell) }
        let table = TextTable(header: array(result["columns"]).map(cell), rows: rows)
        let count = rows.count.counted("row")
        return table.lines + [result["isComplete"] == false ? "\(count), and there are more" : count]
    }

    private func array(_ value: ExactJSON?) -> [ExactJSON] {
        if case .array(let elements)? = value { elements } else { [] }
    }

    private func cell(_ value: ExactJSON) -> String {
        switch value {
        case .null: "NULL"
        // Escaped here, where the widths of columns are measured.
        case .string(let text): TerminalText.line(text)
        case .object(let object):
            switch object.members.first?.value {
            case .string(let number)? where object.members.first?.name == "real": number
            case .string(let base64)?: "blob \(base64)"
            default: object.text
            }
        case .bool, .integer, .double, .array: value.text
        }
    }
}
