import Foundation
import PowerSyncCore
import PowerSyncProtocol

// Entries of the upload queue are typed by the kinds of the schema at the moment of reading.
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
}
