import NIOConcurrencyHelpers
import PowerSyncServiceCore

/// The reservation of a WebSocket connection among the streams of its user: a connection without a stream counts as one
/// stream.
final class ConnectionReservation: Sendable {
    private struct State {
        var reservation: UserStreams.Reservation?
        var streams = 0
        var isReleased = false
    }

    private let userStreams: UserStreams
    private let userID: String
    private let state: NIOLockedValueBox<State>

    /// Takes over the reservation with which a client was admitted.
    init(_ reservation: UserStreams.Reservation, of userID: String, among userStreams: UserStreams) {
        self.userStreams = userStreams
        self.userID = userID
        state = NIOLockedValueBox(State(reservation: reservation))
    }

    /// Runs a stream of the connection, and reserves again when it was the last one.
    ///
    /// - Returns: Whether the connection counts. If not, it has no stream, and the user has opened others meanwhile.
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
        let isTaken = state.withLockedValue { state in
            guard state.reservation == nil, !state.isReleased else { return false }
            state.reservation = reservation
            return true
        }
        if !isTaken { reservation.release() }
        return true
    }

    /// Gives the reservation to a stream that is opened; `nil` when another one has it.
    func take() -> UserStreams.Reservation? {
        state.withLockedValue { state in
            defer { state.reservation = nil }
            return state.reservation
        }
    }

    /// Releases the reservation; the connection has ended.
    func release() {
        let reservation = state.withLockedValue { state in
            state.isReleased = true
            defer { state.reservation = nil }
            return state.reservation
        }
        reservation?.release()
    }
}
