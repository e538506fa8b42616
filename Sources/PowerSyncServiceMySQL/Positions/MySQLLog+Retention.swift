import Logging
import NIOConcurrencyHelpers
import PowerSyncMySQLConnection
package import PowerSyncServiceCore

/// What the server keeps of its log: it deletes files by their age, whether they were read or not.
extension MySQLLog {
    /// A stream that this process has prepared.
    struct PreparedStream: Sendable {
        /// Where it goes on.
        var position: LogPosition
        /// The oldest file when it was prepared.
        var oldestFile: UInt32?
        /// When the log was looked at while tables are copied.
        var checked: Stopwatch
    }

    /// How often the log is looked at while tables are copied.
    private static let checkInterval = Duration.seconds(120)
    /// How many files are left when a warning is given, once the server has deleted some.
    private static let fewFiles = 3

    /// Makes sure that a stream can be read, and remembers it.
    ///
    /// - Parameters:
    ///   - handle: What the stream is called.
    ///   - position: Where it goes on; `nil` for a stream that has not begun.
    ///   - reached: A later position that the log is known to have had.
    /// - Returns: `position`, or one before which tables show everything.
    /// - Throws: ``ReplicationSourceError`` with code `historyLost` or `retentionExceeded`; ``MySQLConnectionError``.
    package func prepare(
        _ handle: String,
        resumingAfter position: SourcePosition?,
        reached: LSN?
    ) async throws -> SourcePosition {
        guard let position else {
            let start = try await visibleHead()
            if let lsn = LogPosition(start.lsn) { try await remember(handle, lsn) }
            return start
        }
        guard let start = LogPosition(position.lsn) else {
            throw ReplicationSourceError(.historyLost, "“\(position)” is not a position in the log of a MySQL server.")
        }
        let all = [position] + (reached.map { [SourcePosition($0, of: position.history)] } ?? [])
        for known in all where try await !verify(known) {
            throw ReplicationSourceError(
                .historyLost,
                """
                The database is no longer what was replicated up to \(LogPosition(known.lsn)?.description ?? "\(known.lsn)") of \
                its log: it was restored, reset or replaced. The tables are copied again.
                """
            )
        }
        try await remember(handle, start)
        return position
    }

    /// Notes a stream, if the log has all that follows its position.
    private func remember(_ handle: String, _ position: LogPosition) async throws {
        let files = try await pool.withConnection { try await self.files($0) }
        guard files.contains(where: { $0.name.number == position.file }) else {
            throw try await deleted(position, handle, files)
        }
        state.withLockedValue { state in
            state.streams[handle] = PreparedStream(
                position: position,
                oldestFile: files.first?.name.number,
                checked: Stopwatch(clock)
            )
        }
    }

    /// The error for a position whose file the server has deleted.
    package func deleted(_ position: LogPosition, _ handle: String) async throws -> ReplicationSourceError {
        try await deleted(position, handle, try await pool.withConnection { try await self.files($0) })
    }

    private func deleted(
        _ position: LogPosition,
        _ handle: String,
        _ files: [ListedLogFile]
    ) async throws -> ReplicationSourceError {
        let name = files.last.map { LogFileName(base: $0.name.base, number: position.file).description }
        let seconds = try await keptSeconds()
        let wasKept = state.withLockedValue { $0.streams[handle] != nil }
        return ReplicationSourceError(
            wasKept ? .retentionExceeded : .historyLost,
            """
            The log file \(name ?? "\(position.file)"), which is needed from offset \(position.offset), was deleted by the server\
            \(wasKept ? "." : ": all tables are copied again.") Raise binlog_expire_logs_seconds (now \
            \(seconds.map { "\($0)" } ?? "not set")) or the host's retention\(wasKept ? ", then start the service again." : ".")
            """
        )
    }

    /// After how many seconds the server deletes a file; `nil` for never, or when it does not say.
    private func keptSeconds() async throws -> Int64? {
        let rows = try await pool.withConnection { connection in
            try await connection.query(
                "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('binlog_expire_logs_seconds', 'expire_logs_days')"
            )
        }.rows
        func value(_ name: String) -> Double? {
            rows.first { $0.string("Variable_name") == name }?.string("Value").flatMap { Double($0) }
        }
        let seconds = value("binlog_expire_logs_seconds") ?? 0
        let all = seconds > 0 ? seconds : (value("expire_logs_days") ?? 0) * 86_400
        return all > 0 ? Int64(all) : nil
    }

    /// Makes sure that the log still has what a stream needs while tables are copied: looks every two minutes.
    ///
    /// - Throws: ``ReplicationSourceError`` with code `retentionExceeded`; ``MySQLConnectionError``.
    package func checkRetention(for handle: String) async throws {
        let due = state.withLockedValue { state -> PreparedStream? in
            guard let stream = state.streams[handle], stream.checked.elapsed >= Self.checkInterval else { return nil }
            state.streams[handle]?.checked.restart()
            return stream
        }
        guard let stream = due else { return }
        let files = try await pool.withConnection { try await self.files($0) }
        guard let oldest = files.first?.name.number, oldest <= stream.position.file else {
            throw try await deleted(stream.position, handle, files)
        }
        let isMoving = stream.oldestFile.map { oldest > $0 } ?? false
        let left = stream.position.file - oldest
        let age = try await ageOfNext(stream.position, files)
        guard isMoving && left < Self.fewFiles || age.map({ $0 > 0.8 }) ?? false else { return }
        logger.warning(
            "The server will soon delete the log file from which on changes are needed: then the copy is in vain",
            metadata: [
                LogKey.slot: "\(handle)", LogKey.remedy: "raise binlog_expire_logs_seconds, or the host's retention",
            ]
        )
    }

    /// Warns when the server has kept the log that a stream reads for more than half of the time for which it does so.
    ///
    /// - Parameter handle: The stream.
    /// - Throws: ``MySQLConnectionError``, or `CancellationError`.
    func warnIfFarBehind(_ handle: String) async throws {
        guard let position = state.withLockedValue({ $0.streams[handle]?.position }) else { return }
        let files = try await pool.withConnection { try await self.files($0) }
        guard let age = try await ageOfNext(position, files), age > 0.5 else { return }
        logger.warning(
            "The service is behind by more than half of the time for which the server keeps its log: it will be copied again if that goes on",
            metadata: [
                LogKey.slot: "\(handle)", LogKey.remedy: "raise binlog_expire_logs_seconds, or the host's retention",
            ]
        )
    }

    /// Which part of the time that the server keeps files for has passed since the file of a position was complete.
    private func ageOfNext(_ position: LogPosition, _ files: [ListedLogFile]) async throws -> Double? {
        guard let next = files.first(where: { $0.name.number == position.file + 1 }),
            let seconds = try await keptSeconds()
        else { return nil }
        let madeAt = try await beginning(of: next.name).madeAt
        let now = try await pool.withConnection { try await $0.query("SELECT UNIX_TIMESTAMP()").firstString }
        return now.flatMap { Double($0) }.map { ($0 - Double(madeAt)) / Double(seconds) }
    }

    // MARK: Size

    /// The bytes of the log between two positions; `nil` when the size of a file between them is not known.
    ///
    /// Files are measured whenever the log is looked at: once a minute while the head is asked for.
    package func size(from earlier: LogPosition, to later: LogPosition) -> Int64? {
        guard earlier < later else { return 0 }
        guard earlier.file < later.file else { return Int64(clamping: later.offset - earlier.offset) }
        guard later.file - earlier.file <= Self.mostFiles else { return nil }
        return state.withLockedValue { state in
            var bytes = Int64(clamping: later.offset)
            for number in earlier.file..<later.file {
                guard let size = state.files[number] else { return nil }
                bytes += Int64(clamping: number == earlier.file ? size - min(size, earlier.offset) : size)
            }
            return bytes
        }
    }

    /// The most files that are added up.
    private static let mostFiles: UInt32 = 100_000

    /// What the server keeps for a stream: `reserved` while the file of its position exists, else `lost`.
    ///
    /// - Returns: `nil` when this process has not prepared the stream.
    /// - Throws: ``MySQLConnectionError``.
    package func retention(of handle: String) async throws -> LogRetention? {
        guard let position = state.withLockedValue({ $0.streams[handle]?.position }) else { return nil }
        let files = try await pool.withConnection { try await self.files($0) }
        let isThere = files.contains { $0.name.number == position.file }
        return LogRetention(
            status: isThere ? "reserved" : "lost",
            safeBytes: nil,
            maximumBytes: nil,
            setting: "binlog_expire_logs_seconds"
        )
    }

    /// Notes how far a stream has been stored.
    package func advance(_ handle: String, to lsn: LSN) {
        guard let position = LogPosition(lsn) else { return }
        state.withLockedValue { $0.streams[handle]?.position = position }
    }
}
