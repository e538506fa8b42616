package import HTTPConnections
public import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import PowerSyncSyncConfig
package import PowerSyncServiceCore
public import ServiceLifecycle

/// A sync service: replicates a source into buckets, and serves them to clients over HTTP.
///
/// Run it in a `ServiceGroup`, which ends it on signals:
///
/// ```swift
/// let configuration = try ServiceConfiguration(
///     contentsOf: "service.yaml", environment: ProcessInfo.processInfo.environment)
/// let service = try SyncService(configuration: configuration, logger: logger)
/// try await ServiceGroup(services: [service], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger).run()
/// ```
///
/// or for as long as a closure runs, with ``withService(configuration:logger:_:)``.
///
/// An instance runs once. Several may run one after the other on the same files.
public final class SyncService: Service {
    /// Where the service is in its life.
    enum State {
        /// Not run yet.
        case idle
        /// Opening files and the listener.
        case starting
        /// Listening, but without a sync config to serve yet.
        case listening(BoundAddress)
        /// Serving clients.
        case ready(BoundAddress)
        /// Run, with the error that ended it.
        case ended((any Error)?)
    }

    /// What the service was created with.
    public let configuration: ServiceConfiguration
    let logger: Logger
    /// What ``logger`` has logged of late.
    let recentErrors: RecentErrors
    let timing: Timing
    let connectionLimits: HTTPConnectionLimits
    /// The YAML text to deploy at the start; `nil` when the one that was deployed last goes on.
    let syncConfigText: String?
    /// Whether ``syncConfigText`` has errors: then it is only shown to operators, and the one that was deployed last goes on.
    let hasBrokenSyncConfig: Bool
    /// What works from the start until the end.
    private let parts = NIOLockedValueBox<RunningParts?>(nil)
    private let state = NIOLockedValueBox(State.idle)
    private let stateChanged = ChangeSignal()
    /// What shows the dashboard of this process while developing; `nil` when only tokens do.
    let dashboardKey: String?
    /// When to look at the files of the certificate.
    let certificateLooks: RegularLooks

    /// Checks the configuration and compiles the sync config.
    ///
    /// Opens nothing.
    ///
    /// - Parameters:
    ///   - configuration: The configuration.
    ///   - logger: For everything that the service logs.
    /// - Throws: `ServiceError` with code `invalidSyncConfig` and all diagnostics, `invalidConfiguration` when the sync
    ///   config cannot be read or the port is impossible, `missingKey` when the token endpoint has no key to sign with.
    public convenience init(configuration: ServiceConfiguration, logger: Logger) throws(ServiceError) {
        try self.init(
            configuration: configuration,
            logger: logger,
            timing: Timing(clock: EventLoopClock(eventLoops: .singletonMultiThreadedEventLoopGroup))
        )
    }

    /// Creates a service with its own time, randomness and limits of connections.
    package init(
        configuration: ServiceConfiguration,
        logger: Logger,
        timing: Timing,
        connectionLimits: HTTPConnectionLimits = HTTPConnectionLimits()
    ) throws(ServiceError) {
        guard (0...65535).contains(configuration.port) else {
            throw ServiceError(.invalidConfiguration, "\(configuration.port) is not a port", key: "port")
        }
        let recentErrors = RecentErrors { timing.seconds }
        let logger = recentErrors.recorded(by: logger)
        if let (text, file) = try configuration.readSyncConfigText() {
            let result = SyncConfig.parse(text, patternRefusal: configuration.patternRefusal)
            let diagnostics = result.diagnostics.map { $0.formatted(file: file) }
            hasBrokenSyncConfig = !result.isUsable
            if hasBrokenSyncConfig {
                let error = ServiceError(
                    .invalidSyncConfig,
                    "the sync config has errors",
                    file: file,
                    diagnostics: diagnostics
                )
                guard !configuration.exitsOnSyncConfigError else { throw error }
                logger.error(
                    "The sync config cannot be deployed; what was deployed before is served",
                    metadata: [LogKey.error: "\(error)"]
                )
            } else {
                for diagnostic in diagnostics {
                    logger.warning("The sync config has a warning", metadata: [LogKey.diagnostic: "\(diagnostic)"])
                }
            }
            syncConfigText = text
        } else {
            syncConfigText = nil
            hasBrokenSyncConfig = false
        }
        self.configuration = configuration
        self.logger = logger
        self.recentErrors = recentErrors
        self.timing = timing
        self.connectionLimits = connectionLimits
        dashboardKey = configuration.development.dashboard ? Self.makeDashboardKey() : nil
        certificateLooks = RegularLooks(interval: CertificateWatch.interval, clock: timing.clock)
    }

    /// Reads the certificate again, whether its files have changed or not.
    ///
    /// One that cannot be used is logged, and the present one stays. Does nothing without TLS.
    public func reloadCertificate() {
        certificateLooks.ask()
    }

    /// Runs until graceful shutdown or cancellation.
    ///
    /// - Throws: `ServiceError` with code `portInUse`, `dataFolder`, `storage`, `invalidConfiguration` (a key that is not
    ///   one), or `notRunning` when the service has run before.
    public func run() async throws {
        let mayStart = state.withLockedValue { state in
            guard case .idle = state else { return false }
            state = .starting
            return true
        }
        guard mayStart else { throw ServiceError(.notRunning, "a service runs once; create another one") }
        do {
            try await start()
            logger.notice("The service has stopped")
            transition(to: .ended(nil))
        } catch {
            let error = configuration.startError(error)
            transition(to: .ended(error))
            throw error
        }
    }

    /// Waits until clients can sync: the service listens, and has replicated the source for the first time.
    ///
    /// - Returns: Where it listens.
    /// - Throws: The error of ``run()`` when that ends before, or `CancellationError`.
    public func waitUntilReady() async throws -> BoundAddress {
        try await wait { state in
            if case .ready(let address) = state { address } else { nil }
        }
    }

    /// Waits until the listener is open.
    func waitUntilListening() async throws -> BoundAddress {
        try await wait { state in
            switch state {
            case .listening(let address), .ready(let address): address
            case .idle, .starting, .ended: nil
            }
        }
    }

    /// Waits until clients are served everything that was committed to the source before the call.
    ///
    /// - Throws: The error of ``run()`` when that ends before, an error of the source or the storage, or `CancellationError`.
    package func waitUntilServed() async throws {
        _ = try await waitUntilReady()
        let databases = try await waitForParts().databases
        try await firstOf {
            try await databases.waitUntilServed()
        } or: { [self] in
            // Throws when the service ends.
            try await wait { _ in nil as Void? }
        }
    }

    /// Waits until the databases are open, and sync configs can be deployed.
    func waitForParts() async throws -> RunningParts {
        try await wait { _ in parts.withLockedValue { $0 } }
    }

    /// Sets what works from now on.
    func setParts(_ next: RunningParts?) {
        parts.withLockedValue { $0 = next }
        stateChanged.advance()
    }

    private func wait<Value>(for value: (State) -> Value?) async throws -> Value {
        while true {
            let seen = stateChanged.version
            let state = state.withLockedValue { $0 }
            if let value = value(state) { return value }
            if case .ended(let error) = state {
                throw error ?? ServiceError(.notRunning, "the service has ended")
            }
            try await stateChanged.wait(after: seen)
        }
    }

    /// Enters the next state, and wakes the tasks that wait for it.
    func transition(to next: State) {
        state.withLockedValue { $0 = next }
        stateChanged.advance()
    }
}

/// What a service works with while it runs.
struct RunningParts: Sendable {
    /// Deploys sync configs.
    let deployer: SyncConfigDeployer
    /// Where rows come from, and where they go.
    let databases: OpenDatabases
}

/// Where a service listens.
public struct BoundAddress: Sendable, Hashable {
    /// The host, as configured.
    public let host: String
    /// The port.
    public let port: Int
    /// Whether the port speaks TLS.
    public let isEncrypted: Bool

    package init(host: String, port: Int, isEncrypted: Bool = false) {
        self.host = host
        self.port = port
        self.isEncrypted = isEncrypted
    }

    /// The endpoint for clients on the same machine, such as `http://127.0.0.1:8080`.
    public var url: String {
        let isAnyInterface = host == "0.0.0.0" || host == "::"
        let reachable = isAnyInterface ? "127.0.0.1" : host
        return "\(isEncrypted ? "https" : "http")://\(reachable.contains(":") ? "[\(reachable)]" : reachable):\(port)"
    }
}
