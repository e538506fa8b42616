package import PowerSyncProtocol

/// How the sync client reaches a sync service: over HTTP or WebSocket, or from a script in tests.
///
/// Three operations: opening the stream of sync lines, and asking for a checkpoint that covers what was uploaded, with a
/// number of the service or of the client. None retries.
package protocol SyncTransport: Sendable {
    /// Asks for sync lines, and returns when the response begins.
    ///
    /// - Parameters:
    ///   - request: What the client has and wants.
    ///   - credentials: Where to connect, and the token.
    ///   - log: Where the exchange is logged.
    /// - Returns: The stream, as soon as the service has accepted it: status 200 and a known media type; over WebSocket,
    ///   the first line, a part of it, or the answer to a keepalive.
    /// - Throws: ``SyncTransportError``, or `CancellationError`.
    nonisolated(nonsending) func openStream(
        _ request: StreamingSyncRequest,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> any SyncLineStream

    /// Asks for a number that a later checkpoint repeats when it covers everything the backend has committed by now.
    ///
    /// - Parameters:
    ///   - clientID: The stable id of the database.
    ///   - credentials: Where to connect, and the token.
    ///   - log: Where the exchange is logged.
    /// - Returns: The number.
    /// - Throws: ``SyncTransportError``, or `CancellationError`.
    func writeCheckpoint(
        clientID: String,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> WriteCheckpoint

    /// Asks for a checkpoint that repeats a number of the client, or a greater one.
    ///
    /// - Parameters:
    ///   - id: The number. Posting it again has no effect.
    ///   - clientID: The stable id of the database.
    ///   - credentials: Where to connect, and the token.
    ///   - log: Where the exchange is logged.
    /// - Returns: The number that the service holds now: the greatest one of this client.
    /// - Throws: ``SyncTransportError``, or `CancellationError`.
    func requestCheckpoint(
        _ id: WriteCheckpoint,
        clientID: String,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> WriteCheckpoint
}

/// What comes out of an open response.
package enum SyncStreamElement: Sendable {
    /// Lines, in order; none when bytes have arrived that complete none.
    case lines([ReceivedLine])
    /// The service has answered a keepalive of a WebSocket connection, where it sends no lines when it has nothing to
    /// say (docs/protocol.md "WebSocket").
    case keepaliveAnswered
}

/// The lines of an open response, pulled by one task.
///
/// Not sendable: its methods run where their caller runs.
///
/// Nothing is read from the network beyond what the transport buffers itself (a few network reads) until ``next()`` is
/// called: the caller's pace is the back-pressure. Dropping the stream closes it.
package protocol SyncLineStream: AnyObject {
    /// The proxy that has passed the answer of the service on, if one says so: the `Via` header.
    var via: String? { get }

    /// Waits for bytes and returns what they are.
    ///
    /// At least every 22 seconds there is something, or the connection is broken.
    ///
    /// - Returns: What has arrived; `nil` at the end of the stream.
    /// - Throws: ``SyncTransportError`` when the connection breaks inside a line, `SyncLineError` for a malformed line
    ///   (after the lines before it were returned), or `CancellationError`.
    nonisolated(nonsending) func next() async throws -> SyncStreamElement?
}

extension SyncLineStream {
    /// No proxy says so.
    package var via: String? { nil }
}

/// Where the lines of an open response come from.
enum SyncLineSource<Source> {
    case reading(Source)
    /// The lines before this error have been returned.
    case failed(any Error)
    case ended
}
