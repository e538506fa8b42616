import PowerSyncTesting
import Synchronization

/// A gate that tasks wait at until the test opens it.
final class TaskGate: Sendable {
    private let isOpen = Mutex(false)
    private let changes = Signal()

    func open() {
        isOpen.withLock { $0 = true }
        changes.fire()
    }

    func pass() async throws {
        try await changes.wait { isOpen.withLock { $0 } ? () : nil }
    }
}
