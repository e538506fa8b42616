package import Logging
import NIOConcurrencyHelpers
package import NIOCore
package import PowerSyncProtocol
package import PowerSyncAuth

/// A sync stream whose first line has been made, and whose other lines are to be sent over HTTP or WebSocket.
///
/// The first line and the session are handed over once, and not kept: a stream lasts for hours.
package struct OpenedSyncStream: Sendable {
    private struct Unsent {
        var firstLine: ByteBuffer?
        var session: SyncSession?
    }

    /// The time limit of the first line: 2 minutes.
    ///
    /// A statement of a storage in PostgreSQL has 60 s, and a line may need several.
    static let firstLineLimit = Duration.seconds(120)

    /// The first line has taken too long.
    package struct TooSlow: Error {}

    /// The first line and the session, until they are handed over.
    private let unsent: NIOLockedValueBox<Unsent>
    /// The account of this stream in the ledger of memory; `nil` when the first line is the only one.
    private let account: LineMemory.Account?
    /// The size of the first line, which counts in the account until ``run(_:)`` begins.
    private let firstLineBytes: Int
    /// Sends keepalives between the lines.
    package let keepalives: Keepalives
    /// The lease among the streams of the user, to be released when the stream has ended.
    package let lease: UserStreams.Lease
    /// Counts what is sent.
    package let statistics: ClientStreamStatistics
    /// With the ids of the request.
    package let logger: Logger

    /// Makes the first line.
    ///
    /// - Parameters:
    ///   - request: What the client asks for.
    ///   - token: The token of the client.
    ///   - reservation: The reservation among the streams of the user, which the stream takes over.
    ///   - schedule: The times at which the client is told how long its token lives.
    ///   - format: The encoding of lines.
    ///   - transport: The transport that the stream is sent over.
    ///   - userAgent: The client's name for itself; for the log.
    ///   - environment: The environment of all sessions.
    ///   - logger: With the id of the request.
    /// - Throws: ``UserStreams/Overflow``, ``BucketStorageError`` with code `noActiveStream`, `BucketLimitError`,
    ///   ``TooSlow``, `CancellationError`, or an error of the storage.
    package init(
        _ request: StreamingSyncRequest,
        token: VerifiedToken,
        reservation: UserStreams.Reservation? = nil,
        schedule: KeepaliveSchedule,
        format: SyncLineFormat,
        transport: StreamTransport,
        userAgent: String,
        environment: SyncSession.Environment,
        logger: Logger
    ) async throws {
        let client = StreamClient(
            userID: token.userID,
            clientID: request.clientID,
            userAgent: userAgent,
            format: format
        )
        lease = try environment.userStreams.enter(client, with: reservation)
        guard let active = try await environment.storage.activeStream() else { throw BucketStorageError.noActiveStream }
        var logger = logger
        logger[metadataKey: LogKey.userID] = "\(StreamClient.shown(token.userID))"
        if let clientID = request.clientID { logger[metadataKey: LogKey.clientID] = "\(StreamClient.shown(clientID))" }
        self.logger = logger
        keepalives = Keepalives(schedule: schedule, format: format, timing: environment.timing)
        statistics = lease.statistics
        var metadata: Logger.Metadata = [
            LogKey.userAgent: "\(client.userAgent)", LogKey.appMetadata: .dictionary(request.appMetadata.loggable),
            LogKey.clientParameters: .dictionary(request.parameters.loggableTypes),
            LogKey.subscriptions: .stringConvertible(request.streams.subscriptions.count),
        ]
        if transport == .http {
            metadata[LogKey.bson] = .stringConvertible(format == .bson)
            metadata[LogKey.route] = "/sync/stream"
        }
        logger.info("Sync stream started", metadata: metadata)
        if token.payload.hasNonFiniteNumber || request.hasNonFiniteNumber {
            logger.warning("The token or the parameters have a number beyond the range of doubles, which is NULL")
        }
        if schedule.isExpired(at: environment.timing.seconds) {
            unsent = NIOLockedValueBox(Unsent(firstLine: keepalives.line))
            (account, firstLineBytes) = (nil, 0)
            return
        }
        let (line, session) = try await withTimeout(
            Self.firstLineLimit,
            clock: environment.timing.clock,
            throwing: TooSlow()
        ) { [statistics, logger] in
            // More than once, when another stream becomes active in the middle.
            var next = active as ActiveReplicationStream?
            while let stream = next {
                var session = SyncSession(
                    request: request,
                    token: token,
                    stream: stream,
                    environment: environment,
                    encoding: SyncSession.Encoding(format: format, isRawData: request.rawData),
                    copiesLines: transport.copiesLines,
                    statistics: statistics,
                    logger: logger
                )
                if let line = try await session.open() { return (line, session) }
                next = try await environment.storage.activeStream()
                // The service shuts down.
                if next?.serving == stream.serving { break }
            }
            throw BucketStorageError.noActiveStream
        }
        unsent = NIOLockedValueBox(Unsent(firstLine: line, session: session))
        (account, firstLineBytes) = (session.account, line.readableBytes)
        session.account.add(line.readableBytes)
    }

    /// Whether the first line is the only one: it says that the token has expired.
    package var isOver: Bool { account == nil }

    /// Takes the line to send first.
    package func takeFirstLine() -> ByteBuffer {
        unsent.withLockedValue { unsent in
            defer { unsent.firstLine = nil }
            return unsent.firstLine ?? ByteBuffer()
        }
    }

    /// Makes all other lines, once, when the first one was written.
    ///
    /// - Parameter lines: Where they go. It ends with the last one.
    package func run(_ lines: LineQueue) async {
        account?.remove(firstLineBytes)
        await lines.finish {
            guard var session = takeSession() else { return }
            try await session.run(lines)
        }
    }

    private func takeSession() -> SyncSession? {
        unsent.withLockedValue { unsent in
            defer { unsent.session = nil }
            return unsent.session
        }
    }

    /// Sets the closure that is called, once, when other streams wait for memory and the client of this one has read
    /// nothing for ``LineMemory/patience``.
    ///
    /// - Parameter end: Ends the stream.
    package func whenStalled(_ end: @escaping @Sendable () -> Void) {
        account?.whenStalled(end)
    }
}

extension StreamingSyncRequest {
    /// Whether parameters have a number that no double can hold.
    fileprivate var hasNonFiniteNumber: Bool {
        parameters.hasNonFiniteNumber || streams.subscriptions.contains { $0.parameters?.hasNonFiniteNumber ?? false }
    }
}

extension [String: String] {
    /// The entries with values of at most 100 Unicode scalars.
    fileprivate var loggable: Logger.Metadata {
        Logger.Metadata(
            loggable: map { name, value in
                let scalars = value.unicodeScalars
                let shown = scalars.count > 100 ? String(Substring(scalars.prefix(97))) + "..." : value
                return (name, StreamClient.shown(shown))
            }
        )
    }
}

extension JSONObject {
    /// The types of the members by their names: a value may be what only the user may know.
    fileprivate var loggableTypes: Logger.Metadata {
        Logger.Metadata(loggable: members.map { ($0.name, $0.value.typeName) })
    }
}

extension Logger.Metadata {
    /// The first 20 of some texts, ordered by their names: what a client sends must not flood the log.
    fileprivate init(loggable texts: [(name: String, text: String)]) {
        self = [:]
        for (index, entry) in texts.sorted(by: { $0.name < $1.name }).enumerated() {
            guard index < 20 else {
                self["⚠️"] = "Additional parameters omitted"
                break
            }
            self[StreamClient.shown(entry.name)] = "\(entry.text)"
        }
    }
}

extension ExactJSON {
    fileprivate var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .integer: "integer"
        case .double: "real"
        case .string: "text"
        case .array: "array"
        case .object: "object"
        }
    }
}
