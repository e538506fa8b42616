import GRDB

/// A kind of change: GRDB's `DatabaseEventKind` as the key of a dictionary.
struct ChangeKind: Hashable {
    enum Operation: Hashable {
        case insert, update, delete
    }

    let operation: Operation
    let table: String
    /// The columns of an update.
    let columns: Set<String>

    init(_ kind: DatabaseEventKind) {
        table = kind.tableName
        switch kind {
        case .insert: (operation, columns) = (.insert, [])
        case .delete: (operation, columns) = (.delete, [])
        case .update(_, let names): (operation, columns) = (.update, names)
        }
    }

    /// A change of a table that concerns everybody who is interested in any of it.
    init(ofAll table: String) {
        (operation, self.table, columns) = (.delete, table, [])
    }

    var event: DatabaseEventKind {
        switch operation {
        case .insert: .insert(tableName: table)
        case .delete: .delete(tableName: table)
        case .update: .update(tableName: table, columnNames: columns)
        }
    }

    var appendsToUploadQueue: Bool { operation == .insert && table == ChangeLedger.uploadQueue }
}
