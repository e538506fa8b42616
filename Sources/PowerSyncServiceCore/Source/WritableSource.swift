package import PowerSyncUpload

/// A source that the service may write to, for development.
package protocol WritableSource: ReplicationSource {
    /// Applies what a client uploads, and wakes the replicator.
    ///
    /// There is no authorisation per row: every caller may write everything.
    ///
    /// - Parameters:
    ///   - upload: The writes, in order.
    ///   - userID: The user that has sent them: clients of several users are told apart.
    /// - Returns: What was applied, and what was not.
    /// - Throws: `UploadFormatError`, or an error of the source; the client sends everything again then.
    func apply(_ upload: UploadRequest, for userID: String) async throws -> UploadResponse
}
