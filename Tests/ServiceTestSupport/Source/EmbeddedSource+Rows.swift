package import PowerSyncServiceSQLite
package import PowerSyncUpload

extension EmbeddedSource {
    /// Puts rows into the table `lists` as an upload does, in one transaction.
    package func putLists(_ rows: KeyValuePairs<String, JsonParam>) async throws {
        let entries = rows.enumerated().map { index, row in
            UploadEntry(
                operationID: Int64(index) + 1,
                op: .put,
                table: "lists",
                id: row.key,
                transactionID: 1,
                data: row.value
            )
        }
        let response = try await apply(UploadRequest(clientID: nil, entries: entries), for: "u1")
        guard response.rejections.isEmpty else { throw RowsRejected(rejections: response.rejections) }
    }

    package struct RowsRejected: Error {
        package let rejections: [EntryRejection]
    }
}
