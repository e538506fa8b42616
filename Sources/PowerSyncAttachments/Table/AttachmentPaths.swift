import PowerSyncClient

/// Where the files of a queue are.
struct AttachmentPaths: Sendable {
    /// The directory that files must be in; `nil` when the app maps names to paths by itself.
    let directory: String?
    /// Maps a file name to a path.
    let locate: @Sendable (_ filename: String) async -> String

    /// The name of a new file: `<id>.<extension>`, with the extension `attachment` when there is none.
    static func newFilename(id: String, fileExtension: String?) -> String {
        let fileExtension = fileExtension ?? ""
        return "\(id).\(fileExtension.isEmpty ? "attachment" : fileExtension)"
    }

    /// The name of the file of a new reference, checked.
    ///
    /// - Parameters:
    ///   - item: The reference.
    ///   - newFilename: Makes the name when the reference has none.
    /// - Returns: The name.
    /// - Throws: ``PowerSyncAttachmentError/invalidPath(_:)``
    func filename(
        of item: WatchedAttachmentItem,
        newFilename: (_ id: String, _ fileExtension: String?) async -> String = AttachmentPaths.newFilename
    ) async throws -> String {
        let filename: String
        if let name = item.filename {
            filename = name
        } else {
            if let fileExtension = item.fileExtension { try AttachmentPath.check(fileExtension: fileExtension) }
            filename = await newFilename(item.id, item.fileExtension)
        }
        _ = try await path(of: filename)
        return filename
    }

    /// The path of a file, checked by ``AttachmentPath``.
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
