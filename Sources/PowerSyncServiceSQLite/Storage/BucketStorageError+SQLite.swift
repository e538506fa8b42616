import Foundation
import GRDB
import PowerSyncServiceCore

/// What keeps a process from opening the file of a bucket storage: the same words for whoever opens it, and whoever only looks.
extension BucketStorageError {
    /// SQLite cannot use the file.
    static func cannotOpen(_ path: String, _ error: DatabaseError) -> BucketStorageError {
        BucketStorageError(
            .cannotOpen,
            "The bucket storage at \(path) cannot be opened: \(error.message ?? "unknown error").",
            underlyingError: error
        )
    }

    /// The system does not let the process use the file.
    static func cannotOpen(_ path: String, _ error: POSIXError) -> BucketStorageError {
        BucketStorageError(
            .cannotOpen,
            "The bucket storage at \(path) cannot be opened: \(String(cString: strerror(error.code.rawValue))).",
            underlyingError: error
        )
    }

    /// SQLite has met something in the file that it cannot be.
    static func damaged(_ path: String, _ error: DatabaseError) -> BucketStorageError {
        BucketStorageError(
            .corrupted,
            """
            The bucket storage at \(path) is damaged: \(error.message ?? "unknown error"). \
            Restore the file from a backup, or delete it: then everything is copied from the source again.
            """,
            underlyingError: error
        )
    }

    /// The file and the log beside it are of two databases.
    static func isMixture(_ problem: FileProblem) -> BucketStorageError {
        BucketStorageError(
            .corrupted,
            """
            The bucket storage \(problem.path) \(problem.problem). Put the former file back; or delete it with its -wal and -shm: then \
            everything is copied from the source again.
            """,
            underlyingError: problem
        )
    }

    /// There is no such file.
    static func missing(_ path: String) -> BucketStorageError {
        BucketStorageError(.cannotOpen, "There is no bucket storage at \(path).")
    }

    /// A service runs on the file.
    static func inUse(_ path: String) -> BucketStorageError {
        BucketStorageError(
            .inUse,
            """
            [PSYNC_S1003] The bucket storage at \(path) is used by another process. \
            Stop it, or use another file.
            """
        )
    }

    /// The file has to be migrated, and may not be.
    static func needsMigration(_ path: String, _ version: StorageVersion) -> BucketStorageError {
        let problem =
            version.found.map { "has version \($0), and this service needs version \(version.current)" }
            ?? "does not exist yet"
        return BucketStorageError(
            .unsupportedVersion,
            """
            The bucket storage at \(path) \(problem); migrations.disable_auto_migration leaves that to you. \
            Run: powersync migrate
            """
        )
    }
}
