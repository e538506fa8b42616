import Foundation
import Hummingbird
import Logging
import NIOCore
import PowerSyncBackend
import PowerSyncRules
import PowerSyncServiceCore
import PowerSyncTokens
import ServiceLifecycle

/// How a service is put together.
extension SyncService {
    /// Opens everything, and runs it until it ends.
    func start() async throws {
        for warning in configuration.warnings {
            logger.warning("The configuration has a warning", metadata: ["warning": "\(warning)"])
        }
        try await checkKeys()
        try configuration.checkFiles()
        let storage = try configuration.openStorage(logger: logger)
        defer { close("storage") { try storage.close() } }
        let source = try configuration.openSource(logger: logger)
        defer { close("source") { try source.close() } }

        StreamStatistics.register()
        let probes = Probes(now: timing.now)
        let progress = ChangeSignal()
        let deployer = SyncConfigDeployer(storage: storage, now: timing.now, logger: logger)
        if let syncConfigText { try await deployer.deploy(syncConfigText) }
        let failure = ReplicationFailure(now: timing.now)
        setDeployer(deployer)
        defer { setDeployer(nil) }
        let replicator = Replicator(
            storage: storage,
            source: source,
            streamsChanged: deployer.streamsChanged,
            logger: logger,
            report: { [logger] error in
                failure.record(error)
                switch error {
                case nil:
                    if probes.solved(.storage) { logger.notice("The bucket storage can be written again") }
                case is ReplicationSourceError: break
                case let error as BucketStorageError where error.code == .inUse: break
                default: probes.found(.storage)
                }
            },
            touch: {
                probes.touch()
                progress.advance()
            }
        )
        let readiness = Readiness { [self] in
            let address = try await waitUntilListening()
            var seen = progress.version
            while try await storage.activeStream() == nil {
                // Nothing is on its way: it waits for the first config, and whoever deploys that for the service.
                if try await storage.streams().isEmpty { probes.didStart() }
                try await progress.wait(after: seen)
                seen = progress.version
            }
            probes.didStart()
            transition(to: .ready(address))
            logger.notice("The service is ready", metadata: ["url": "\(address.url)"])
        }
        let dispatcher = CheckpointDispatcher(storage: storage)
        let (authentication, tokenSigner) = makeTokenSigner()
        let keys = authentication.keySources(clock: timing.clock)
        let apiQueue = ConcurrencyQueue(maximumRunning: 10, maximumWaiting: 20)
        let server = makeServer(
            storage: storage,
            source: source,
            dispatcher: dispatcher,
            admin: makeAdminRoutes(
                storage: storage,
                source: source,
                dispatcher: dispatcher,
                deployer: deployer,
                failure: failure,
                queue: apiQueue
            ),
            probes: probes,
            tokens: TokenVerifier(sources: keys.all, audience: authentication.audience),
            tokenSigner: tokenSigner
        )

        // Shut down in reverse order: first no new streams, then no new checkpoints.
        let compaction = CompactionJob(storage: storage, logger: logger)
        let files = DataFileWatch(paths: configuration.files, probes: probes, logger: logger)
        var group = ServiceGroupConfiguration(
            services: keys.remote + [compaction, files, replicator, dispatcher, readiness, server],
            logger: logger
        )
        // Streams end at once; this is for a handler that hangs.
        group.maximumGracefulShutdownDuration = .seconds(15)
        try await withGracefulShutdownHandler {
            try await ServiceGroup(configuration: group).run()
        } onGracefulShutdown: {
            probes.didStop()
        }
    }

    private func makeServer(
        storage: any BucketStorage,
        source: any ReplicationSource,
        dispatcher: CheckpointDispatcher,
        admin: AdminRoutes,
        probes: Probes,
        tokens: TokenVerifier,
        tokenSigner: SyncTokenSigner?
    ) -> some ApplicationProtocol {
        let limits = configuration.limits
        let routes = ServiceRoutes(
            tokens: tokens,
            sessions: SyncSession.Environment(
                storage: storage,
                dispatcher: dispatcher,
                dataReaders: ConcurrencyQueue(
                    maximumRunning: limits.maxDataFetchConcurrency,
                    maximumWaiting: .max,
                    timeout: .seconds(30),
                    clock: timing.clock
                ),
                readAhead: ReadAheadBudget(limit: limits.maxReadAheadBytes, clock: timing.clock),
                userStreams: UserStreams(limit: limits.maxStreamsPerUser),
                limits: BucketLimits(
                    maximumBuckets: limits.maxBucketsPerConnection,
                    maximumParameterResults: limits.maxParameterQueryResults
                ),
                timing: timing
            ),
            writeCheckpoints: WriteCheckpointIssuer(storage: storage, source: source, dispatcher: dispatcher),
            probes: probes,
            probeOptions: configuration.probes,
            writableSource: configuration.development.writeEndpoint ? source as? any WritableSource : nil,
            tokenSigner: tokenSigner,
            admin: admin,
            formats: configuration.formats,
            streamQueue: ConcurrencyQueue(maximumRunning: limits.maxConcurrentConnections, maximumWaiting: 0),
            apiQueue: admin.queue
        )
        let webSockets = ConcurrencyQueue(maximumRunning: limits.maxConcurrentConnections, maximumWaiting: 0)
        return Application(
            router: routes.makeRouter(),
            server: .http1(upgradingTo: routes, webSockets: webSockets, limits: connectionLimits),
            configuration: ApplicationConfiguration(
                address: .hostname(configuration.host, port: configuration.port)
            ),
            onServerRunning: { [self] channel in
                let address = BoundAddress(
                    host: configuration.host,
                    port: channel.localAddress?.port ?? configuration.port
                )
                transition(to: .listening(address))
                logger.notice("Running on port \(address.port)")
            },
            logger: logger
        )
    }
}

extension SyncService {
    private func close(_ name: String, _ body: () throws -> Void) {
        do {
            try body()
        } catch {
            logger.error("A database cannot be closed", metadata: ["database": "\(name)", "error": "\(error)"])
        }
    }
}

// MARK: Keys

extension SyncService {
    private func checkKeys() async throws {
        try configuration.authentication.checkKeySources()
        for key in configuration.authentication.keys.map(\.key) {
            do {
                try await key.checkMaterial()
            } catch {
                throw ServiceError(
                    .invalidConfiguration,
                    error.message,
                    key: "client_auth.jwks.keys (kid \(key.id ?? "none"))"
                )
            }
        }
    }

    /// The signer of the token endpoint, and the authentication with its key.
    private func makeTokenSigner() -> (ClientAuthentication, SyncTokenSigner?) {
        var authentication = configuration.authentication
        if configuration.development.writeEndpoint, case .embedded = configuration.source.kind {
            logger.warning("Clients may write every row of the source: POST /dev/write is on")
        }
        guard configuration.development.tokenEndpoint else { return (authentication, nil) }
        logger.warning("Anybody gets a token for any user: POST /dev/token is on")
        if authentication.audience.isEmpty { authentication.audience = ["powersync-dev"] }
        if SyncTokenSigner(authentication) == nil {
            var random = SystemRandomNumberGenerator()
            let secret = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            authentication.keys.append(.hs256(secret: secret, id: "dev-\(UUID().uuidString.lowercased())"))
        }
        return (authentication, SyncTokenSigner(authentication))
    }
}

// MARK: Errors

extension SyncService {
    /// The error for whoever started the service.
    func describe(_ error: any Error) -> any Error {
        switch error {
        case let error as IOError where error.errnoCode == EADDRINUSE:
            ServiceError(
                .portInUse,
                "port \(configuration.port) is in use; stop the other process or choose another port",
                key: "port",
                underlyingError: error
            )
        case let error as IOError where error.errnoCode == EACCES || error.errnoCode == EADDRNOTAVAIL:
            ServiceError(
                .invalidConfiguration,
                "cannot listen on \(configuration.host):\(configuration.port)",
                key: "port",
                underlyingError: error
            )
        case let error as ReplicationSourceError where error.code == .configuration:
            ServiceError(configuration.sourceErrorCode, error.message, key: "replication.connections[0]")
        case is BucketStorageError, is ReplicationSourceError:
            ServiceError(.storage, "\(error)", underlyingError: error)
        default:
            error
        }
    }
}

/// Does something once everything runs, then waits for the end.
private struct Readiness: Service {
    let becomeReady: @Sendable () async throws -> Void

    init(_ becomeReady: @escaping @Sendable () async throws -> Void) {
        self.becomeReady = becomeReady
    }

    func run() async throws {
        do {
            try await cancelWhenGracefulShutdown { try await becomeReady() }
        } catch is CancellationError {
            return
        }
        try await gracefulShutdown()
    }
}
