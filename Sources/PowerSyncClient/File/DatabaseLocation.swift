import Foundation
import PowerSyncSQLite

/// Where a database lives.
enum DatabaseLocation: Sendable, Hashable {
    /// A private database in memory.
    case memory
    /// A file at an absolute path.
    case file(path: String)

    /// Finds the place that a file name stands for.
    ///
    /// | `dbFilename` | Place |
    /// | --- | --- |
    /// | `:memory:` | memory |
    /// | starts with `/` | that path |
    /// | anything else | inside the default directory |
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` for an empty name, a name with a NUL, a name that
    ///   leaves the default directory, or a platform without a place for application data.
    static func resolve(
        _ dbFilename: String,
        defaultDirectory: () throws -> URL = DatabaseLocation.defaultDirectory
    ) throws -> DatabaseLocation {
        if dbFilename == ":memory:" { return .memory }
        // SQLite would take the part before it for the name.
        guard !dbFilename.utf8.contains(0) else {
            throw PowerSyncError.fileNameWithNUL
        }
        if dbFilename.hasPrefix("/") { return .file(behind: dbFilename) }
        guard !dbFilename.isEmpty else {
            throw PowerSyncError.emptyFileName
        }
        guard !dbFilename.split(separator: "/").contains("..") else {
            throw PowerSyncError.fileNameLeavesDirectory(dbFilename)
        }
        return .file(behind: try defaultDirectory().appendingPathComponent(dbFilename).path)
    }

    /// The file that a path stands for.
    ///
    /// SQLite puts the log of a database beside its file, and not beside a link to it.
    static func file(behind path: String) -> DatabaseLocation {
        var path = path
        // As many links as Linux follows.
        for _ in 0..<40 {
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { break }
            let directory = URL(fileURLWithPath: path).deletingLastPathComponent()
            path = target.hasPrefix("/") ? target : directory.appendingPathComponent(target).path
        }
        return .file(path: path)
    }

    /// `databases` inside the user's directory for application data, on Linux `$XDG_DATA_HOME` or `~/.local/share`.
    static func defaultDirectory() throws -> URL {
        guard
            let support = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
        else {
            throw PowerSyncError.noDirectory
        }
        return support.appendingPathComponent("databases", isDirectory: true)
    }

    /// The place with symbolic links in its directory resolved: equal for two names of one file.
    ///
    /// `nil` in memory, where every database is its own.
    var identity: String? {
        guard case .file(let path) = self else { return nil }
        let url = URL(fileURLWithPath: path).standardizedFileURL
        return url.deletingLastPathComponent().resolvingSymlinksInPath()
            .appendingPathComponent(url.lastPathComponent).path
    }

    /// What tells the file behind connections of the app apart from others.
    ///
    /// - Parameter identifier: What the app calls the file: its path, or a name of its own.
    /// - Returns: The ``identity`` of a path; a name as it is.
    static func identity(of identifier: String) -> String {
        identifier.hasPrefix("/") ? file(behind: identifier).identity ?? identifier : identifier
    }

    /// Creates the missing parent directories and the file, for the user of the process alone; what is there stays as it is.
    func createFile() throws {
        guard case .file(let path) = self else { return }
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent()
        do {
            try PrivateFiles.createFolder(at: directory.path)
        } catch {
            throw PowerSyncError.cannotCreate(directory: directory.path, error)
        }
        PrivateFiles.createFile(at: path)
    }

    /// Deletes the file with its `-wal`, `-shm` and `-journal` companions.
    ///
    /// Missing files are fine.
    func deleteFiles() throws {
        guard case .file(let path) = self else { return }
        for suffix in ["", "-wal", "-shm", "-journal"] where FileManager.default.fileExists(atPath: path + suffix) {
            do {
                try FileManager.default.removeItem(atPath: path + suffix)
            } catch {
                throw PowerSyncError.cannotDelete(file: path + suffix, error)
            }
        }
    }
}
