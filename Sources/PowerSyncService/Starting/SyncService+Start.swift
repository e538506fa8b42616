import HTTPConnections
import Logging
import PowerSyncServiceCore
import ServiceLifecycle

/// How a service starts: it checks, opens, puts together, and runs.
extension SyncService {
    /// Opens everything, and runs it until it ends.
    func start() async throws {
        let certificate = try await checkConfiguration()
        let databases = try await openDatabases()
        defer { databases.close(logger) }
        ServiceMetrics.register()
        let statistics = ReplicationStatistics()
        let probes = Probes(timing) { statistics.counts.copies.values.map { ServiceSnapshot.Copy($0) } }
        let signs = SignsOfLife(
            probes: probes,
            replicates: configuration.role.replicates,
            logger: logger,
            now: timing.now
        )
        let deployer = try await deploySyncConfig(to: databases.storage)
        setParts(RunningParts(deployer: deployer, databases: databases))
        defer { setParts(nil) }
        let replication = makeReplication(databases, deployer, statistics, signs)
        let serving = makeServing(databases, deployer, replication, signs, probes, certificate)
        let services = services(for: configuration.role, databases, replication, serving, signs, probes, certificate)
        try await run(services) { probes.didStop() }
    }

    /// Warns of what has no effect, and refuses what cannot work, before anything is opened.
    ///
    /// - Returns: The certificate, if the port speaks TLS.
    /// - Throws: ``ServiceError``
    private func checkConfiguration() async throws -> ServerCertificate? {
        for warning in configuration.warnings {
            logger.warning("The configuration has a warning", metadata: [LogKey.warning: "\(warning)"])
        }
        configuration.checkConnections(possible: connectionLimits.connectionCount, logger: logger)
        try await configuration.authentication.checkKeys()
        try configuration.checkRole()
        try configuration.checkFiles()
        return try configuration.tls.map { try ServerCertificate($0, now: timing.now()) }
    }

    /// Opens the storage, then the source.
    ///
    /// - Returns: The databases; the caller closes them.
    /// - Throws: ``ServiceError``, or an error of the source; nothing is open then.
    private func openDatabases() async throws -> OpenDatabases {
        try await configuration.checkPlaces(logger: logger)
        let storage = try await configuration.openStorage(logger: logger)
        do {
            return OpenDatabases(source: try await configuration.openSource(logger: logger), storage: storage)
        } catch {
            OpenDatabases.close(storage, logger)
            throw error
        }
    }

    /// Deploys the sync config of the configuration, if there is one and this process replicates.
    ///
    /// - Returns: What deploys sync configs from now on.
    private func deploySyncConfig(to storage: any BucketStorage) async throws -> SyncConfigDeployer {
        let deployer = SyncConfigDeployer(
            storage: storage,
            patternRefusal: configuration.patternRefusal,
            now: timing.now,
            logger: logger
        )
        guard configuration.role.replicates, let syncConfigText else { return deployer }
        do {
            try await deployer.deploy(syncConfigText, versionLabel: configuration.syncConfigVersionLabel)
        } catch SyncConfigDeploymentError.rejected where hasBrokenSyncConfig {
            // Operators are shown it until another text is deployed.
        }
        return deployer
    }

    /// All that runs, in the order in which it starts. A shutdown ends one after the other from the last to the first, which says so:
    ///
    /// 1. the server: no new streams, and those that are open end;
    /// 2. readiness, the dashboard's feed, and the dispatcher: no more checkpoints for sessions;
    /// 3. the replicator: no more checkpoints in the storage;
    /// 4. the heartbeat, the follower of the storage, and the jobs;
    /// 5. the certificate's watch, and the key sets, with which tokens were checked until the last request.
    ///
    /// The databases are closed after all of it.
    private func services(
        for role: ServiceConfiguration.Role,
        _ databases: OpenDatabases,
        _ replication: ReplicationParts,
        _ serving: ServingParts,
        _ signs: SignsOfLife,
        _ probes: Probes,
        _ certificate: ServerCertificate?
    ) -> [any Service] {
        var services: [any Service] = serving.keySets
        if let certificate {
            services.append(
                CertificateWatch(certificate, looks: certificateLooks, now: timing.now, logger: logger)
            )
        }
        if role.replicates {
            services.append(replication.compaction)
            if let retainedLog = replication.retainedLog { services.append(retainedLog) }
        }
        services +=
            [
                serving.files,
                serving.sizes,
                FreedMemoryJob(endedStreams: { [streams = serving.sessions.userStreams] in streams.endedCount }),
                serving.follower,
                Heartbeat(progress: signs.work, clock: timing.clock) { probes.touch() },
            ] as [any Service]
        if role.replicates { services.append(replication.replicator) }
        services +=
            [
                serving.dispatcher,
                serving.feed,
                serving.history,
                Readiness { [self] in try await becomeReady(databases.storage, signs, probes) },
                serving.server,
                Farewell(logger: logger),
            ] as [any Service]
        return services
    }

    /// Runs services until one of them ends, or a shutdown has ended all.
    private func run(_ services: [any Service], whenShutDown: @escaping @Sendable () -> Void) async throws {
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
            whenShutDown()
        }
    }

    /// Waits for the first checkpoint, and says that clients can sync.
    private func becomeReady(_ storage: any BucketStorage, _ signs: SignsOfLife, _ probes: Probes) async throws {
        let address = try await waitUntilListening()
        let wait = FirstCheckpointWait(storage: storage, progress: signs.progress, logger: logger)
        try await wait.run { probes.didStart() }
        probes.didStart()
        transition(to: .ready(address))
        logger.notice("The service is ready", metadata: [LogKey.url: "\(address.url)"])
    }
}

/// Says that the service was told to end, before anything of it does.
private struct Farewell: Service {
    let logger: Logger

    func run() async throws {
        try await gracefulShutdown()
        logger.notice("The service is stopping")
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
