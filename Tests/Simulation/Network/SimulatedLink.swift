/// The way of one device to the network: how long packets take, and what happens to them.
///
/// `@unchecked`: the simulation has one thread.
package final class SimulatedLink: @unchecked Sendable {
    /// The device's end of connections: the process that runs now.
    package var process: SimulatedProcess
    /// How long a packet takes, in milliseconds.
    package var latency = 5...80
    /// Until when nothing can be connected, in nanoseconds of the simulation, and what is connected breaks.
    package private(set) var downUntil: UInt64 = 0
    /// Until when packets are held back without a word.
    package var silentUntil: UInt64 = 0
    /// How many of 100 answers are lost after the request was carried out.
    package var lostAnswers = 0
    /// How many of 100 requests come twice.
    package var repeatedRequests = 0

    /// Break the open connections with an error.
    private var breaks: [Int: (any Error) -> Void] = [:]
    private var lastID = 0

    /// Creates a way that works.
    package init(process: SimulatedProcess) {
        self.process = process
    }

    /// Notes an open connection.
    ///
    /// - Parameter end: Called when it breaks.
    /// - Returns: Its number, for ``forget(_:)``.
    func opened(_ end: @escaping (any Error) -> Void) -> Int {
        lastID += 1
        breaks[lastID] = end
        return lastID
    }

    /// Forgets a connection that has ended.
    func forget(_ id: Int) { breaks[id] = nil }

    /// Breaks all open connections.
    package func cut() {
        let ends = breaks.sorted { $0.key < $1.key }
        breaks = [:]
        for (_, end) in ends { end(SimulatedNetworkError.broken) }
    }

    /// Breaks all open connections, and lets none open until a time.
    package func goDown(until time: UInt64) {
        downUntil = max(downUntil, time)
        cut()
    }

    /// Ends all that is wrong.
    package func heal() {
        (downUntil, silentUntil, lostAnswers, repeatedRequests, latency) = (0, 0, 0, 0, 5...80)
    }
}

/// What processes are told of the network.
package enum SimulatedNetworkError: Error {
    /// Nothing listens there, or there is no network.
    case unreachable
    /// The connection was broken.
    case broken
    /// Nothing has been heard for too long.
    case timedOut
}
