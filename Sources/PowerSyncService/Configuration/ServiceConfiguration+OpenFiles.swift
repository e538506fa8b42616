import HTTPConnections
import Foundation
import Logging

/// The files that a process has to have open, and the limit that the system has for them.
extension ServiceConfiguration {
    /// How many connections there may be beside those of streams: other requests, and pauses between them.
    private static let otherConnections = 100

    /// How many files are open when as many clients are connected as ``limits`` allow, over HTTP and over WebSocket.
    var neededOpenFiles: Int {
        // Any number may be in the configuration.
        let streams = 2 * min(max(limits.maxConcurrentConnections, 0), Int.max / 4)
        return ConnectionCount.openFiles(
            for: streams + Self.otherConnections,
            cores: ProcessInfo.processInfo.activeProcessorCount
        )
    }

    /// Raises this process's limit of open files, as far as the configuration needs it and the system lets it.
    ///
    /// For a process that is nothing but the service, before ``SyncService`` is created: a library does not change what all of
    /// a process shares.
    package func raiseOpenFileLimit() {
        if role.servesClients { OpenFileLimit.raise(for: neededOpenFiles) }
    }

    /// Warns when there can be fewer connections than streams are allowed.
    ///
    /// - Parameters:
    ///   - possible: How many connections there can be.
    ///   - logger: Gets the warning.
    func checkConnections(possible: Int, logger: Logger) {
        guard role.servesClients, possible < limits.maxConcurrentConnections else { return }
        logger.warning(
            """
            The limit of open files is too low for max_concurrent_connections: raise it with ulimit -n, or with LimitNOFILE= \
            in a unit of systemd
            """,
            metadata: [
                "max_concurrent_connections": "\(limits.maxConcurrentConnections)",
                "possible_connections": "\(possible)", "needed_open_files": "\(neededOpenFiles)",
            ]
        )
    }
}
