import Logging
import MySQLBinlog
import NIOConcurrencyHelpers
import PowerSyncMySQLConnection
import PowerSyncProtocol
import PowerSyncServiceCore

/// What errors of the server mean for a stream.
extension MySQLSource {
    /// Runs a call, and gives its errors the words that operators see.
    func calling<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as MySQLConnectionError {
            throw Self.fault(error)
        }
    }

    /// The error of a call.
    static func fault(_ error: MySQLConnectionError) -> ReplicationSourceError {
        ReplicationSourceError(.unavailable, "\(error)", underlyingError: MySQLFault(error))
    }

    /// The error for a log that does not have what it had up to a position.
    func lost(_ position: SourcePosition) -> ReplicationSourceError {
        ReplicationSourceError(
            .historyLost,
            """
            The database is no longer what was replicated up to \(LogPosition(position.lsn)?.description ?? "\(position.lsn)") of its log: it \
            was restored, reset or replaced. The tables are copied again.
            """
        )
    }

    /// What it means that the server says that its log ends before what was read of it, or goes on in an earlier file.
    func contradiction(of position: SourcePosition) async -> any Error {
        do {
            guard try await log.verify(position) else { return lost(position) }
        } catch {
            return error is CancellationError ? error : ReplicationSourceError(error)
        }
        return ReplicationSourceError(
            .unavailable,
            "The server has sent its log from another place than it was read to. It is read again."
        )
    }

    /// What an error means that has ended a stream.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - handle: The stream.
    ///   - position: From where it was read.
    /// - Returns: The error to throw in its place.
    func explain(_ error: any Error, of handle: String, after position: SourcePosition) async -> any Error {
        switch error {
        case is CancellationError, is ReplicationSourceError: return error
        case let incident as LogIncident:
            return ReplicationSourceError(
                .historyLost,
                "The server says that its log lacks events: \(incident.message). The tables are copied again."
            )
        case let error as MySQLConnectionError:
            do {
                return try await explain(error, handle, position)
            } catch let other {
                // The server cannot be asked now.
                return other is CancellationError ? other : Self.fault(error)
            }
        default:
            // The log cannot be read. If it is another one than it was, that is why.
            if (try? await log.verify(position)) == false { return lost(position) }
            // Or the position is not where an event begins, and what comes is read as something else.
            if error is BinlogError, let start = LogPosition(position.lsn),
                (try? await log.hasEvent(at: start)) == false
            {
                log.contradict(position)
                return lost(position)
            }
            return unreadable(error, handle)
        }
    }

    /// The error for a log that cannot be read at some place.
    ///
    /// It may have been damaged on the way. One that the server has so is asked for in vain; an operator has to copy everything again.
    private func unreadable(_ error: any Error, _ handle: String) -> ReplicationSourceError {
        let count = streams.withLockedValue { streams in
            let known = streams[handle]?.unreadable
            let count = known?.error == "\(error)" ? (known?.count ?? 0) + 1 : 1
            streams[handle, default: StreamState()].unreadable = ("\(error)", count)
            return count
        }
        guard count >= Self.mostReadings else {
            return ReplicationSourceError(
                .unavailable,
                "The log cannot be read: \(error). It is read again.",
                underlyingError: error
            )
        }
        return ReplicationSourceError(
            .unavailable,
            """
            The log cannot be read: \(error). That was so \(count) times at this place: the server's file is damaged, or something on the \
            way to it. It is read once a minute; POST /api/admin/v1/reprocess copies everything again, and reads the log behind that place.
            """,
            underlyingError: MySQLRefusal()
        )
    }

    /// How often the log is read at a place that cannot be read, before there are pauses of a minute.
    private static let mostReadings = 3

    private func explain(
        _ error: MySQLConnectionError,
        _ handle: String,
        _ position: SourcePosition
    ) async throws -> any Error {
        guard let start = LogPosition(position.lsn) else { return Self.fault(error) }
        switch LogFault(error) {
        case .deleted:
            guard try await log.verify(position) else { return lost(position) }
            return try await log.deleted(start, handle)
        case .otherReader:
            return ReplicationSourceError(
                .unavailable,
                """
                Another reader has taken the place of this stream at the server. If two services read this server, give each a server_id of its \
                own. (\(error))
                """,
                underlyingError: MySQLFault(error, pause: .seconds(60))
            )
        case .place:
            guard try await log.verify(position) else { return lost(position) }
            // The server finds no event at the position, although the file is the same.
            if try await !log.hasEvent(at: start) {
                log.contradict(position)
                return lost(position)
            }
            return ReplicationSourceError(
                .unavailable,
                "The server cannot read its log: \(error)",
                underlyingError: MySQLFault(error, pause: .seconds(60))
            )
        case .connection where error.code == .silence || error.code == .timeout:
            // Who says nothing would be asked for a minute in vain; the next attempt begins with the question.
            return Self.fault(error)
        case .connection:
            // It may be up again, and be another one.
            guard try await log.verify(position) else { return lost(position) }
            return Self.fault(error)
        case .other: return Self.fault(error)
        }
    }
}

/// What an error of the log says.
enum LogFault: Sendable, Hashable {
    /// The file of the position is gone.
    case deleted
    /// Another process reads as the same replica.
    case otherReader
    /// There is no event at the position, or it is damaged.
    case place
    /// The server is gone, or silent.
    case connection
    /// Something else, such as a missing privilege.
    case other

    /// Reads an error.
    init(_ error: MySQLConnectionError) {
        let text = error.message.lowercased()
        switch (error.code, error.serverCode) {
        case (_, 4052): self = .otherReader
        case (_, 1236) where text.contains("same server_uuid") || text.contains("same server_id"): self = .otherReader
        case (_, 1236) where text.contains("could not find first log file") || text.contains("purged"): self = .deleted
        case (_, 1236): self = .place
        case (.server, 1053), (.server, 1927), (.lost, _), (.silence, _), (.closed, _), (.timeout, _),
            (.unreachable, _):
            self = .connection
        default: self = .other
        }
    }
}

/// An error of a server, with how long to wait before the next attempt.
struct MySQLFault: PausingError, CataloguedError {
    var error: MySQLConnectionError
    /// How long to wait; `nil` for as long as after other errors.
    var pause: Duration?
    /// None: the errors of servers have numbers of their own.
    var catalogueCode: ErrorCode? { nil }

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - error: What the server says.
    ///   - pause: How long to wait, if not as the number of the error says.
    init(_ error: MySQLConnectionError, pause: Duration? = nil) {
        self.error = error
        self.pause = pause ?? Self.pause(after: error.serverCode)
    }

    private static func pause(after code: UInt16?) -> Duration? {
        switch code {
        // A server that refuses a password may close the account to others who try again soon.
        case MySQLServerCode.accountDenied, 1698: .seconds(900)
        case MySQLServerCode.privilegeMissing, MySQLServerCode.schemaDenied: MySQLRefusal.interval
        default: nil
        }
    }
}

/// Something that an operator has to change at the server: asking it again soon is in vain.
struct MySQLRefusal: PausingError {
    /// How long to wait: a minute.
    static let interval = Duration.seconds(60)

    var pause: Duration? { Self.interval }
}
