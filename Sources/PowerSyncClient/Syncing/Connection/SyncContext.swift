import Foundation
import PowerSyncProtocol

/// A connector that brings the world with it in which its connections live: a service in this process, and its clock.
package protocol EnvironmentConnector: PowerSyncBackendConnectorProtocol {
    /// Replaces the outside world of a connection, and how it connects.
    ///
    /// - Parameters:
    ///   - environment: That of the database.
    ///   - options: What the app has asked for.
    /// - Returns: What the connection uses.
    func adapt(_ environment: SyncEnvironment, _ options: ConnectOptions) -> (SyncEnvironment, ConnectOptions)
}

/// What one connection consists of, shared by its loops.
struct SyncContext: Sendable {
    /// The database on disk.
    let database: LocalDatabase
    /// The database as the app knows it, for `uploadData`.
    let app: any PowerSyncDatabaseProtocol
    /// The app's back-end connector.
    ///
    /// Its methods are called through ``connectorCalls``.
    let connector: any PowerSyncBackendConnectorProtocol
    /// Runs the methods of the connector.
    let connectorCalls: ConnectorCalls
    /// How the app wants to connect.
    let options: ConnectOptions
    /// What the connection has reached, and what shows it.
    let progress: ConnectionProgress
    /// The checkpoint requests of this connection; `nil` in the legacy mode.
    let checkpointRequests: CheckpointRequests?
    /// The tokens of this connection.
    let credentials: CredentialsCache
    /// Notices whose local writes wait.
    let writers: WriterWatch
    /// The outside world.
    let environment: SyncEnvironment
    /// Measures delays, throttles and timeouts.
    let clock: ElapsedClock
    /// Receives messages.
    let logger: any LoggerProtocol

    /// How the service is reached.
    let transport: any SyncTransport
    /// Where requests are logged.
    let requestLog: SyncRequestLog

    /// Creates the context of a connection.
    init(
        connection: ConnectionRules.ConnectionID,
        database: LocalDatabase,
        app: any PowerSyncDatabaseProtocol,
        connector: any PowerSyncBackendConnectorProtocol,
        options: ConnectOptions,
        status: FileStatus,
        environment: SyncEnvironment,
        logger: any LoggerProtocol
    ) {
        self.database = database
        self.app = app
        self.connector = connector
        let (environment, options) =
            (connector as? any EnvironmentConnector)?.adapt(environment, options) ?? (environment, options)
        self.options = options
        writers = WriterWatch(database: database)
        progress = ConnectionProgress(status, mode: options.mode)
        self.environment = environment
        self.logger = logger
        let clock = ElapsedClock(environment.clock)
        self.clock = clock
        let calls = ConnectorCalls(of: connection, clock: clock)
        connectorCalls = calls
        let credentials = CredentialsCache(configuration: options.clientConfiguration) {
            try await calls.answer(to: "fetchCredentials", within: options.limitOfAnswers) {
                try await connector.fetchCredentials()
            }
        } endpointChanged: { endpoint in
            if endpoint.isPlaintext {
                logger.warning("Tokens and data are sent to \(endpoint) unencrypted.", tag: SyncContext.logTag)
            }
        }
        self.credentials = credentials
        let requestLog = SyncRequestLog(options.clientConfiguration?.requestLogger)
        self.requestLog = requestLog
        let transport = environment.transport(for: options.transport)
        self.transport = transport
        checkpointRequests = options.checkpointMode.retryInterval.map { interval in
            CheckpointRequests(retryInterval: interval, database: database, clock: clock) { id, clientID in
                if let connector = connector as? any CustomCheckpointRequestConnector {
                    return WriteCheckpoint(
                        try await calls.answer(to: "postCheckpointRequest", within: options.limitOfAnswers) {
                            try await connector.postCheckpointRequest(id.rawValue, clientId: clientID)
                        }
                    )
                }
                return try await credentials.withCredentials { credentials in
                    try await clock.withAnswerLimit(
                        CheckpointRequests.answerLimit,
                        otherwise: SyncTransportError(
                            .idle,
                            message: "A checkpoint request was not answered in \(CheckpointRequests.answerLimit)."
                        )
                    ) {
                        try await clock.repeatingUnanswered {
                            try await transport.requestCheckpoint(
                                id,
                                clientID: clientID,
                                credentials: credentials,
                                log: requestLog
                            )
                        }
                    }
                }
            }
        }
    }

    /// Shows what is being waited for, and logs it once.
    ///
    /// - Parameter change: Gets the activity and the date.
    func report(_ change: (inout ConnectionActivity.StateMachine, Date) -> SyncWait?) {
        let now = environment.now()
        if let wait = progress.activityChanged({ change(&$0, now) }) {
            log(.info, "Waiting for \(wait.reason).")
        }
    }

    /// Shows whose local writes wait, and logs when they are another user's.
    ///
    /// - Parameter look: Looks for what is new, as ``WriterWatch`` does. Its problems are told, and are no reason not to sync.
    func reportWriters(_ look: () async throws -> Int?) async {
        do {
            guard let foreign = try await look() else { return }
            // The log first: a reader of the status finds the warning.
            if foreign > 0 {
                log(
                    .warning,
                    foreign.counted("local write that waits was", "local writes that wait were")
                        + " made by another user than the one who is connected now, with whose rights "
                        + "\(foreign.words("it is", "they are")) uploaded. Call disconnectAndClear() when a user signs out."
                )
            }
            report { activity, _ in
                activity.writesAreOfAnotherUser(foreign > 0)
                return nil
            }
        } catch {
            if !Task.isCancelled {
                log(.debug, "It could not be looked who has made the local writes: \(error.lineOfText)")
            }
        }
    }

    /// How long to wait before something that failed is tried again.
    func nextRetryDelay() -> Duration { environment.retryDelay(around: options.retryInterval) }

    /// The date after a delay.
    func date(after delay: Duration) -> Date {
        environment.now().addingTimeInterval(delay / .seconds(1))
    }

    /// Logs a message of the sync client.
    func log(_ severity: LogSeverity, _ message: @autoclosure () -> String) {
        logger.log(severity, message(), tag: SyncContext.logTag)
    }

    private static let logTag = "SyncClient"
}
