import HTTPConnections
import Foundation
import Hummingbird
import Logging
import NIOCore
import PowerSyncBackend
import PowerSyncSyncConfig
import PowerSyncServiceCore
import PowerSyncAuth
import ServiceLifecycle

/// How a service is put together.
extension SyncService {
    /// Opens everything, and runs it until it ends.
    func start() async throws {
        for warning in configuration.warnings {
            logger.warning("The configuration has a warning", metadata: [LogKey.warning: "\(warning)"])
        }
        configuration.checkConnections(possible: connectionLimits.connectionCount, logger: logger)
        try await configuration.authentication.checkKeys()
        try configuration.checkRole()
        try configuration.checkFiles()
        let role = configuration.role
        let certificate = try configuration.tls.map { try ServerCertificate($0, now: timing.now()) }
        try await configuration.checkPlaces(logger: logger)
        let storage = try await configuration.openStorage(logger: logger)
        defer { close("storage") { try storage.close() } }
        let source = try await configuration.openSource(logger: logger)
        defer { close("source") { try source.close() } }

        ServiceMetrics.register()
        let probes = Probes(timing)
        let signs = SignsOfLife(probes: probes, replicates: role.replicates, logger: logger, now: timing.now)
        let deployer = SyncConfigDeployer(
            storage: storage,
            patternRefusal: configuration.patternRefusal,
            now: timing.now,
            logger: logger
        )
        if role.replicates, let syncConfigText {
            do {
                try await deployer.deploy(syncConfigText, versionLabel: configuration.syncConfigVersionLabel)
            } catch SyncConfigDeploymentError.rejected where hasBrokenSyncConfig {
                // Operators are shown it until another text is deployed.
            }
        }
        setDeployer(deployer)
        defer { setDeployer(nil) }
        let replication = ReplicationStatistics()
        let replicator = Replicator(
            storage: storage,
            source: source,
            streamsChanged: deployer.streamsChanged,
            statistics: replication,
            logger: logger,
            report: { report, stream in signs.report(report, of: stream) },
            touch: { signs.touch() }
        )
        let dispatcher = CheckpointDispatcher(
            storage: storage,
            memory: LineMemory(limit: configuration.limits.maxReadAheadBytes, clock: timing.clock)
        )
        let follower = StorageFollower(storage: storage) { look in
            switch look {
            case .writeCheckpoint(let userKey, let position):
                return dispatcher.writeCheckpointRecorded(userKey: userKey, at: position)
            case .writeCheckpointsMissed: return dispatcher.writeCheckpointsMissed()
            case .streamsChanged: deployer.streamsChanged.advance()
            case .looked, .failed: break
            }
            signs.looked(look)
        }
        let readiness = Readiness { [self] in
            let address = try await waitUntilListening()
            let wait = FirstCheckpointWait(storage: storage, progress: signs.progress, logger: logger)
            try await wait.run { probes.didStart() }
            probes.didStart()
            transition(to: .ready(address))
            logger.notice("The service is ready", metadata: [LogKey.url: "\(address.url)"])
        }
        let (authentication, tokenSigner) = makeTokenSigner(isWritable: source.writable != nil)
        let keys = authentication.keySources(clock: timing.clock)
        let sessions = makeSessions(storage: storage, dispatcher: dispatcher)
        let sizes = StorageSizeJob(storage: storage, logger: logger)
        let compactionStatus = CompactionStatus(now: { [timing] in timing.seconds })
        let snapshots = SnapshotSource(
            storage: storage,
            source: configuration.sourceDescription,
            sessions: sessions,
            replication: replication,
            sizes: sizes,
            compaction: role.replicates ? compactionStatus : nil,
            probes: probes,
            failure: { signs.failure }
        )
        let feed = SnapshotFeed(clock: timing.clock, logger: logger) { try await snapshots.snapshot() }
        let admin = makeAdminRoutes(
            storage: storage,
            source: source,
            deployer: deployer,
            failure: { signs.failure },
            certificate: certificate,
            queue: ConcurrencyQueue(maximumRunning: 10, maximumWaiting: 20),
            snapshots: snapshots
        )
        let files = DataFileWatch(
            [source.fileBacked, storage.fileBacked].compactMap(\.self),
            probes: probes,
            logger: logger
        )
        let server = makeServer(
            sessions: sessions,
            source: source,
            admin: admin,
            dashboard: makeDashboard(admin: admin, snapshots: snapshots, feed: feed),
            probes: probes,
            files: files,
            tokens: TokenVerifier(sources: keys.all, audience: authentication.audience),
            tokenSigner: tokenSigner,
            certificate: certificate
        )

        // Shut down in reverse order: first no new streams, then no new checkpoints.
        let compaction = CompactionJob(storage: storage, status: compactionStatus, logger: logger)
        let watch = certificate.map {
            CertificateWatch($0, looks: certificateLooks, now: timing.now, logger: logger)
        }
        var services: [any Service] = keys.remote
        if let watch { services.append(watch) }
        if role.replicates {
            services.append(compaction)
            if let log = source.retainedLog { services.append(RetainedLogJob(source: log)) }
        }
        let heartbeat = Heartbeat(progress: signs.work, clock: timing.clock) { probes.touch() }
        let memory = FreedMemoryJob(endedStreams: { sessions.userStreams.endedCount })
        services += [files, sizes, memory, follower, heartbeat] as [any Service]
        if role.replicates { services.append(replicator) }
        services += [dispatcher, feed, readiness, server] as [any Service]
        // One that fails ends the others as a shutdown does: their tasks are not cancelled, which each of them would have to explain.
        let members = services.map {
            ServiceGroupConfiguration.ServiceConfiguration(
                service: $0,
                failureTerminationBehavior: .gracefullyShutdownGroup
            )
        }
        var group = ServiceGroupConfiguration(services: members, logger: logger)
        // Streams end at once; this is for a handler that hangs.
        group.maximumGracefulShutdownDuration = .seconds(15)
        try await withGracefulShutdownHandler {
            try await ServiceGroup(configuration: group).run()
        } onGracefulShutdown: {
            probes.didStop()
        }
    }

    /// What all sync sessions share.
    private func makeSessions(storage: any BucketStorage, dispatcher: CheckpointDispatcher) -> SyncSession.Environment {
        let limits = configuration.limits
        return SyncSession.Environment(
            storage: storage,
            dispatcher: dispatcher,
            dataReaders: ConcurrencyQueue(
                maximumRunning: limits.maxDataFetchConcurrency,
                maximumWaiting: .max,
                timeout: .seconds(30),
                clock: timing.clock
            ),
            userStreams: UserStreams(
                limit: limits.maxStreamsPerUser,
                now: { [timing] in timing.seconds },
                clock: timing.clock
            ),
            limits: BucketLimits(
                maximumBuckets: limits.maxBucketsPerConnection,
                maximumParameterResults: limits.maxParameterQueryResults
            ),
            timing: timing
        )
    }

    private func makeServer(
        sessions: SyncSession.Environment,
        source: any ReplicationSource,
        admin: AdminRoutes,
        dashboard: DashboardRoutes?,
        probes: Probes,
        files: DataFileWatch,
        tokens: TokenVerifier,
        tokenSigner: SyncTokenSigner?,
        certificate: ServerCertificate?
    ) -> some ApplicationProtocol {
        let limits = configuration.limits
        let routes = ServiceRoutes(
            tokens: tokens,
            sessions: sessions,
            writeCheckpoints: WriteCheckpointIssuer(
                storage: sessions.storage,
                source: source,
                dispatcher: sessions.dispatcher
            ),
            probes: probes,
            files: files,
            probeOptions: configuration.probes,
            writableSource: configuration.development.writeEndpoint ? source.writable : nil,
            tokenSigner: tokenSigner,
            developmentAccess: DevelopmentAccess(host: configuration.host),
            admin: admin,
            dashboard: dashboard,
            formats: configuration.formats,
            streamQueue: ConcurrencyQueue(maximumRunning: limits.maxConcurrentConnections, maximumWaiting: 0),
            apiQueue: admin.queue
        )
        let isServing = configuration.role.servesClients
        let webSockets = ConcurrencyQueue(
            maximumRunning: isServing ? limits.maxConcurrentConnections : 0,
            maximumWaiting: 0
        )
        return Application(
            router: isServing ? routes.makeRouter() : routes.makeProbeRouter(),
            server: .http1(
                upgradingTo: routes,
                webSockets: webSockets,
                limits: connectionLimits,
                certificate: certificate
            ),
            configuration: ApplicationConfiguration(
                address: .hostname(configuration.host, port: configuration.port),
                backlog: connectionLimits.acceptQueueLength
            ),
            onServerRunning: { [self] channel in
                // Four by default, each time that the loop comes round, which serves thousands of connections, too.
                try? await channel.setOption(.maxMessagesPerRead, value: connectionLimits.acceptedAtOnce).get()
                let address = BoundAddress(
                    host: configuration.host,
                    port: channel.localAddress?.port ?? configuration.port,
                    isEncrypted: certificate != nil
                )
                transition(to: .listening(address))
                logger.notice("Running on port", metadata: [LogKey.port: .stringConvertible(address.port)])
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
            logger.error(
                "A database cannot be closed",
                metadata: [LogKey.database: "\(name)", LogKey.error: "\(error)"]
            )
        }
    }
}

// MARK: Keys

extension SyncService {
    /// The signer of the token endpoint, and the authentication with its key.
    private func makeTokenSigner(isWritable: Bool) -> (ClientAuthentication, SyncTokenSigner?) {
        var authentication = configuration.authentication
        if configuration.development.writeEndpoint, isWritable {
            logger.warning("Clients may write every row of the source", metadata: [LogKey.endpoint: "POST /dev/write"])
        }
        guard configuration.development.tokenEndpoint else { return (authentication, nil) }
        logger.warning("Anybody gets a token for any user", metadata: [LogKey.endpoint: "POST /dev/token"])
        if authentication.audience.isEmpty { authentication.audience = ["powersync-dev"] }
        if SyncTokenSigner(authentication) == nil {
            var random = SystemRandomNumberGenerator()
            let secret = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            authentication.keys.append(.hs256(secret: secret, id: "dev-\(UUID().uuidString.lowercased())"))
        }
        return (authentication, SyncTokenSigner(authentication))
    }
}

/// Does something once everything runs, then waits for the end.
private struct Readiness: Service {
    let becomeReady: @Sendable () async throws -> Void

    init(_ becomeReady: @escaping @Sendable () async throws -> Void) {
        self.becomeReady = becomeReady
    }

    func run() async throws {
        try await untilShutdown {
            try await becomeReady()
            try await gracefulShutdown()
        }
    }
}
