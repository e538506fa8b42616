import NIOCore

/// The time-outs of TCP for a peer that has vanished: a phone without network, a machine without power.
///
/// Nothing arrives from such a peer, so only the system can tell: it asks an idle peer whether it is still there, and
/// gives up a peer that does not confirm what it was sent. By default Linux takes two hours for the first, and a
/// quarter of an hour for the second.
enum SilentPeerLimits {
    /// After how many seconds without traffic a peer is asked.
    static let idleSeconds: SocketOptionValue = 30
    /// The seconds between two keepalive probes of TCP.
    static let intervalSeconds: SocketOptionValue = 10
    /// After how many unanswered questions a peer is given up.
    static let questionCount: SocketOptionValue = 3
    /// The milliseconds for which sent bytes may stay unconfirmed, or a peer may refuse to take more: 5 minutes.
    ///
    /// Much more than a client needs to write what it has received into its database.
    static let unconfirmedMilliseconds: SocketOptionValue = 5 * 60 * 1000

    /// Sets the limits on a connection.
    ///
    /// An option that the system does not support stays as it is.
    static func apply(to channel: any Channel) {
        guard let options = channel.syncOptions else { return }
        for (option, value) in limits {
            try? options.setOption(option, value: value)
        }
    }

    #if os(Linux)
    // From <netinet/tcp.h>; the numbers are part of the kernel's interface.
    private static let limits: [(ChannelOptions.Types.SocketOption, SocketOptionValue)] = [
        (ChannelOptions.socketOption(.so_keepalive), 1),
        (tcp(4), idleSeconds),
        (tcp(5), intervalSeconds),
        (tcp(6), questionCount),
        (tcp(18), unconfirmedMilliseconds),
    ]
    #else
    private static let limits: [(ChannelOptions.Types.SocketOption, SocketOptionValue)] = [
        (ChannelOptions.socketOption(.so_keepalive), 1)
    ]
    #endif

    private static func tcp(_ name: CInt) -> ChannelOptions.Types.SocketOption {
        ChannelOptions.Types.SocketOption(level: .tcp, name: NIOBSDSocket.Option(rawValue: name))
    }
}
