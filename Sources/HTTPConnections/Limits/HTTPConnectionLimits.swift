/// The limits of a connection outside of its requests: time, memory, and the number of connections.
///
/// | the connection waits for | at most | then |
/// | --- | --- | --- |
/// | the first request, from the moment of the connection | `headTime` | closed; 408 if a part of it has come |
/// | the next request | `idleTime` | closed |
/// | the rest of a head, from its first byte | `headTime` | 408, closed |
/// | the rest of a body whose request is answered | `headTime` | closed |
/// | the first message over WebSocket (the upgrade does it) | `headTime` | closed |
/// | the client's end, after the server has closed its own | `closingTime` | closed |
/// | the same, when the client was still sending a body | `headTime` | closed |
///
/// The time for a body that is read is a limit of its route.
package struct HTTPConnectionLimits: Sendable {
    /// The time for the head of a request: 10 s.
    package var headTime = Duration.seconds(10)
    /// The time that a connection may be idle between two requests: 75 s.
    ///
    /// Longer than the 60 s after which proxies give up their idle connections. If the server were first, a request
    /// could be on its way to it at that moment.
    package var idleTime = Duration.seconds(75)
    /// The time for the client to close its end, after the server has closed its own: 2 s.
    ///
    /// Meanwhile what it still sends is thrown away: a socket that is closed with unread bytes resets the connection,
    /// and the client may lose the answer.
    package var closingTime = Duration.seconds(2)
    /// The largest head of a request, and the most that is read of a body without a reader, or of a WebSocket before
    /// its client is known: 64 KiB.
    package var strangerLength = 64 * 1024
    /// The most fields of a head.
    package var fieldCount = 1000
    /// The most connections that wait until they are accepted: 4096, or what the system allows (`net.core.somaxconn`).
    ///
    /// When a server starts again, all its clients come back at once. Clients beyond the limit get no answer: the
    /// system drops their packets, and they try again after one second, then two, four, and so on up to a minute.
    package var acceptQueueLength = 4096
    /// The number of connections that are accepted in one turn of the event loop: 256.
    package var acceptedAtOnce: UInt = 256
    /// The most connections that are served at the same time; further ones are answered with 503.
    package var connectionCount = ConnectionCount.limitOfProcess

    /// Creates the default limits.
    package init() {}
}
