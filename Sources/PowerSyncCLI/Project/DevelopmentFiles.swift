import Foundation

/// Files that `powersync dev` writes at each start, so that requests to paste are short: headers and bodies for `curl`, and tokens.
///
/// | File | What is in it |
/// | --- | --- |
/// | `user-1` | the headers of requests of the user `user-1`, for `curl -H @user-1` |
/// | `user-1.token` | the token alone, for an app on this machine |
/// | `json.headers` | the header of a request without a token |
/// | `write.json` | an upload of one row |
struct DevelopmentFiles {
    /// The folder: `data/dev`.
    let folder: URL
    /// The folder in which commands are run; paths of files below it are relative to it.
    let workingFolder: URL

    /// Only the user of the process reads and writes a file.
    private static let fileMode = 0o600
    /// Only the user of the process lists and changes a folder.
    private static let folderMode = 0o700

    private static let contentType = "Content-Type: application/json\n"

    /// Creates files; nothing is written.
    ///
    /// - Parameters:
    ///   - database: The database file beside which the folder is.
    ///   - workingFolder: The folder in which commands are run.
    init(beside database: String, workingFolder: String) {
        folder = URL(filePath: database).deletingLastPathComponent().appending(path: "dev")
        self.workingFolder = URL(filePath: workingFolder, directoryHint: .isDirectory)
    }

    /// The name of the file with the headers of a user.
    ///
    /// Other characters than ASCII letters, digits, `-` and `_` are escaped as in a URL, so that a name is never a path, and never that
    /// of another file.
    static func name(of user: String) -> String {
        guard !user.isEmpty else { return "%" }
        var allowed = CharacterSet(charactersIn: "a"..."z")
        allowed.insert(charactersIn: "A"..."Z")
        allowed.insert(charactersIn: "0"..."9")
        allowed.insert(charactersIn: "-_")
        return user.addingPercentEncoding(withAllowedCharacters: allowed) ?? "%"
    }

    /// The path of a file for a command: relative to the folder in which commands are run, if it is below it.
    func path(_ name: String) -> String {
        let path = absolutePath(name)
        let working = workingFolder.standardizedFileURL.path(percentEncoded: false)
        return path.hasPrefix(working) ? String(path.dropFirst(working.count)) : path
    }

    /// The path of a file from anywhere.
    func absolutePath(_ name: String) -> String {
        folder.appending(path: name).standardizedFileURL.path(percentEncoded: false)
    }

    /// Writes the files.
    ///
    /// - Parameters:
    ///   - tokens: The tokens by their users.
    ///   - upload: The body of an upload; `nil` without a table.
    /// - Throws: An error of the file system.
    func write(tokens: [String: String], upload: String?) throws {
        try FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: Self.folderMode]
        )
        for (user, token) in tokens {
            let name = Self.name(of: user)
            try write("Authorization: Token \(token)\n\(Self.contentType)", to: name)
            try write(token, to: "\(name).token")
        }
        try write(Self.contentType, to: "json.headers")
        if let upload { try write(upload, to: "write.json") }
    }

    private func write(_ text: String, to name: String) throws {
        let path = absolutePath(name)
        guard
            FileManager.default.createFile(
                atPath: path,
                contents: Data(text.utf8),
                attributes: [.posixPermissions: Self.fileMode]
            )
        else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: path]) }
    }
}
