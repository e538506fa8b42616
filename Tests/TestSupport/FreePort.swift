import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// Ports of this machine for servers that tests stop and start again.
///
/// Nobody else is given one while its server is stopped: the system gives those who do not ask for one higher ports, and a process
/// of tests takes none twice. Another process of tests may.
package enum FreePort {
    /// Above those of well-known servers, and below those that systems give away: from 32,768 on.
    package static let range = 10_000..<32_000

    private static let taken = NIOLockedValueBox<Set<Int>>([])

    /// A port that is free, and that was not returned before.
    package static func take() -> Int {
        while true {
            let port = Int.random(in: range)
            let isNew = taken.withLockedValue { $0.insert(port).inserted }
            if isNew, isFree(port) { return port }
        }
    }

    /// Whether nobody listens on a port of the loopback interface.
    package static func isFree(_ port: Int) -> Bool {
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        guard let channel = try? bootstrap.bind(host: "127.0.0.1", port: port).wait() else { return false }
        try? channel.close().wait()
        return true
    }
}
