public import Foundation

/// Why an operation was refused.
///
/// A refusal is a ``PowerSyncError/operationFailed(message:underlyingError:)`` whose message is for people; the code is its
/// underlying error, for code:
///
/// ```swift
/// do {
///     try await database.updateSchema(schema: schema)
/// } catch let error as PowerSyncError where error.code == .connected {
///     try await database.disconnect()
///     try await database.updateSchema(schema: schema)
/// }
/// ```
///
/// Later versions may have more codes.
public struct PowerSyncErrorCode: Error, Hashable, Sendable {
    private enum Reason: String, Sendable {
        case alreadyRunning, cannotOpen, cleared, closed, connected, connectorFailed, disconnected, fileInUse,
            invalidArgument
        case invalidContext, invalidData, invalidSchema, noRow, notSupported, otherAccount, schemaReplaced,
            syncedByAnother, syncFailed
        case timedOut, uploadQueueStalled, writesNotUploaded
    }

    private let reason: Reason

    private init(_ reason: Reason) {
        self.reason = reason
    }

    /// It runs already, and only once at a time: a ``TableDiff``.
    public static let alreadyRunning = PowerSyncErrorCode(.alreadyRunning)
    /// The database cannot be opened as asked: a folder, a pool or a key does not do.
    public static let cannotOpen = PowerSyncErrorCode(.cannotOpen)
    /// ``PowerSyncDatabaseProtocol/disconnectAndClear(clearLocal:soft:)`` has removed the writes that were to be completed.
    public static let cleared = PowerSyncErrorCode(.cleared)
    /// The database is closed, or was closed while the operation waited.
    public static let closed = PowerSyncErrorCode(.closed)
    /// The database is connected: call ``PowerSyncDatabaseProtocol/disconnect()`` before.
    public static let connected = PowerSyncErrorCode(.connected)
    /// The connector gave no credentials, or ones that cannot be used; no request was made.
    public static let connectorFailed = PowerSyncErrorCode(.connectorFailed)
    /// The connection was ended while the operation waited for it.
    public static let disconnected = PowerSyncErrorCode(.disconnected)
    /// Another instance has the database file open.
    public static let fileInUse = PowerSyncErrorCode(.fileInUse)
    /// An argument or an option is outside of what is allowed.
    ///
    /// Its name is in the message, and nothing was done.
    public static let invalidArgument = PowerSyncErrorCode(.invalidArgument)
    /// A context or a transaction was used outside of its callback.
    public static let invalidContext = PowerSyncErrorCode(.invalidContext)
    /// What is stored, or what the service has sent, cannot be read.
    public static let invalidData = PowerSyncErrorCode(.invalidData)
    /// The schema is not valid, or does not have what the operation names.
    public static let invalidSchema = PowerSyncErrorCode(.invalidSchema)
    /// The query gave no row.
    public static let noRow = PowerSyncErrorCode(.noRow)
    /// This database, table or platform cannot do it.
    public static let notSupported = PowerSyncErrorCode(.notSupported)
    /// The file belongs to another account than the one to connect.
    public static let otherAccount = PowerSyncErrorCode(.otherAccount)
    /// The schema was replaced while the operation went on.
    public static let schemaReplaced = PowerSyncErrorCode(.schemaReplaced)
    /// Another database object of this process syncs the same file.
    public static let syncedByAnother = PowerSyncErrorCode(.syncedByAnother)
    /// Syncing failed in this process, for a reason outside SQLite.
    public static let syncFailed = PowerSyncErrorCode(.syncFailed)
    /// What was waited for has not happened in the time that was given.
    public static let timedOut = PowerSyncErrorCode(.timedOut)
    /// ``PowerSyncBackendConnectorProtocol/uploadData(database:)`` returned twice without completing the same first write.
    public static let uploadQueueStalled = PowerSyncErrorCode(.uploadQueueStalled)
    /// Local writes wait for an upload: a connection with ``ConnectionMode/downloadOnly`` cannot show a checkpoint because of them, or
    /// removing the data of the user would lose them.
    public static let writesNotUploaded = PowerSyncErrorCode(.writesNotUploaded)
}

extension PowerSyncErrorCode: CustomStringConvertible, LocalizedError {
    /// The name of the code, for example `closed`.
    public var description: String { reason.rawValue }

    /// The name of the code: the text for people is the message of the error that carries it.
    public var errorDescription: String? { description }
}

extension PowerSyncError {
    /// Why the operation was refused; `nil` for errors of SQLite, and for failures that have an error of another library below.
    ///
    /// An error that tells where another one of the SDK came from has that one's code.
    public var code: PowerSyncErrorCode? {
        guard case .operationFailed(_, let cause) = self else { return nil }
        return switch cause {
        case let code as PowerSyncErrorCode: code
        case let error as PowerSyncError: error.code
        case is DatabaseKeyError: .cannotOpen
        default: nil
        }
    }
}
