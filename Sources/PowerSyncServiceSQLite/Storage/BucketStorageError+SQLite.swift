import Foundation
import GRDB
import PowerSyncServiceCore

/// The errors that keep a process from opening the file of a bucket storage, in the same words for opening and for looking only.
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
            unsafe "The bucket storage at \(path) cannot be opened: \(String(cString: strerror(error.code.rawValue))).",
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

    /// The file has the tables of an earlier build, which have other forms.
    static func ofEarlierBuild(_ path: String) -> BucketStorageError {
        BucketStorageError(
            .unsupportedVersion,
            """
            The bucket storage at \(path) was written by an earlier build, and this one cannot use it: run powersync teardown; \
            then everything is copied from the source again.
            """
        )
    }

    /// The file has tables of another program, which are not deleted by anything here.
    static func notAStorage(_ path: String) -> BucketStorageError {
        BucketStorageError(
            .unsupportedVersion,
            """
            \(path) is a database, but not a bucket storage: use another file; or delete it with its -wal and -shm if nobody needs \
            it, and everything is copied from the source.
            """
        )
    }

    /// The file was written by a newer service.
    static func ofNewerService(_ path: String, _ version: StorageVersion) -> BucketStorageError {
        BucketStorageError(
            .unsupportedVersion,
            """
            The bucket storage at \(path) has version \(version.found ?? 0), this service can use versions up to \(version.current). \
            Use the service version that wrote it, or another file.
            """
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
            The bucket storage at \(path) is used by another process. \
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
