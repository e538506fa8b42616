import Foundation
import NIOConcurrencyHelpers

/// Counts connections, so that there are never so many that the process runs out of file descriptors.
///
/// Without descriptors nothing can be opened any more, not even the connection of a health check or a file of the
/// storage, and accepting fails again and again at the price of a core.
package final class ConnectionCount: Sendable {
    /// The decision about a new connection.
    enum Admission: Equatable {
        /// It is served.
        case admitted
        /// It is answered with 503; the first one is logged.
        case refused(isFirst: Bool)
        /// It is closed without an answer, because too many connections are being refused already.
        case dropped
    }

    private struct State {
        var admitted = 0
        var refused = 0
        /// Since there were at most half as many as there may be.
        var hasRefused = false
    }

    /// The most refused connections that are open at the same time.
    private static let maximumRefused = 16

    /// The most connections that are served at the same time.
    let limit: Int
    private let state = NIOLockedValueBox(State())

    init(limit: Int) {
        self.limit = limit
    }

    /// Takes in a connection; ``ended(_:)`` has to follow.
    func began() -> Admission {
        state.withLockedValue { state in
            if state.admitted < limit {
                state.admitted += 1
                return .admitted
            }
            guard state.refused < Self.maximumRefused else { return .dropped }
            defer { state.hasRefused = true }
            state.refused += 1
            return .refused(isFirst: !state.hasRefused)
        }
    }

    /// A connection has ended.
    ///
    /// - Parameter admission: What had become of it.
    func ended(_ admission: Admission) {
        state.withLockedValue { state in
            switch admission {
            case .admitted:
                state.admitted -= 1
                if state.admitted <= limit / 2 { state.hasRefused = false }
            case .refused: state.refused -= 1
            case .dropped: break
            }
        }
    }
}

extension ConnectionCount {
    /// The limit for this process: what its limit of open files leaves.
    static var limitOfProcess: Int {
        guard let openFiles = OpenFileLimit.ofProcess else { return limit(openFiles: 1024, cores: 1) }
        return limit(openFiles: openFiles.current, cores: ProcessInfo.processInfo.activeProcessorCount)
    }

    /// The limit for a limit of open files: at least 16.
    static func limit(openFiles: Int, cores: Int) -> Int {
        max(16, openFiles - otherFiles(cores: cores))
    }

    /// The limit of open files for a number of connections.
    package static func openFiles(for connections: Int, cores: Int) -> Int {
        connections + otherFiles(cores: cores)
    }

    /// The files of the storage, the listener, and three descriptors for each core's event loop.
    private static func otherFiles(cores: Int) -> Int { 64 + 4 * cores }
}
