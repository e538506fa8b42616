import MySQLBinlog
import NIOConcurrencyHelpers
import PowerSyncMySQLConnection
package import PowerSyncServiceCore

/// Whether the log still has what was read of it.
///
/// ```
/// SHOW BINARY LOGS has the file    the size         the stamp   the log
/// yes                              ≥ the offset     the same    has the position
/// yes                              < the offset                 went back
/// yes                                               another     went back
/// no, and only lower numbers                                    went back
/// no, and only higher numbers                                   may have had the position: `prepare` says that it is gone
/// ```
extension MySQLLog {
    /// How long what was found of a known position counts while the server stays the same.
    private static let verificationInterval = Duration.seconds(60)

    /// Looks for a position in the log; if the log does not have it, the history has another name from now on.
    ///
    /// - Parameter known: The position.
    /// - Returns: Whether the position is one of the history that the server has now.
    /// - Throws: ``MySQLConnectionError``, or `CancellationError`.
    package func verify(_ known: SourcePosition) async throws -> Bool {
        try await pool.withConnection { try await verify(known, $0) }
    }

    @discardableResult
    func verify(_ known: SourcePosition, _ connection: MySQLConnection) async throws -> Bool {
        // The server may have begun its log anew, with the same numbers.
        state.withLockedValue { $0.stamps = [:] }
        let end = try await end(connection)
        let history = named(end).history
        guard LogRewinds.concerns(known, history), let position = LogPosition(known.lsn) else {
            return known.history == history
        }
        let isInLog = try await has(position, connection)
        state.withLockedValue { state in
            _ = state.rewinds.learn(from: known, in: history, isInLog: isInLog)
            state.verified[known.history] = Stopwatch(clock)
        }
        return isInLog && known.history == named(end).history
    }

    /// Whether the log has, or may have had, a position.
    private func has(_ position: LogPosition, _ connection: MySQLConnection) async throws -> Bool {
        let files = try await files(connection)
        guard let oldest = files.first, let newest = files.last else { return false }
        guard position.file >= oldest.name.number else { return true }
        guard position.file <= newest.name.number,
            let file = files.first(where: { $0.name.number == position.file }),
            file.size >= position.offset
        else { return false }
        return try await stamp(of: file.name) == position.stamp
    }

    /// The files that the server has, which are noted.
    func files(_ connection: MySQLConnection) async throws -> [ListedLogFile] {
        let files = try await connection.logFiles()
        state.withLockedValue { state in
            state.files = Dictionary(files.map { ($0.name.number, $0.size) }) { $1 }
        }
        return files
    }

    /// Notes that the log has something else at a position than it had: the history has another name from now on.
    package func contradict(_ position: SourcePosition) {
        state.withLockedValue { $0.rewinds.learn(contradicting: position.lsn, in: position.history) }
    }

    /// Whether a known position is to be looked for: at first, once a minute, and whenever the log may be another one.
    func isDue(_ known: SourcePosition, at end: End) -> Bool {
        let history = named(end).history
        return state.withLockedValue { state in
            guard LogRewinds.concerns(known, history) else { return false }
            let isBehind = LogPosition(known.lsn).map { $0 > end.position } ?? true
            guard !isBehind, let last = state.verified[known.history] else { return true }
            return last.elapsed >= Self.verificationInterval
        }
    }
}
