package import Foundation
import PowerSync
package import PowerSyncClient

#if canImport(Glibc)
import Glibc
#endif

/// How a worker changes the key of a file.
package struct WorkerKeyChange: Codable, Sendable {
    /// The bytes of the key that the file has; `nil` for none.
    package var old: Data?
    /// The bytes of the key that the file gets; `nil` for none.
    package var new: Data?
    /// After which step the worker kills itself; `nil` for none.
    package var death: KeyChangeStep?

    /// Creates a change.
    package init(from old: Data?, to new: Data?, death: KeyChangeStep? = nil) {
        self.old = old
        self.new = new
        self.death = death
    }

    /// Changes the key.
    func run(_ path: String) async throws {
        let (old, new) = try (old.map { try DatabaseKey.bytes($0) }, new.map { try DatabaseKey.bytes($0) })
        try await DatabaseKey.change(ofFile: path, from: old, to: new) { [death] step in
            guard step == death else { return }
            kill(getpid(), SIGKILL)
            // The signal may come to another thread first.
            while true { pause() }
        }
    }
}
