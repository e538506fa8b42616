import NIOConcurrencyHelpers
package import NIOCore
package import PowerSync
package import PowerSyncProtocol

/// One response of a ``ScriptedTransport``, in the hands of the test.
public final class ScriptedStream: Sendable {
    private enum Answer {
        case accepted
        case rejected(any Error)
    }

    /// How the response went on after the lines before.
    private enum End {
        case finished
        case failed(any Error)
    }

    private struct State {
        var answer: Answer?
        var format = SyncLineFormat.ndjson
        var reader = SyncLineReader(format: .ndjson)
        /// Lines that the client has not taken.
        var lines: [ReceivedLine] = []
        /// Whether keepalives were answered after them.
        var hasKeepaliveAnswer = false
        /// What follows them; `nil` while more may come.
        var end: End?
        /// Whether the client has taken everything and asked for more.
        var isAwaited = false
        var isClosedByClient = false
    }

    /// What the client asked for.
    package let request: StreamingSyncRequest
    /// The token and the endpoint that the client used.
    package let credentials: ServiceCredentials
    private let state = NIOLockedValueBox(State())
    private let changes = Signal()

    init(request: StreamingSyncRequest, credentials: ServiceCredentials) {
        self.request = request
        self.credentials = credentials
    }

    /// The token that the client sent.
    public var token: String { credentials.token }

    /// The body of the request, as JSON.
    public var requestText: String { String(buffer: request.encodedJSON()) }

    /// Accepts the request: status 200 and a known media type.
    public func accept() {
        change { $0.answer = .accepted }
    }

    /// Accepts the request, and answers in a format.
    ///
    /// Call it before anything is sent.
    package func accept(as format: SyncLineFormat) {
        change { state in
            state.format = format
            state.reader = SyncLineReader(format: format)
            state.answer = .accepted
        }
    }

    /// Rejects the request.
    ///
    /// - Parameters:
    ///   - status: The HTTP status.
    ///   - body: What the service says.
    public func reject(status: Int, body: String = "") {
        let error = SyncTransportError(
            .status,
            message: "POST /sync/stream failed with status \(status): \(body)",
            httpStatus: status
        )
        change { $0.answer = .rejected(error) }
    }

    /// Fails to connect.
    public func refuse(_ error: any Error) {
        change { $0.answer = .rejected(error) }
    }

    /// Sends lines, as JSON texts.
    public func send(_ lines: String...) {
        append(lines.lazy.map { ByteBuffer(string: $0 + "\n") })
    }

    /// Sends lines.
    package func send(_ lines: SyncLine...) {
        send(lines)
    }

    /// Sends lines.
    package func send(_ lines: [SyncLine]) {
        let format = state.withLockedValue { $0.format }
        append(
            lines.lazy.map { line in
                var bytes = ByteBuffer()
                line.encode(as: format, into: &bytes)
                return bytes
            }
        )
    }

    /// Sends bytes, which need not end where a line ends.
    ///
    /// After a malformed line the client gets the lines before it, then an error.
    package func send(bytes: ByteBuffer) {
        append(CollectionOfOne(bytes))
    }

    /// Answers a keepalive of the client, as a service does that is reached over a WebSocket and has nothing to send.
    ///
    /// Answers that the client has not taken count as one.
    public func answerKeepalive() {
        change { state in
            guard state.end == nil else { return }
            state.hasKeepaliveAnswer = true
            state.isAwaited = false
        }
    }

    /// Ends the response.
    ///
    /// In JSON, what was sent after the last line feed is the last line.
    public func end() {
        change { state in
            ScriptedStream.read(&state) { reader throws(SyncLineError) in try reader.finish() }
            state.end = state.end ?? .finished
        }
    }

    /// Breaks the connection.
    public func fail(_ error: any Error) {
        change { $0.end = $0.end ?? .failed(error) }
    }

    /// Waits until the client has taken everything that was sent, and waits for more.
    ///
    /// - Throws: `CancellationError`
    public func waitUntilRead() async throws {
        try await changes.wait { state.withLockedValue { $0.isAwaited ? () : nil } }
    }

    /// Waits until the client has closed the stream.
    ///
    /// - Throws: `CancellationError`
    public func waitUntilClosed() async throws {
        try await changes.wait { state.withLockedValue { $0.isClosedByClient ? () : nil } }
    }

    /// Whether the client has closed the stream.
    public var isClosed: Bool { state.withLockedValue { $0.isClosedByClient } }

    func waitForAnswer() async throws {
        let answer = try await changes.wait { state.withLockedValue { $0.answer } }
        if case .rejected(let error) = answer { throw error }
    }

    func nextElement() async throws -> SyncStreamElement? {
        if let result = state.withLockedValue({ ScriptedStream.nextResult(&$0) }) { return try result.get() }
        change { $0.isAwaited = true }
        return try await changes.wait { state.withLockedValue { ScriptedStream.nextResult(&$0) } }.get()
    }

    func clientDidClose() {
        change { $0.isClosedByClient = true }
    }

    private func change(_ body: (inout State) -> Void) {
        state.withLockedValue { body(&$0) }
        changes.fire()
    }

    private func append(_ texts: some Sequence<ByteBuffer>) {
        change { state in
            for text in texts {
                state.reader.append(text)
                ScriptedStream.read(&state) { reader throws(SyncLineError) in try reader.next() }
            }
            // Half a line gives the client nothing to take.
            if !state.lines.isEmpty || state.end != nil { state.isAwaited = false }
        }
    }

    /// Reads lines until there is none, or a malformed one.
    private static func read(
        _ state: inout State,
        _ next: (inout SyncLineReader) throws(SyncLineError) -> ReceivedLine?
    ) {
        guard state.end == nil else { return }
        do {
            while let line = try next(&state.reader) { state.lines.append(line) }
        } catch {
            state.end = .failed(error)
        }
    }

    /// The lines that wait, else the answer to a keepalive, else the end; `nil` when there is nothing.
    private static func nextResult(_ state: inout State) -> Result<SyncStreamElement?, any Error>? {
        guard state.lines.isEmpty else {
            defer { state.lines = [] }
            return .success(.lines(state.lines))
        }
        if state.hasKeepaliveAnswer {
            state.hasKeepaliveAnswer = false
            return .success(.keepaliveAnswered)
        }
        switch state.end {
        case .finished: return .success(nil)
        case .failed(let error): return .failure(error)
        case nil: return nil
        }
    }
}
