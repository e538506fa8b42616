package import Foundation

/// Makes files and folders that only the user of the process may use, whatever the umask.
///
/// Rows of all users of an app are in them. What is there already keeps its mode: the app may have opened it to a program that makes
/// backups.
package enum PrivateFiles {
    /// Its user reads and writes a file.
    package static let fileMode: mode_t = 0o600
    /// Its user lists and changes a folder.
    package static let folderMode: mode_t = 0o700

    /// Makes an empty file, unless something is there.
    ///
    /// For a database before SQLite opens it: the files beside it (`-wal`, `-shm`, `-journal`) get the mode of the database. An error is left to
    /// the opener of the file, which meets it, too.
    package static func createFile(at path: String) {
        #if os(Linux)
        // Without a descriptor: closing one loses the locks that SQLite has in this process on the same file.
        guard unsafe mknod(path, S_IFREG | fileMode, 0) == 0 else { return }
        #else
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, fileMode)
        guard descriptor >= 0 else { return }
        close(descriptor)
        #endif
        // The umask may have taken bits away.
        unsafe chmod(path, fileMode)
    }

    /// Makes a folder and those above it that are missing.
    ///
    /// - Parameter path: The folder; nothing happens when it is there.
    /// - Throws: `POSIXError`, `ENOTDIR` when something else is there.
    package static func createFolder(at path: String) throws {
        if try makeFolder(path) { return }
        try createFolder(at: URL(fileURLWithPath: path).deletingLastPathComponent().path)
        guard try makeFolder(path) else { throw POSIXError(.ENOENT) }
    }

    /// Makes a folder in one that is there.
    ///
    /// - Returns: Whether the one above it is there.
    private static func makeFolder(_ path: String) throws -> Bool {
        if unsafe mkdir(path, folderMode) == 0 {
            // The umask may have taken bits away.
            unsafe chmod(path, folderMode)
            return true
        }
        let code = errno
        switch code {
        case ENOENT: return false
        case EEXIST:
            var isFolder: ObjCBool = false
            guard unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
                throw POSIXError(.ENOTDIR)
            }
            return true
        default: throw POSIXError(code: code)
        }
    }
}
