import PowerSyncBackend
import PowerSyncSQLite
package import PowerSyncServiceCore
package import PowerSyncUpload

/// The write endpoint for development (docs/service.md "The embedded source").
extension EmbeddedSource: WritableSource {
    package var writable: (any WritableSource)? { self }

    package func apply(_ upload: UploadRequest, for userID: String) async throws -> UploadResponse {
        guard !upload.entries.isEmpty else { return UploadResponse(appliedThrough: nil) }
        try checkFiles()
        let applier = SQLiteUploadApplier(pool) { _, _ in .apply }
        let response: UploadResponse
        do {
            // A table that has just been made gets its triggers before its first row.
            try await synchroniseCapture()
            response = try await applier.apply(upload, for: BackendUser(id: userID))
        } catch {
            // A connection that is opened without them fails in another way.
            try checkFiles()
            throw error
        }
        // Before the write is acknowledged: the contents of a file without a name are gone with the process.
        try checkFiles()
        signal.advance()
        return response
    }

    package func row(_ id: String, of table: String) async throws -> WrittenRow? {
        // Names that differ in their case are the same to SQLite.
        let captured = capture.tables.first { $0.name.lowercased() == table.lowercased() }
        guard let captured, let sql = captured.rowQuery else { return nil }
        return try await pool.uncancelledRead { db in
            let statement = try PreparedStatement(db, sql: sql)
            defer { statement.reset() }
            statement.bind(id, at: 1)
            guard try statement.step() else { return nil }
            return WrittenRow(table: captured.descriptor.name, row: statement.row(of: captured.layout, from: 0))
        }
    }
}
