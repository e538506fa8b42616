import Foundation
import PowerSyncCore
import PowerSyncProtocol
import PowerSyncSQLite

/// The kinds of the columns of a schema, for what reads its upload queue and writes its rows.
struct ColumnKinds: Sendable {
    /// The kinds of a table by the names of its columns, without those that have none.
    typealias Columns = [String: ClientColumn.Kind]

    private var byTable: [ExactText: Columns] = [:]
    private var byView: [ExactText: Columns] = [:]

    /// Takes the kinds of a schema; none without one.
    init(_ schema: ClientSchema?) {
        for table in schema?.tables ?? [] {
            let kinds = table.columns.compactMap { column in column.kind.map { (column.name, $0) } }
            guard !kinds.isEmpty else { continue }
            let columns = Dictionary(kinds) { $1 }
            byTable[ExactText(table.name)] = columns
            byView[ExactText(ignoringCaseOf: table.viewName)] = columns
        }
    }

    /// The kinds of a table.
    ///
    /// - Parameter name: The name in the upload queue.
    /// - Returns: The kinds; none for a table that the schema does not have.
    func columns(ofTable name: String) -> Columns { byTable[ExactText(name)] ?? [:] }

    /// The kinds of a view or a direct table.
    ///
    /// - Parameter name: The name in SQL, in any case.
    /// - Returns: The kinds; none for a table of the app.
    func columns(ofView name: String) -> Columns {
        byView.isEmpty ? [:] : byView[ExactText(ignoringCaseOf: name)] ?? [:]
    }
}

extension ColumnKinds {
    /// A value of a kind; `nil` when it does not fit, or is one already.
    static func value(of value: JsonValue, _ kind: ClientColumn.Kind) -> JsonValue? {
        switch (kind, value) {
        case (.boolean, .int(let number)) where number == 0 || number == 1:
            .bool(number == 1)
        case (.json, .string(let text)):
            (try? ExactJSON(parsing: text)).map(JsonValue.init)
        case (.date, .string(let text)) where text.utf8.count > "YYYY-MM-DD".utf8.count && !text.hasSuffix("Z"):
            ISO8601Text.date(text).flatMap(ISO8601Text.text).map(JsonValue.string)
        case (.decimal, .int(let number)):
            .string(String(number))
        case (.decimal, .double(let number)):
            .string(JSONText.number(number))
        case (.uuid, .string(let text)) where UUID(uuidString: text) != nil:
            .string(text.lowercased())
        case (.boolean, _), (.json, _), (.date, _), (.decimal, _), (.uuid, _):
            nil
        }
    }
}
