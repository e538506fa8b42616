import NIOConcurrencyHelpers
import PowerSyncServiceCore

/// The place of a WebSocket connection among the streams of its user: while it has no stream, it counts as one.
final class ConnectionPlace: Sendable {
    private struct State {
        var reservation: UserStreams.Reservation?
        var streams = 0
    }

    private let userStreams: UserStreams
    private let userID: String
    private let state: NIOLockedValueBox<State>

    /// Keeps the place that a user has taken for a connection.
    init(_ reservation: UserStreams.Reservation, of userID: String, among userStreams: UserStreams) {
        self.userStreams = userStreams
        self.userID = userID
        state = NIOLockedValueBox(State(reservation: reservation))
    }

    /// Runs a stream of the connection.
    ///
    /// - Returns: Whether the connection still has a place. If not, it has no stream, and the user has opened others meanwhile.
    func withStream(_ body: () async -> Void) async -> Bool {
        state.withLockedValue { $0.streams += 1 }
        await body()
        let isIdle = state.withLockedValue { state in
            state.streams -= 1
            return state.streams == 0 && state.reservation == nil
        }
        guard isIdle else { return true }
        guard let reservation = try? userStreams.reserve(userID) else {
            return state.withLockedValue { $0.streams > 0 || $0.reservation != nil }
        }
        state.withLockedValue { state in
            if state.reservation == nil { state.reservation = reservation }
        }
        return true
    }

    /// Gives the place to a stream that is opened; `nil` when another one has it.
    func take() -> UserStreams.Reservation? {
        state.withLockedValue { state in
            defer { state.reservation = nil }
            return state.reservation
        }
    }
}
