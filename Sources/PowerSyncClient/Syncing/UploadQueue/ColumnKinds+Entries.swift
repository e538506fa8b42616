import Foundation
import PowerSyncCore
import PowerSyncProtocol

// Entries of the upload queue are typed by the kinds of the schema at the moment of reading, rows of a table by those of the table.
extension ColumnKinds {
    /// Takes the kinds of the schema of a database; none for a database of the app that is not ours.
    init(of database: any PowerSyncDatabaseProtocol) {
        self = SyncedDatabase.behind(database)?.local.kinds ?? ColumnKinds(nil)
    }

    /// Values with the kinds of their columns.
    func typed(_ values: JsonParam, table: String) -> JsonParam {
        let kinds = columns(ofTable: table)
        guard !kinds.isEmpty else { return values }
        return values.reduce(into: values) { values, member in
            guard let kind = kinds[member.key], let typed = Self.value(of: member.value, kind) else { return }
            values[member.key] = typed
        }
    }

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
