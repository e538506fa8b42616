package import Logging
import MySQLBinlog
import NIOConcurrencyHelpers
package import PowerSyncMySQLConnection
package import PowerSyncServiceCore

/// The binary log of a server: where it ends, up to where tables show it, and whether it still has what was read of it.
///
/// A history is called `mysql.3e11fa47-71ca-11e1-9e33-c80aa9429562.binlog` or `mariadb.1-0.mariadb-bin`: the kind of the server, which
/// one it is (``LogServer``), and what the names of its log files have in common; then a `~` and a position for each time that it went
/// back (``LogRewinds``).
package final class MySQLLog: Sendable {
    /// An end of the log, and which server's.
    struct End: Sendable {
        var server: LogServer
        /// What the names of the log files have in common.
        var base: String
        var position: LogPosition
    }

    /// A server, and where its log ended when it was asked.
    struct KnownEnd: Sendable {
        var server: LogServer
        var file: LogFileName
        var offset: UInt64

        /// Whether it is of the same run of the same server, which has not begun another log.
        func isSameLog(as server: LogServer, _ file: LogFileName) -> Bool {
            self.server.isSameRun(as: server) && self.file.base == file.base
        }

        /// Whether the place is not before this end.
        func isBehind(_ file: LogFileName, _ offset: UInt64) -> Bool {
            (self.file.number, self.offset) <= (file.number, offset)
        }
    }

    /// What is known of the server.
    struct State: Sendable {
        /// The server of each connection that is open.
        var connections: [ConnectionServer] = []
        /// The server, and where its log ended last.
        var latest: KnownEnd?
        /// The stamps of files by their numbers, and when the files were made, in seconds since 1970 by the server's clock.
        var stamps: [UInt32: (stamp: UInt32, madeAt: UInt32)] = [:]
        var rewinds = LogRewinds()
        /// When known positions were looked for in the log, by the names of their histories.
        var verified: [SourceHistory: Stopwatch] = [:]
        /// The sizes of the files, as of the last look at all of them.
        var files: [UInt32: UInt64] = [:]
        /// The streams that were prepared.
        var streams: [String: PreparedStream] = [:]
    }

    /// Which server a connection is to: the same one for as long as the connection is open.
    struct ConnectionServer: Sendable {
        weak let connection: MySQLConnection?
        let server: LogServer
    }

    let connector: MySQLConnector
    let pool: MySQLPool
    let clock: any Clock<Duration>
    let logger: Logger
    let state = NIOLockedValueBox(State())

    /// Creates the log of a server; connects when it is asked.
    ///
    /// - Parameters:
    ///   - connector: Opens connections for what the pool has none for.
    ///   - pool: Connections for short statements.
    ///   - clock: Measures how long ago positions were looked for.
    ///   - logger: For warnings.
    package init(
        _ connector: MySQLConnector,
        pool: MySQLPool,
        clock: any Clock<Duration>,
        logger: Logger
    ) {
        self.connector = connector
        self.pool = pool
        self.clock = clock
        self.logger = logger
    }

    /// Where the log ends: not before any commit that was confirmed to a client before the call.
    ///
    /// - Parameter known: A position that the log is known to have had.
    /// - Returns: A position of the history of `known` only if the log has that position, as far as was found within the last minute.
    /// - Throws: ``MySQLConnectionError``, or `CancellationError`.
    package func head(having known: SourcePosition? = nil) async throws -> SourcePosition {
        try await pool.withConnection { connection in
            let end = try await end(connection)
            guard let known, isDue(known, at: end) else { return named(end) }
            try await verify(known, connection)
            return named(try await self.end(connection))
        }
    }

    /// The end of the log.
    func end(_ connection: MySQLConnection) async throws -> End {
        let before = latest
        let (file, offset) = try await connection.logEnd()
        return try await place(file, offset, connection, after: before)
    }

    /// The end that is known.
    var latest: KnownEnd? { state.withLockedValue { $0.latest } }

    /// The position of a place in the log, after a look at which server the connection is to.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - offset: The place in it.
    ///   - connection: Where that was asked.
    ///   - before: The end that was known before it was asked: answers overtake each other, and one that is behind another which was
    ///     asked for at the same time says nothing.
    /// - Returns: The place with its stamp.
    /// - Throws: ``MySQLConnectionError``, or `CancellationError`.
    func place(
        _ file: LogFileName,
        _ offset: UInt64,
        _ connection: MySQLConnection,
        after before: KnownEnd?
    ) async throws -> End {
        let server = try await server(of: connection)
        state.withLockedValue { state in
            let last = state.latest
            let isKnown = last.map { $0.isSameLog(as: server, file) && $0.isBehind(file, offset) } ?? true
            let isOther = before.map { !$0.isSameLog(as: server, file) || !$0.isBehind(file, offset) } ?? false
            if isKnown || isOther { state.latest = KnownEnd(server: server, file: file, offset: offset) }
            guard isOther, let before else { return }
            let isSameLog = before.server.identity == server.identity && before.file.base == file.base
            // Nothing that was found before counts.
            state.stamps = [:]
            state.verified = [:]
            // Another server has names of its own.
            if !isSameLog { state.rewinds = LogRewinds() }
        }
        let stamp = try await stamp(of: file)
        return End(
            server: server,
            base: file.base,
            position: LogPosition(file: file.number, offset: offset, stamp: stamp)
        )
    }

    /// A position with the name that its history has now.
    func named(_ end: End) -> SourcePosition {
        let name = "\(end.server.flavour.rawValue).\(end.server.identity).\(end.base)"
        let suffix = state.withLockedValue { $0.rewinds.suffix }
        return SourcePosition(end.position.lsn, of: SourceHistory(rawValue: name + suffix))
    }

    private func server(of connection: MySQLConnection) async throws -> LogServer {
        let known = state.withLockedValue { state in
            state.connections.removeAll { $0.connection == nil }
            return state.connections.first { $0.connection === connection }?.server
        }
        if let known { return known }
        let server = try await LogServer.read(connection)
        state.withLockedValue { $0.connections.append(ConnectionServer(connection: connection, server: server)) }
        return server
    }

    // MARK: Files

    /// How long the server may take to send the first events of a file.
    private static let stampTimeout = Duration.seconds(10)

    /// The stamp of a file (``FileStamp``), by a short dump on a connection of its own when it is not known.
    func stamp(of file: LogFileName) async throws -> UInt32 {
        try await beginning(of: file).stamp
    }

    /// The stamp of a file, and when it was made.
    func beginning(of file: LogFileName) async throws -> (stamp: UInt32, madeAt: UInt32) {
        if let known = state.withLockedValue({ $0.stamps[file.number] }) { return known }
        let connection = try await connector.open()
        defer { connection.close() }
        let checksum = try await connection.logChecksum()
        let request = BinlogRequest(file: file.description, waits: false, silenceLimit: Self.stampTimeout)
        let found = try await connection.withBinlog(request) { packets in
            var decoder = BinlogDecoder(file: request.file, offset: LogPosition.startOfFile, checksum: checksum)
            var reader = FileStamp()
            while reader.stamp == nil, let packet = try await packets.next() {
                try decoder.append(packet)
                while let event = try decoder.next() { reader.add(event) }
            }
            reader.end()
            return reader
        }
        guard let stamp = found.stamp else {
            throw MySQLConnectionError(.protocolViolation, "Log file \(file) has no event that describes it.")
        }
        let beginning = (stamp: stamp, madeAt: found.madeAt)
        state.withLockedValue { $0.stamps[file.number] = beginning }
        return beginning
    }

    /// When the file of a position was made, by the server's clock, if that was found when the position was looked for.
    func madeAt(fileOf position: LogPosition) -> UInt32? {
        state.withLockedValue { $0.stamps[position.file]?.madeAt }
    }

    /// Notes the stamp of a file that a change stream has found.
    package func note(_ stamp: FileStamp, of file: LogFileName) {
        guard let found = stamp.stamp else { return }
        state.withLockedValue { $0.stamps[file.number] = (stamp: found, madeAt: stamp.madeAt) }
    }
}
