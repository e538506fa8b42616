public import PowerSyncUpload

extension UploadEntry {
    /// What a backend gets of a local write.
    ///
    /// ```swift
    /// import PowerSync
    /// import PowerSyncUpload
    ///
    /// let request = UploadRequest(
    ///     clientID: try await database.getClientId(),
    ///     entries: transaction.crud.map(UploadEntry.init)
    /// )
    /// ```
    ///
    /// - Parameter entry: The write. Of a damaged one, what could be read.
    public init(_ entry: CrudEntry) {
        self.init(
            operationID: entry.clientId,
            op: entry.op,
            table: entry.table,
            id: entry.id,
            transactionID: entry.transactionId,
            data: entry.opDataTyped,
            previousValues: entry.previousValuesTyped,
            metadata: entry.metadata
        )
    }
}

extension CrudEntry: Encodable {
    /// Encodes the entry as an `UploadEntry`, the form in which clients in other languages upload it.
    ///
    /// Foundation's `JSONEncoder` writes real numbers without a fraction as integers; `UploadRequest` does not.
    public func encode(to encoder: any Encoder) throws {
        try UploadEntry(self).encode(to: encoder)
    }
}
