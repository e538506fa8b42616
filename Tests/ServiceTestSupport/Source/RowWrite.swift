package import PowerSyncSyncConfig
package import TestSupport

/// A write to a source, by somebody who knows nothing about the service.
///
/// Keys are texts in a column `id`. What a table that is not there would get is lost.
package enum RowWrite: Sendable {
    /// A new row; nothing when there is one with the id. Columns that are not named are NULL.
    case insert(String, id: String, [String: SQLValue] = [:])
    /// Changes columns of a row, the id among them; nothing when there is no row, or one with the new id.
    case update(String, id: String, [String: SQLValue])
    case delete(String, id: String)
    /// All rows at once.
    case truncate(String)

    package var table: String {
        switch self {
        case .insert(let table, _, _), .update(let table, _, _), .delete(let table, _), .truncate(let table): table
        }
    }
}

/// A change of the tables of a source, by somebody who knows nothing about the service.
package enum TableChange: Sendable {
    /// A table with these columns; the first one is `id`.
    case create(String, columns: [String])
    case drop(String)
    case addColumn(String, to: String)
}

extension RowWrite {
    /// A write of a few rows.
    package static func random(_ random: inout SeededGenerator) -> RowWrite {
        let id = "r\(random.number(below: 8))"
        let number = SQLValue.integer(Int64(random.number(below: 100)))
        return switch random.number(below: 12) {
        case 0...3: .insert("items", id: id, ["name": number, "body": .text("body \(random.number(below: 4))")])
        case 4, 5: .update("items", id: id, ["name": number])
        case 6: .update("items", id: id, ["body": .text("body \(random.number(below: 4))")])
        case 7: .update("items", id: id, ["id": .text("r\(random.number(below: 8))")])
        case 8: .update("items", id: id, ["id": .text("r\(random.number(below: 8))"), "name": number])
        case 9, 10: .delete("items", id: id)
        default: random.number(below: 4) == 0 ? .truncate("items") : .delete("items", id: id)
        }
    }
}

extension SQLValue {
    /// A number, which a source may have as a text.
    package var number: Int64? {
        switch self {
        case .integer(let number): number
        case .text(let text): Int64(text)
        default: nil
        }
    }
}
