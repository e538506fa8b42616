import Foundation
import HTTPConnections
import Hummingbird
import Logging
import NIOCore
import PowerSyncAuth
import PowerSyncBackend
import PowerSyncServiceCore
import PowerSyncSyncConfig
import ServiceLifecycle

/// What serves clients and operators.
struct ServingParts {
    /// Key sets that are fetched again.
    let keySets: [RemoteKeySet]
    /// What all sync sessions share.
    let sessions: SyncSession.Environment
    /// Wakes sessions.
    let dispatcher: CheckpointDispatcher
    /// Notices what other processes write into the storage.
    let follower: StorageFollower
    /// Measures the storage.
    let sizes: StorageSizeJob
    /// What open dashboards are shown.
    let feed: SnapshotFeed
    /// What dashboards are shown of the last hours.
    let history: ServiceHistory
    /// Looks at the files of the databases.
    let files: DataFileWatch
    /// The HTTP server.
    let server: any ApplicationProtocol
}

extension SyncService {
    /// Puts together what serves; nothing runs yet.
    func makeServing(
        _ databases: OpenDatabases,
        _ deployer: SyncConfigDeployer,
        _ replication: ReplicationParts,
        _ signs: SignsOfLife,
        _ probes: Probes,
        _ certificate: ServerCertificate?
    ) -> ServingParts {
        let (storage, source) = (databases.storage, databases.source)
        let dispatcher = CheckpointDispatcher(
            storage: storage,
            memory: LineMemory(limit: configuration.limits.maxReadAheadBytes, clock: timing.clock)
        )
        let files = DataFileWatch(databases.files, probes: probes, logger: logger)
        let sessions = makeSessions(storage: storage, dispatcher: dispatcher)
        let sizes = StorageSizeJob(storage: storage, logger: logger)
        let history = ServiceHistory(sessions: sessions, replication: replication.statistics)
        let snapshots = SnapshotSource(
            storage: storage,
            source: configuration.sourceDescription,
            sessions: sessions,
            replication: replication.statistics,
            sizes: sizes,
            compaction: configuration.role.replicates ? replication.compactionStatus : nil,
            probes: probes,
            history: history,
            errors: recentErrors,
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
        let (authentication, tokenSigner) = makeTokenSigner(isWritable: source.writable != nil)
        let keys = authentication.keySources(clock: timing.clock)
        let tokens = TokenVerifier(sources: keys.all, audience: authentication.audience)
        return ServingParts(
            keySets: keys.remote,
            sessions: sessions,
            dispatcher: dispatcher,
            follower: makeFollower(of: storage, dispatcher, deployer, signs),
            sizes: sizes,
            feed: feed,
            history: history,
            files: files,
            server: makeServer(
                sessions: sessions,
                source: source,
                admin: admin,
                dashboard: makeDashboard(admin: admin, snapshots: snapshots, feed: feed, userTokens: tokens),
                probes: probes,
                files: files,
                tokens: tokens,
                tokenSigner: tokenSigner,
                certificate: certificate
            )
        )
    }

    /// What looks at the storage, and tells the dispatcher, the deployer and the probes what other processes have written.
    private func makeFollower(
        of storage: any BucketStorage,
        _ dispatcher: CheckpointDispatcher,
        _ deployer: SyncConfigDeployer,
        _ signs: SignsOfLife
    ) -> StorageFollower {
        StorageFollower(storage: storage) { look in
            switch look {
            case .writeCheckpoint(let userKey, let position):
                return dispatcher.writeCheckpointRecorded(userKey: userKey, at: position)
            case .writeCheckpointsMissed: return dispatcher.writeCheckpointsMissed()
            case .streamsChanged: deployer.streamsChanged.advance()
            case .looked, .failed: break
            }
            signs.looked(look)
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

    /// The HTTP server with all routes.
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
            addsColumns: configuration.development.addsColumns,
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
            logger: logger.ofServer
        )
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
