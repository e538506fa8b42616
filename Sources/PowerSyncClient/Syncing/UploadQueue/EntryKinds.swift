import Foundation
import PowerSyncCore
import PowerSyncProtocol
import PowerSyncSQLite

/// The kinds of columns by which entries of the upload queue are typed: those of the schema at the moment of reading.
struct EntryKinds: Sendable {
    private var kinds: [ExactText: [String: ClientColumn.Kind]] = [:]

    /// Takes the kinds of a schema; none without one.
    init(_ schema: ClientSchema?) {
        for table in schema?.tables ?? [] {
            let columns = table.columns.compactMap { column in column.kind.map { (column.name, $0) } }
            if !columns.isEmpty { kinds[ExactText(table.name)] = Dictionary(columns) { $1 } }
        }
    }

    /// Takes the kinds of the schema of a database; none for a database of the app that is not ours.
    init(of database: any PowerSyncDatabaseProtocol) {
        self.init(SyncedDatabase.behind(database)?.local.currentSchema)
    }

    /// Values with the kinds of their columns.
    func typed(_ values: JsonParam, table: String) -> JsonParam {
        guard let kinds = kinds[ExactText(table)] else { return values }
        return values.reduce(into: values) { values, member in
            guard let kind = kinds[member.key], let typed = Self.value(of: member.value, kind) else { return }
            values[member.key] = typed
        }
    }

    /// A value of a kind; `nil` when it does not fit, or is one already.
    private static func value(of value: JsonValue, _ kind: ClientColumn.Kind) -> JsonValue? {
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
