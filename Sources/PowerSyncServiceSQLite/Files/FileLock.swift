import Foundation
import NIOConcurrencyHelpers
import PowerSyncSQLite
import PowerSyncServiceCore

/// Keeps other processes away from a file, with `flock` on a second file beside it.
///
/// The system releases the lock with the process, however it ends, so a lock that is left behind does no harm.
final class FileLock: Sendable {
    /// `nil` after ``release()``.
    private let descriptor: NIOLockedValueBox<CInt?>

    /// Takes the lock, without waiting.
    ///
    /// - Parameter path: The lock file; created when it does not exist, and never deleted.
    /// - Returns: `nil` when another process, or another lock of this process, holds it.
    /// - Throws: `POSIXError` when the file cannot be opened.
    static func acquire(path: String) throws -> FileLock? {
        PrivateFiles.createFile(at: path)
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, PrivateFiles.fileMode)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            return nil
        }
        return FileLock(descriptor)
    }

    private init(_ descriptor: CInt) {
        self.descriptor = NIOLockedValueBox(descriptor)
    }

    /// Releases the lock; does nothing the second time.
    func release() {
        descriptor.withLockedValue { descriptor in
            if let open = descriptor { close(open) }
            descriptor = nil
        }
    }

    deinit {
        release()
    }
}
