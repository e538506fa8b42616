import NIOCore

/// The bytes of an open response on their way from a server to a client, in order.
///
/// `@unchecked`: the simulation has one thread.
final class SimulatedStream: @unchecked Sendable {
    private let network: SimulatedNetwork
    private let link: SimulatedLink
    private let client: SimulatedProcess
    private let server: SimulatedProcess
    private var connection = 0
    private var death = 0

    /// What has arrived and was not taken.
    private var arrived: [ByteBuffer] = []
    /// How the stream has ended for the client.
    private var end: Result<Void, any Error>?
    private var reader: Answer<Void>?
    /// When the last packet arrives, at the earliest.
    private var lastArrival: UInt64 = 0
    private var isClosed = false
    /// Whether nothing that is sent arrives any more, which the server does not know yet.
    private var isHalfClosed = false
    /// Called, in the server, when the client has gone.
    var onDeparture: @Sendable () -> Void = {}

    /// Opens a stream, in the server.
    init(
        _ network: SimulatedNetwork,
        over link: SimulatedLink,
        to client: SimulatedProcess,
        from server: SimulatedProcess
    ) {
        (self.network, self.link, self.client, self.server) = (network, link, client, server)
        connection = link.opened(
            { [weak self] in self?.breakOff($0) },
            SimulatedLink.OneSided(
                halfClose: { [weak self] in self?.halfClose() },
                loseDevice: { [weak self] in self?.loseDevice() }
            )
        )
        death = network.runtime.whenDead(server) { [weak self] in self?.breakOff(SimulatedNetworkError.broken) }
    }

    /// Sends bytes, and waits until they have arrived.
    ///
    /// - Throws: When the connection is broken, or ``SimulatedNetworkError/timedOut``.
    func send(_ bytes: ByteBuffer) async throws {
        guard !isClosed else { throw SimulatedNetworkError.broken }
        let sent = Answer<Void>()
        guard !isHalfClosed, let delay = network.delay(.in, over: link) else {
            breakOff(SimulatedNetworkError.timedOut)
            throw SimulatedNetworkError.timedOut
        }
        arrive(after: delay) { [self] in
            if end == nil { arrived.append(bytes) }
            wake()
            sent.give(.success(()))
        }
        try await sent.value()
    }

    /// Ends the stream, after what was sent.
    ///
    /// - Parameter error: How it broke; `nil` for a proper end.
    func finish(_ error: (any Error)?) {
        arrive(after: network.delay(.in, over: link) ?? SimulatedNetwork.patience) { [self] in
            if end == nil { end = error.map { .failure($0) } ?? .success(()) }
            wake()
        }
        forget()
    }

    private func arrive(after delay: Duration, _ body: @escaping () -> Void) {
        let runtime = network.runtime
        lastArrival = max(lastArrival + 1, runtime.now + UInt64(delay / .nanoseconds(1)))
        // Not for the client: the server waits for it, too.
        runtime.after(.nanoseconds(Int64(lastArrival - runtime.now)), body)
    }

    /// Waits for bytes, in the client.
    ///
    /// - Returns: What has arrived; `nil` at the end.
    /// - Throws: How the stream broke, or `CancellationError`.
    nonisolated(nonsending) func next() async throws -> [ByteBuffer]? {
        while true {
            if !arrived.isEmpty {
                defer { arrived = [] }
                return arrived
            }
            if let end {
                try end.get()
                return nil
            }
            let reader = Answer<Void>()
            self.reader = reader
            try await reader.value()
        }
    }

    /// The client takes no more.
    func leave() {
        guard !isClosed else { return }
        forget()
        end = .failure(CancellationError())
        // A client that is cut off cannot say so.
        guard let delay = network.delay(.out, over: link) else { return }
        network.runtime.after(delay, for: server) { [onDeparture] in onDeparture() }
    }

    /// Ends what comes to the client, behind a part of what has arrived; the server learns of it when it sends something.
    private func halfClose() {
        guard !isClosed, !isHalfClosed else { return }
        isHalfClosed = true
        network.runtime.after(.milliseconds(2), for: client) { [self] in
            if var last = arrived.popLast() {
                if let part = last.readSlice(length: last.readableBytes / 2) { arrived.append(part) }
            }
            if end == nil { end = .success(()) }
            wake()
        }
    }

    /// Ends the stream for the server, without a word to the client.
    private func loseDevice() {
        guard !isClosed else { return }
        forget()
        network.runtime.after(.seconds(5), for: server) { [onDeparture] in onDeparture() }
    }

    private func breakOff(_ error: any Error) {
        guard !isClosed else { return }
        forget()
        network.runtime.after(.milliseconds(2), for: client) { [self] in
            if end == nil { end = .failure(error) }
            wake()
        }
        network.runtime.after(.milliseconds(2), for: server) { [onDeparture] in onDeparture() }
    }

    private func forget() {
        isClosed = true
        link.forget(connection)
        network.runtime.forgetDeath(death)
    }

    private func wake() {
        reader?.give(.success(()))
        reader = nil
    }
}
