/// Where the files of a queue are.
struct AttachmentPaths: Sendable {
    /// The directory that files must be in; `nil` when the app maps names to paths by itself.
    let directory: String?
    /// Maps a file name to a path.
    let locate: @Sendable (_ filename: String) async -> String

    /// The path of a file, checked by the rules of `attachments.md` 12.3.
    ///
    /// - Throws: ``PowerSyncAttachmentError/invalidPath(_:)``
    @Sendable
    func path(of filename: String) async throws -> String {
        try AttachmentPath.check(filename: filename)
        let path = await locate(filename)
        if let directory { try AttachmentPath.check(path: path, inside: directory) }
        return path
    }
}
