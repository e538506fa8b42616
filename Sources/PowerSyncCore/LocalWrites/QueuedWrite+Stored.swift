import GRDB
import PowerSyncProtocol
package import PowerSyncSQLite

extension QueuedWrite {
    /// Reads the current row of a statement with the columns `id`, `tx_id` and `data` of `ps_crud`, whatever is in them.
    ///
    /// Members of the text may come in any order, and unknown ones are ignored. What cannot be read is in ``damage``; the entry
    /// has what can: numbers that no double can hold are the texts `Infinity` and `-Infinity`, `NaN` is null. Without a known
    /// operation it is a patch, without table or id these are empty, and a value that is no object is no data.
    init(currentRowOf statement: Statement) {
        // Not through GRDB, which ends texts at a NUL, and repairs what is not UTF-8 without a word.
        unsafe self.init(currentRowOf: PreparedStatement(borrowing: statement.sqliteStatement))
    }

    /// Reads the current row of a statement, as the initialiser above.
    package init(currentRowOf row: PreparedStatement) {
        let id = row.integer(at: 0)
        var damage = StoredEntryDamage(id)

        var transaction: Int64?
        switch row.storageClass(at: 1) {
        case .integer: transaction = row.integer(at: 1)
        case .null: break
        case .real, .text, .blob: damage.note("has a transaction id (ps_crud.tx_id) that is not an integer")
        }
        if row.storageClass(at: 2) != .text { damage.note("is not text (ps_crud.data)") }
        let text = unsafe row.blob(at: 2)
        let entry = unsafe Self.object(text, &damage)

        let kind = Self.text("op", of: entry, &damage).flatMap(Kind.init)
        if kind == nil { damage.note("has no known member 'op'") }
        let table = Self.text("type", of: entry, &damage)
        let rowID = Self.text("id", of: entry, &damage)
        let data = Self.object("data", of: entry, &damage)
        let previousValues = Self.object("old", of: entry, &damage)
        var metadata: String?
        if case .string(let text)? = entry["metadata"] { metadata = text }
        self.init(
            id: id,
            transactionID: transaction,
            kind: kind ?? .patch,
            table: table ?? "",
            rowID: rowID ?? "",
            data: data,
            previousValues: previousValues,
            metadata: metadata
        )
        self.damage = damage.reason.map { unsafe Damage(rawText: String(decoding: text, as: UTF8.self), reason: $0) }
    }

    private static func object(_ text: UnsafeRawBufferPointer, _ damage: inout StoredEntryDamage) -> JSONObject {
        do throws(JSONError) {
            return try unsafe JSONObject(parsing: ByteView(text))
        } catch {
            damage.note("is not a JSON object: \(error)")
            guard let repaired = unsafe JSONRepair.repaired(text, infinities: .texts) else { return JSONObject() }
            return (try? JSONObject(parsing: String(decoding: repaired, as: UTF8.self))) ?? JSONObject()
        }
    }

    private static func text(_ name: String, of entry: JSONObject, _ damage: inout StoredEntryDamage) -> String? {
        if case .string(let text)? = entry[name] { return text }
        damage.note("has no text member '\(name)'")
        return nil
    }

    private static func object(
        _ name: String,
        of entry: JSONObject,
        _ damage: inout StoredEntryDamage
    ) -> JSONObject? {
        switch entry[name] {
        case nil, .null: return nil
        case .object(let object): return object
        default:
            damage.note("has a member '\(name)' that is not an object")
            return nil
        }
    }
}

/// Collects what is wrong with one entry: the first thing, since the others follow from it.
private struct StoredEntryDamage {
    private let id: Int64
    private(set) var reason: String?

    init(_ id: Int64) {
        self.id = id
    }

    mutating func note(_ what: String) {
        reason = reason ?? "entry \(id) of the upload queue \(what)"
    }
}
