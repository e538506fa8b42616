public import Foundation
import Logging
import NIOConcurrencyHelpers
public import PowerSync
import PowerSyncBackend
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServiceCore
import PowerSyncAuth

/// A sync service and a backend in the process of a test: rows, users, uploads and faults, without a port and without waiting.
///
/// Rows that a test puts in go to clients by the streams of a sync config, through the code of the real service and the real
/// client. What clients upload changes the rows, unless the test says otherwise.
///
/// ```swift
/// let service = try FakeService(streams: """
///     config: {edition: 3}
///     streams:
///       todos:
///         auto_subscribe: true
///         query: SELECT * FROM todos WHERE owner_id = auth.user_id()
///     """)
/// try service.put("todos", ["id": "t1", "owner_id": "alice", "title": "Milk"])
///
/// let database = PowerSyncDatabase(inMemory: schema)
/// try await database.connect(connector: service.connector(user: "alice"))
/// try await service.waitUntilSynced(database)
/// ```
///
/// Time stands still: clients try again what has failed when a fault ends, when an answer to uploads changes, with ``retry()``, or when
/// the test moves the ``clock``.
///
/// A service lives as long as it has an owner, a client included that is connected to it. Services of one process know nothing of
/// each other.
public final class FakeService: Sendable {
    /// The clock of the service and of the clients that are connected to it.
    ///
    /// It measures delays between attempts, timeouts, keepalives and the lifetime of tokens.
    public let clock: TestClock
    /// What clients upload, and how it is answered.
    public let uploads: Uploads
    /// What is doubtful in the sync config, each with line and column.
    public let warnings: [String]

    let rows: ServiceRows
    let sessions: SyncSession.Environment
    let verifier: TokenVerifier
    let signer: SyncTokenSigner
    let now: @Sendable () -> Date
    let state = NIOLockedValueBox(State())
    /// Fired after every change that may be waited for.
    let changes = Signal()
    /// Tells sessions of checkpoints.
    private let dispatching = NIOLockedValueBox<Task<Void, Never>?>(nil)

    /// Creates a service without rows.
    ///
    /// - Parameters:
    ///   - config: The sync config, as YAML text.
    ///   - clock: A clock that stands still until the test moves it.
    ///   - date: The date at which the clock begins.
    /// - Throws: ``FakeServiceError`` when the sync config has errors.
    public init(streams config: String, clock: TestClock = TestClock(), date: Date = Date()) throws {
        let result = SyncConfig.parse(config)
        let diagnostics = result.diagnostics.map { "\($0)" }
        guard let plan = result.plan else {
            throw FakeServiceError(.invalidConfig, "The sync config has errors:", diagnostics: diagnostics)
        }
        warnings = diagnostics
        uploads = Uploads(changes)
        self.clock = clock
        let start = clock.now
        let now: @Sendable () -> Date = { date.addingTimeInterval(start.duration(to: clock.now) / .seconds(1)) }
        self.now = now
        rows = try ServiceRows(config, plan: plan)
        sessions = SyncSession.Environment(
            storage: rows.storage,
            // Between two looks at the storage it makes no pause: nothing has to be gathered.
            dispatcher: CheckpointDispatcher(storage: rows.storage, clock: TestClock { _ in }),
            dataReaders: ConcurrencyQueue(maximumRunning: .max, maximumWaiting: .max),
            limits: BucketLimits(),
            timing: Timing(clock: clock, now: now, random: { 0.5 })
        )
        var random = SystemRandomNumberGenerator()
        let secret = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        signer = SyncTokenSigner(key: try .hs256(secret: secret, id: "fake"), audience: "fake")
        let key = JSONWebKey(id: "fake", algorithm: .hs256, material: .symmetric(secret))
        verifier = TokenVerifier(keys: [key], audience: ["fake"])
    }

    deinit {
        dispatching.withLockedValue { $0 }?.cancel()
    }

    /// What a client connects with as a user.
    ///
    /// ```swift
    /// try await database.connect(connector: service.connector(user: "alice", claims: ["role": .string("admin")]))
    /// ```
    ///
    /// Each database has one of its own. Its options are the app's, but `ConnectOptions.crudThrottle` is 0, and
    /// `ConnectOptions.retryDelay` at least 0.1 s of the service's clock.
    ///
    /// - Parameters:
    ///   - user: The user: `auth.user_id()`, the claim `sub`.
    ///   - claims: Further claims of the tokens; those that every token has, such as `sub`, stay as they are.
    ///   - tokenLifetime: How long each token is valid, by the service's clock.
    ///   - uploader: The app's own connector, to test its `uploadData`; ``uploads`` then gets nothing.
    /// - Returns: The connector.
    public func connector(
        user: String,
        claims: JsonParam = [:],
        tokenLifetime: Duration = .seconds(3600),
        uploadingWith uploader: (any PowerSyncBackendConnectorProtocol)? = nil
    ) -> some PowerSyncBackendConnectorProtocol {
        InProcessConnector(service: self, user: user, claims: claims, tokenLifetime: tokenLifetime, uploader: uploader)
    }

    /// Waits until databases have everything that is in the service now, and what was written to each is in the service and the others.
    ///
    /// A database that is not connected is waited for. While checkpoints are held back, nothing arrives.
    ///
    /// - Parameter databases: The databases.
    /// - Throws: `CancellationError`, an error of a database that is closed, or ``FakeServiceError`` for one of another SDK, or where the
    ///   sync config has the event `write_checkpoints` or `checkpoint_requests`.
    public func waitUntilSynced(_ databases: any PowerSyncDatabaseProtocol...) async throws {
        for database in databases { try await waitForCheckpoint(of: database) }
        // What the others have uploaded meanwhile; the last one has waited for all of them.
        for database in databases.dropLast() { try await waitForCheckpoint(of: database) }
    }

    private func waitForCheckpoint(of database: any PowerSyncDatabaseProtocol) async throws {
        guard let status = database.currentStatus as? LiveSyncStatus else {
            throw FakeServiceError(.foreignDatabase, "A \(type(of: database)) does not say what it has synced.")
        }
        guard !rows.plan.hasEvents else {
            throw FakeServiceError(
                .customWriteCheckpoints,
                "Rows of the service tell when uploads are through: wait for what the database is to show."
            )
        }
        let userKey = try await userKey(of: try await database.getClientId(), status)
        let checkpoint = try makeWriteCheckpoint(userKey: userKey)
        try await status.wait { _ in status.hasApplied(checkpoint) }
    }

    /// Waits until a client has a stream.
    ///
    /// - Returns: Whose write checkpoints the stream has.
    private func userKey(of clientID: String, _ status: LiveSyncStatus) async throws -> String {
        try await withThrowingTaskGroup { tasks in
            defer { tasks.cancelAll() }
            tasks.addTask {
                try await self.changes.wait { self.state.withLockedValue { $0.streams.userKey(of: clientID) } }
            }
            tasks.addTask {
                // Throws when the database is closed.
                try await status.wait { _ in false }
                throw CancellationError()
            }
            guard let userKey = try await tasks.next() else { throw CancellationError() }
            return userKey
        }
    }

    /// The users that have sync streams open, in order of their names.
    public var connectedUsers: [String] {
        state.withLockedValue { state in
            Set(state.streams.values.compactMap { state.connections[$0.connection]?.user }).sorted()
        }
    }

    func makeWriteCheckpoint(_ requested: WriteCheckpoint? = nil, userKey: String) throws -> WriteCheckpoint {
        guard !rows.plan.hasEvents else { throw ManagedWriteCheckpointError() }
        defer { changes.fire() }
        return try rows.makeWriteCheckpoint(requested, userKey: userKey) { position in
            sessions.dispatcher.writeCheckpointRecorded(userKey: userKey, at: position)
        }
    }

    /// Begins to tell sessions of checkpoints.
    func startDispatching() {
        dispatching.withLockedValue { task in
            task = task ?? Task { [dispatcher = sessions.dispatcher] in try? await dispatcher.run() }
        }
    }

    /// What the service logs is of no use to tests of apps.
    static let logger = Logger(label: "powersync.fake") { _ in SwiftLogNoOpLogHandler() }
}
