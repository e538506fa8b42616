import PowerSyncAuth
import PowerSyncProtocol
import PowerSyncServiceCore
import ServiceLifecycle

/// Lets clients of sync streams in: over HTTP for a request, over WebSocket for a connection.
///
/// In this order: a slot among the concurrent connections, a service that is not shutting down, a token that is valid, and a place
/// among the streams of its user.
struct Admission: Sendable {
    /// A client that was let in.
    struct Client: Sendable {
        /// What the client may do.
        let token: VerifiedToken
        /// The place among the concurrent connections; to be released when the client has left.
        let slot: ConcurrencyQueue.Slot
        /// The place among the streams of the user, until a stream takes it.
        let reservation: UserStreams.Reservation

        /// Gives both places back, but that among the streams only when no stream has taken it.
        func leave() {
            slot.release()
            reservation.release()
        }
    }

    /// Slots of connections.
    let connections: ConcurrencyQueue
    /// Checks tokens.
    let tokens: TokenVerifier
    /// What sync sessions share.
    let sessions: SyncSession.Environment

    /// Lets a client in.
    ///
    /// - Parameter authorization: Reads the client's `Authorization`, once there is a slot.
    /// - Returns: The client.
    /// - Throws: `ConcurrencyQueue.Failure` without a slot, `ErrorEnvelope` with status 503 during a shutdown, `AuthorizationError`,
    ///   `UserStreams.Overflow`, or what `authorization` throws. The slot is free again then.
    func admit(_ authorization: () throws -> String?) async throws -> Client {
        let slot = try await connections.acquire()
        do {
            guard !Task.isShuttingDownGracefully else { throw ErrorEnvelope.shuttingDown }
            let token = try await tokens.verify(authorization: try authorization(), now: sessions.timing.seconds)
            return Client(token: token, slot: slot, reservation: try sessions.userStreams.reserve(token.userID))
        } catch {
            slot.release()
            throw error
        }
    }
}
