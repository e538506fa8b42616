import PowerSyncAuth
import PowerSyncProtocol
import PowerSyncServiceCore
import ServiceLifecycle

/// Admits clients of sync streams: over HTTP for a request, over WebSocket for a connection.
///
/// A client needs, in this order: a slot of the semaphore of concurrent connections, a service that is not shutting
/// down, a token that is valid, and a reservation among the streams of its user.
struct Admission: Sendable {
    /// A client that was admitted.
    struct Client: Sendable {
        /// The token of the client.
        let token: VerifiedToken
        /// The slot of the semaphore of concurrent connections, to be released when the client has left.
        let slot: ConcurrencyQueue.Slot
        /// The reservation among the streams of the user, until a stream takes it over.
        let reservation: UserStreams.Reservation

        /// Releases the slot, and the reservation unless a stream has taken it over.
        func leave() {
            slot.release()
            reservation.release()
        }
    }

    /// The semaphore of concurrent connections.
    let connections: ConcurrencyQueue
    /// Checks tokens.
    let tokens: TokenVerifier
    /// The environment of all sync sessions.
    let sessions: SyncSession.Environment

    /// Admits a client.
    ///
    /// - Parameter authorization: Reads the client's `Authorization`, once there is a slot.
    /// - Returns: The client.
    /// - Throws: `ConcurrencyQueue.Failure` without a slot, `ErrorEnvelope` with status 503 during a shutdown,
    ///   `AuthorizationError`, `UserStreams.Overflow`, or what `authorization` throws. The slot is free again then.
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
