/// What a connection may take of the server around its requests: time, memory, and a place.
///
/// | what is waited for | for how long | what follows |
/// | --- | --- | --- |
/// | the first request, from the moment of the connection | `headTime` | closed; 408 if a part of it has come |
/// | the next request | `idleTime` | closed |
/// | the rest of a head, from its first byte | `headTime` | 408, closed |
/// | the rest of a body whose request is answered | `headTime` | closed |
/// | the first message over WebSocket (the upgrade does it) | `headTime` | closed |
/// | the client's end, after the server has closed its own | `closingTime` | closed |
/// | the same, when the client was still sending a body | `headTime` | closed |
///
/// How long a body may take that is read is a matter of its route.
package struct HTTPConnectionLimits: Sendable {
    /// How long a client may take to say what it wants: 10 s.
    package var headTime = Duration.seconds(10)
    /// How long a connection may rest between two requests: 75 s.
    ///
    /// Longer than the 60 s after which proxies give up their idle connections. If the server were first, a request could be
    /// on its way to it at that moment.
    package var idleTime = Duration.seconds(75)
    /// How long a client may take to close its end of a connection that has no use any more: 2 s.
    ///
    /// Meanwhile what it still sends is thrown away: a socket that is closed with unread bytes resets the connection, and the
    /// client may lose the answer.
    package var closingTime = Duration.seconds(2)
    /// The largest head of a request, and the most that is read of a body without a reader, or of a WebSocket before its client is
    /// known: 64 KiB.
    package var strangerLength = 64 * 1024
    /// How many fields a head may have.
    package var fieldCount = 1000
    /// How many connections may wait until they are accepted: 4096, or what the system allows (`net.core.somaxconn`).
    ///
    /// When a server starts again, all its clients come back at once. Those for whom there is no place do not hear of it: the
    /// system drops their packets, and they try again after one second, then two, four, and so on up to a minute.
    package var acceptQueueLength = 4096
    /// How many connections are accepted one after the other: 256.
    package var acceptedAtOnce: UInt = 256
    /// How many connections are served at the same time; the others are answered with 503.
    package var connectionCount = ConnectionCount.limitOfProcess

    /// Creates the default limits.
    package init() {}
}
