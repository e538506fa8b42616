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
    /// Until when packets from the device are held back without a word.
    package var silentOutUntil: UInt64 = 0
    /// Until when packets to the device are held back without a word.
    package var silentInUntil: UInt64 = 0
    /// How many of 100 answers are lost after the request was carried out.
    package var lostAnswers = 0
    /// How many of 100 requests come twice.
    package var repeatedRequests = 0

    /// Break the open connections with an error.
    private var breaks: [Int: (any Error) -> Void] = [:]
    /// What can happen to an open stream at one of its ends, of which the other one learns nothing.
    struct OneSided {
        /// Ends what comes to the device, as if the server had ended it.
        var halfClose: () -> Void
        /// Ends it for the server: nothing comes to the device any more, and it is not told.
        var loseDevice: () -> Void
    }

    private var streams: [Int: OneSided] = [:]
    private var lastID = 0

    /// Creates a way that works.
    package init(process: SimulatedProcess) {
        self.process = process
    }

    /// Notes an open connection.
    ///
    /// - Parameters:
    ///   - end: Called when it breaks.
    ///   - oneSided: Of a stream: called when something happens to one of its ends.
    /// - Returns: Its number, for ``forget(_:)``.
    func opened(_ end: @escaping (any Error) -> Void, _ oneSided: OneSided? = nil) -> Int {
        lastID += 1
        breaks[lastID] = end
        streams[lastID] = oneSided
        return lastID
    }

    /// Forgets a connection that has ended.
    func forget(_ id: Int) { (breaks[id], streams[id]) = (nil, nil) }

    /// Ends what comes to the device on all open streams, in the middle of a line or not; what it sends still arrives.
    package func halfClose() {
        for (_, stream) in streams.sorted(by: { $0.key < $1.key }) { stream.halfClose() }
    }

    /// Has what is between both ends forget all open streams: servers find out, the device hears nothing any more.
    package func loseStreams() {
        for (_, stream) in streams.sorted(by: { $0.key < $1.key }) { stream.loseDevice() }
    }

    /// Breaks all open connections.
    package func cut() {
        let ends = breaks.sorted { $0.key < $1.key }
        (breaks, streams) = ([:], [:])
        for (_, end) in ends { end(SimulatedNetworkError.broken) }
    }

    /// Breaks all open connections, and lets none open until a time.
    package func goDown(until time: UInt64) {
        downUntil = max(downUntil, time)
        cut()
    }

    /// Ends all that is wrong.
    package func heal() {
        (downUntil, silentOutUntil, silentInUntil) = (0, 0, 0)
        (lostAnswers, repeatedRequests, latency) = (0, 0, 5...80)
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
