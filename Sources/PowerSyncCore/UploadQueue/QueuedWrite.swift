package import PowerSyncProtocol

/// One entry of the upload queue: a row of `ps_crud` (`database.md` 16).
package struct QueuedWrite: Sendable, Hashable {
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
    /// Reads the text of an entry.
    ///
    /// Members may come in any order, and unknown ones are ignored.
    ///
    /// - Throws: ``LocalDatabaseError`` with code `corruptLocalData`, naming the entry and the member.
    init(id: Int64, transactionID: Int64?, text: String) throws {
        func corrupt(_ what: String, _ error: (any Error)? = nil) -> LocalDatabaseError {
            LocalDatabaseError(
                .corruptLocalData,
                "invalid local data: entry \(id) of the upload queue (ps_crud) \(what)",
                underlyingError: error
            )
        }
        let entry: JSONObject
        do {
            entry = try JSONObject(parsing: text)
        } catch {
            throw corrupt("is not a JSON object", error)
        }
        func object(_ name: String) throws -> JSONObject? {
            switch entry[name] {
            case nil, .null: return nil
            case .object(let object): return object
            default: throw corrupt("has a member '\(name)' that is not an object")
            }
        }
        guard case .string(let operation)? = entry["op"], let kind = Kind(rawValue: operation) else {
            throw corrupt("has no known member 'op'")
        }
        guard case .string(let table)? = entry["type"] else { throw corrupt("has no text member 'type'") }
        guard case .string(let rowID)? = entry["id"] else { throw corrupt("has no text member 'id'") }
        var metadata: String?
        if case .string(let text)? = entry["metadata"] {
            metadata = text
        }
        self.init(
            id: id,
            transactionID: transactionID,
            kind: kind,
            table: table,
            rowID: rowID,
            data: try object("data"),
            previousValues: try object("old"),
            metadata: metadata
        )
    }
}
