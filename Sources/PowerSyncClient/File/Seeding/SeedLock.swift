import Foundation
import PowerSyncSQLite

/// One process at a time, and one thread of it, makes a file that others would make in the same place.
///
/// The lock (`flock`) goes with the process, however it ends. Its file is removed at the end: a waiter sees that its name is gone,
/// and takes the one that has it now.
final class SeedLock {
    private let path: String
    private let descriptor: Int32

    /// Takes the lock; waits for others.
    ///
    /// - Parameter path: The file of the lock, which is made.
    /// - Throws: `POSIXError`.
    convenience init(path: String) throws {
        guard let descriptor = try SeedLock.take(path, LOCK_EX) else { throw POSIXError(.EWOULDBLOCK) }
        self.init(path, descriptor)
    }

    /// Takes the lock; fails with `nil` when another has it.
    ///
    /// - Parameter path: The file of the lock, which is made.
    /// - Throws: `POSIXError`.
    convenience init?(ifFree path: String) throws {
        guard let descriptor = try SeedLock.take(path, LOCK_EX | LOCK_NB) else { return nil }
        self.init(path, descriptor)
    }

    private init(_ path: String, _ descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    /// - Returns: The locked file; `nil` when that would mean to wait.
    private static func take(_ path: String, _ operation: Int32) throws -> Int32? {
        while true {
            let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, PrivateFiles.fileMode)
            guard descriptor >= 0 else { throw POSIXError.last }
            while flock(descriptor, operation) != 0 {
                let code = errno
                guard code != EINTR else { continue }
                // Some file systems of networks have no locks.
                if [ENOTSUP, EOPNOTSUPP, ENOSYS, ENOLCK].contains(code), operation == LOCK_EX { break }
                close(descriptor)
                guard code == EWOULDBLOCK else { throw POSIXError(code: code) }
                return nil
            }
            var (own, named) = (stat(), stat())
            if unsafe fstat(descriptor, &own) == 0, unsafe stat(path, &named) == 0, own.st_ino == named.st_ino {
                return descriptor
            }
            close(descriptor)
        }
    }

    /// Gives the lock back.
    func release() {
        unsafe unlink(path)
        close(descriptor)
    }
}
