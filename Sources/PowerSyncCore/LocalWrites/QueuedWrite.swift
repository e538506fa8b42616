import GRDB
package import PowerSyncProtocol
package import PowerSyncSQLite

/// One entry of the upload queue: a row of `ps_crud` (docs/database.md "Queue entries").
package struct QueuedWrite: Sendable, Hashable {
    /// Something in a stored entry that cannot be what it should be.
    ///
    /// An earlier version, another implementation or a trigger of the app has written it. Whatever it is, it must not keep the
    /// entries behind it from being uploaded: so the entry has what can be read, and this.
    package struct Damage: Sendable, Hashable {
        /// What is stored; bytes that are no text as U+FFFD.
        package var rawText: String
        /// What is wrong, naming the entry and the member.
        package var reason: String
    }

    /// What happened to the row.
    package enum Kind: String, Sendable, Hashable {
        /// The row was inserted or replaced; `data` has all columns that are not null.
        case put = "PUT"
        /// Columns were changed; `data` has exactly those, null included.
        case patch = "PATCH"
        /// The row was deleted; there is no `data`.
        case delete = "DELETE"
    }

    /// The position in the queue.
    ///
    /// Grows for the lifetime of the file.
    package var id: Int64
    /// The SQL transaction that made the write; `nil` in entries of the oldest files.
    package var transactionID: Int64?
    /// What happened.
    package var kind: Kind
    /// The table's name in the client schema (never the view's).
    package var table: String
    /// The row's id.
    package var rowID: String
    /// The new values.
    package var data: JSONObject?
    /// The values before the write, if the table tracks them.
    package var previousValues: JSONObject?
    /// The text that the application attached to the write.
    package var metadata: String?
    /// What of the stored entry could not be read; `nil` for an entry as it should be.
    package var damage: Damage?

    /// Creates an entry.
    package init(
        id: Int64,
        transactionID: Int64?,
        kind: Kind,
        table: String,
        rowID: String,
        data: JSONObject? = nil,
        previousValues: JSONObject? = nil,
        metadata: String? = nil
    ) {
        self.id = id
        self.transactionID = transactionID
        self.kind = kind
        self.table = table
        self.rowID = rowID
        self.data = data
        self.previousValues = previousValues
        self.metadata = metadata
    }
}

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
