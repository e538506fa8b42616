import NIOConcurrencyHelpers
import PowerSyncTesting

/// A gate that tasks wait at until the test opens it.
final class TaskGate: Sendable {
    private let isOpen = NIOLockedValueBox(false)
    private let changes = Signal()

    func open() {
        isOpen.withLockedValue { $0 = true }
        changes.fire()
    }

    func pass() async throws {
        try await changes.wait { isOpen.withLockedValue { $0 } ? () : nil }
    }
}
