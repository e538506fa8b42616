package import PowerSyncProtocol

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
