import PowerSyncCoreTestSupport

@testable import PowerSyncCore

/// The schema of a client that plays random transcripts.
struct TranscriptSchema: Equatable {
    /// What becomes of rows of the type `other`.
    enum Other: CaseIterable {
        /// They have no table.
        case untyped
        /// They have a table.
        case synced
        /// They have none, since that of their name is the app's alone.
        case localOnly
    }

    /// Whether rows of the type `notes` go to a table of the app.
    var hasRawTable: Bool
    var other = Other.untyped
    /// Whether `items` has a column more.
    var hasExtraColumn = false
    /// Whether `items` has an index.
    var hasIndex = false

    var clientSchema: ClientSchema {
        let column = ClientColumn(name: "col", type: .text)
        var items = ClientTable.items(
            hasExtraColumn ? [column, ClientColumn(name: "extra", type: .integer)] : [column]
        )
        if hasIndex { items.indexes = [ClientIndex(name: "col", columns: [.init(name: "col")])] }
        var tables = [items]
        if other != .untyped {
            var other = ClientTable.items(isLocalOnly: self.other == .localOnly)
            other.name = "other"
            tables.append(other)
        }
        let raw = ClientRawTable(
            name: "notes",
            structure: .init(tableName: "local_notes"),
            clear: "DELETE FROM local_notes"
        )
        return ClientSchema(tables: tables, rawTables: hasRawTable ? [raw] : [])
    }
}

extension TranscriptSchema: CustomStringConvertible {
    var description: String {
        "other \(other), \(hasRawTable ? "raw table" : "no raw table"), extra column \(hasExtraColumn), index \(hasIndex)"
    }
}
