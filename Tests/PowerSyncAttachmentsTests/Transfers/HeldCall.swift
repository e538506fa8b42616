import NIOConcurrencyHelpers
import PowerSyncTesting

/// A call that does not return, whatever happens, until a test lets it.
final class HeldCall: Sendable {
    private struct State {
        var arrivals = 0
        var isOpen = false
        var wasCancelled = false
    }

    private let state = NIOLockedValueBox(State())
    private let changes = Signal()

    var arrivals: Int { state.withLockedValue { $0.arrivals } }

    /// Whether the first call was cancelled while it was held.
    var wasCancelled: Bool { state.withLockedValue { $0.wasCancelled } }

    func waitForArrivals(_ count: Int) async throws {
        try await changes.wait { arrivals >= count ? () : nil }
    }

    func open() {
        state.withLockedValue { $0.isOpen = true }
        changes.fire()
    }

    /// Holds the first call.
    ///
    /// - Returns: Whether this is the first call.
    func arrive() async -> Bool {
        let number = state.withLockedValue { state in
            state.arrivals += 1
            return state.arrivals
        }
        changes.fire()
        guard number == 1 else { return false }
        await withTaskCancellationHandler {
            // A task of its own does not see the cancellation.
            try? await Task { try await self.changes.wait { self.state.withLockedValue { $0.isOpen } ? () : nil } }
                .value
        } onCancel: {
            state.withLockedValue { $0.wasCancelled = true }
        }
        return true
    }
}
