import NIOConcurrencyHelpers
import PowerSync

/// Holds operations of an in-memory storage until a test lets them go.
///
/// ```swift
/// let gate = remote.hold(.download)
/// try await queue.startSync()
/// try await gate.waitForArrivals(1)
/// // … the download is in the middle of its work …
/// gate.open()
/// ```
public final class StorageGate: Sendable {
    private struct State {
        var isOpen = false
        var passes = 0
        var arrivals: [String] = []
    }

    private let state = NIOLockedValueBox(State())
    private let changes = Signal()
    private let ignoresCancellation: Bool

    init(ignoresCancellation: Bool) {
        self.ignoresCancellation = ignoresCancellation
    }

    /// What has come to the gate so far, in order: the id of the attachment, or the path of the file.
    public var arrivals: [String] { state.withLockedValue { $0.arrivals } }

    /// Waits until a number of operations have come to the gate, those that went on included.
    ///
    /// - Parameter count: The number.
    /// - Throws: `CancellationError`
    public func waitForArrivals(_ count: Int) async throws {
        try await changes.wait { state.withLockedValue { $0.arrivals.count >= count ? () : nil } }
    }

    /// Lets all operations go on, now and later.
    public func open() {
        state.withLockedValue { $0.isOpen = true }
        changes.fire()
    }

    /// Lets one operation go on: one that waits, or the next that comes.
    public func letOnePass() {
        state.withLockedValue { $0.passes += 1 }
        changes.fire()
    }

    /// Waits at the gate.
    ///
    /// - Throws: `CancellationError`, unless the gate ignores cancellation.
    func pass(_ subject: String) async throws {
        state.withLockedValue { $0.arrivals.append(subject) }
        changes.fire()
        guard ignoresCancellation else { return try await waitForPass() }
        // A task of its own does not see the cancellation of this one, as a transfer that never looks.
        try await Task { try await self.waitForPass() }.value
    }

    private func waitForPass() async throws {
        try await changes.wait {
            state.withLockedValue { state -> Void? in
                if state.isOpen { return () }
                guard state.passes > 0 else { return nil }
                state.passes -= 1
                return ()
            }
        }
    }
}
