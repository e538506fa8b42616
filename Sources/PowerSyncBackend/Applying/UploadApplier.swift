public import PowerSyncUpload

/// Applies uploads of clients to the tables of an app.
///
/// ```swift
/// let response = try await applier.apply(UploadRequest(json: body), for: user)
/// ```
///
/// There is one for each kind of database: ``SQLiteUploadApplier``, `PostgresUploadApplier` in the product `PowerSyncBackendPostgres`,
/// and `MySQLUploadApplier` in `PowerSyncBackendMySQL`.
public protocol UploadApplier: Sendable {
    /// Applies a request.
    ///
    /// - Parameters:
    ///   - request: What the client has sent.
    ///   - user: The user of the client, as the backend has found out; never taken from the request.
    /// - Returns: What to answer. When it is there, everything that it calls applied is committed.
    /// - Throws: When nothing could be applied; the client sends everything again then. `UploadFormatError` when the request itself is
    ///   not one.
    func apply(_ request: UploadRequest, for user: BackendUser) async throws -> UploadResponse
}
