import Foundation
import GRDB
import PowerSyncSQLite

/// The database file of a client, looked at before SQLite opens it, and opened so that nothing is left beside it.
///
/// | File | How it is opened |
/// | --- | --- |
/// | with a write-ahead log, or not in WAL mode | beside other connections: `mode=ro` |
/// | in WAL mode, with neither `-wal` nor `-shm` | `immutable=1`; else SQLite would make both files and leave them |
/// | of the first kind, where SQLite may not make what it needs | a copy in a temporary folder, with its `-wal` or `-journal` |
///
/// A symbolic link is followed first: SQLite, too, has the other files beside what the link leads to.
///
/// A file that was opened as immutable is checked for changes afterwards, since an app may start meanwhile.
struct ClientFile {
    /// What a file system says about a file; equal values mean that nobody has written to it.
    private struct Version: Equatable {
        var size: Int64
        var modified: Date?
        var logExists: Bool
    }

    /// The absolute path, without symbolic links.
    let path: String
    /// The size of the file in bytes.
    let size: Int64
    /// The size of the write-ahead log in bytes; 0 without one.
    let logSize: Int64
    /// Whether the file is in WAL mode, or may be: that of an encrypted file is not seen from outside.
    let isWAL: Bool
    /// The key of an encrypted file.
    private let key: CipherKey?

    /// Looks at a file.
    ///
    /// - Parameters:
    ///   - path: Absolute, or relative to the current folder.
    ///   - key: The key of an encrypted file.
    /// - Throws: ``ClientFileError`` when there is no file, when it is empty, or no SQLite database.
    init(path: String, key: CipherKey? = nil) throws(ClientFileError) {
        let url = URL(filePath: path).standardizedFileURL.resolvingSymlinksInPath()
        self.path = url.path
        var isFolder: ObjCBool = false
        guard unsafe FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
            throw ClientFileError(.missing, "\(path) does not exist; name the database file of a client")
        }
        guard !isFolder.boolValue else {
            throw ClientFileError(.folder, "\(path) is a folder; name the database file in it")
        }
        size = Self.size(of: url.path) ?? 0
        logSize = Self.size(of: url.path + "-wal") ?? 0
        guard let start = try? Self.start(of: url.path) else {
            throw ClientFileError(.unreadable, "\(path) cannot be read; check its permissions")
        }
        guard !start.isEmpty else {
            throw ClientFileError(
                .empty,
                logSize == 0
                    ? "\(path) is empty: no client has written to it yet"
                    : "\(path) is empty, but it has a write-ahead log; open it with the app first, or copy all files of it"
            )
        }
        guard start.starts(with: Array("SQLite format 3\0".utf8)), start.count >= 100 else {
            if key != nil {
                (isWAL, self.key) = (true, key)
                return
            }
            throw Self.looksEncrypted(start, size: size)
                ? ClientFileError(
                    .encrypted,
                    """
                    \(path) seems to be encrypted: it has no header of SQLite and looks like random bytes. Give its key with \
                    --key-file
                    """
                )
                : ClientFileError(.notSQLite, "\(path) is not an SQLite database")
        }
        isWAL = start[18] == 2 || start[19] == 2
        self.key = key.map { $0.withPlainHeader ?? $0 }
    }

    /// Hands over a connection, inside one read transaction.
    ///
    /// - Parameter body: Reads. Called a second time when the file has changed under the first call.
    /// - Returns: What `body` returns.
    /// - Throws: ``ClientFileError`` when SQLite cannot open the file, and what `body` throws.
    func read<Result>(_ body: (ReadOnlyConnection) throws -> Result) throws -> Result {
        if isWAL, !exists("-wal"), !exists("-shm"), !exists("-journal") {
            let before = version
            let result = Swift.Result<Result, any Error> { try read(path, .immutable, body) }
            if version == before { return try result.get() }
        }
        do {
            return try read(path, .shared, body)
        } catch let error as DatabaseError where error.needsFiles {
            return try readCopy(body)
        }
    }

    private func read<Result>(
        _ path: String,
        _ mode: ReadOnlyConnection.Mode,
        _ body: (ReadOnlyConnection) throws -> Result
    ) throws -> Result {
        let connection: ReadOnlyConnection
        do {
            connection = try ReadOnlyConnection(path: path, mode, key: key)
            try connection.run("BEGIN")
            _ = try connection.integer("SELECT count(*) FROM sqlite_master")
        } catch let error as DatabaseError where !error.needsFiles {
            throw ClientFileError(error, path: self.path, hasKey: key != nil)
        }
        return try body(connection)
    }

    /// Reads a copy, where SQLite may write what it needs.
    func readCopy<Result>(_ body: (ReadOnlyConnection) throws -> Result) throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "powersync-inspect-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let copy = folder.appending(path: "client.db").path
        do {
            try PrivateFiles.createFolder(at: folder.path)
            for suffix in ["", "-wal", "-journal"] where FileManager.default.fileExists(atPath: path + suffix) {
                try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
            }
        } catch {
            throw ClientFileError(
                .unreadable,
                "\(path) cannot be opened where it is, and not be copied to \(folder.path): \(error.localizedDescription)"
            )
        }
        do {
            return try read(copy, .copy, body)
        } catch let error as DatabaseError where error.needsFiles {
            throw ClientFileError(error, path: path, hasKey: key != nil)
        }
    }

    private var version: Version {
        Version(
            size: Self.size(of: path) ?? 0,
            modified: (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date,
            logExists: exists("-wal")
        )
    }

    private func exists(_ suffix: String) -> Bool {
        FileManager.default.fileExists(atPath: path + suffix)
    }

    private static func size(of path: String) -> Int64? {
        ((try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? NSNumber)?.int64Value
    }

    private static func start(of path: String) throws -> Data {
        let handle = try FileHandle(forReadingFrom: URL(filePath: path))
        defer { try? handle.close() }
        return try handle.read(upToCount: 1_024) ?? Data()
    }

    /// Whether a file may be a database of SQLCipher: whole pages, the first of which is as random as bytes get.
    ///
    /// Of 1,024 random bytes about 251 are different; texts and most other files have far fewer.
    private static func looksEncrypted(_ start: Data, size: Int64) -> Bool {
        size % 512 == 0 && start.count == 1_024 && Set(start).count > 230
    }
}

extension DatabaseError {
    /// Whether SQLite could not make a file beside the database, or not roll back what a process has left behind.
    fileprivate var needsFiles: Bool {
        resultCode == .SQLITE_CANTOPEN || resultCode == .SQLITE_READONLY || resultCode == .SQLITE_PERM
    }
}

extension ClientFileError {
    /// What SQLite says when it opens a file.
    fileprivate init(_ error: DatabaseError, path: String, hasKey: Bool) {
        let message = error.message ?? "error \(error.extendedResultCode.rawValue)"
        switch error.resultCode {
        case .SQLITE_NOTADB where hasKey:
            self.init(
                .wrongKey,
                "\(path) was encrypted with another key, or is not encrypted, or damaged at its beginning"
            )
        case .SQLITE_NOTADB: self.init(.notSQLite, "\(path) is not an SQLite database, or encrypted behind its header")
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self.init(.inUse, "\(path) is locked by another process; try again when the app is idle or closed")
        case .SQLITE_CORRUPT:
            self.init(
                .unreadable,
                "\(path) is damaged so that SQLite cannot read which tables it has: \(message). Restore it, or delete it and sync again"
            )
        default: self.init(.unreadable, "\(path) cannot be opened: \(message)")
        }
    }
}
