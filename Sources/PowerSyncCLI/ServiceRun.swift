import Logging
import Metrics
import PowerSyncProtocol
import PowerSyncService
import PowerSyncServiceCore
import PowerSyncTerminal
import Prometheus
import ServiceLifecycle
import UnixSignals

/// A service as a process: its log, its metrics, the watch over its sync config, and signals.
struct ServiceRun {
    /// What is run.
    var configuration: ServiceConfiguration
    /// The file that the configuration is from; `nil` when it is from the environment.
    var file: String?
    /// The environment that the configuration was read with.
    var environment: [String: String]
    /// Makes the lines that are printed as soon as the service is ready.
    var announcement: @Sendable (SyncService, BoundAddress) async throws -> [String]

    /// Runs the service until the process is told to stop.
    ///
    /// - Throws: An error that kept it from starting, or of the announcement.
    func callAsFunction() async throws {
        Terminal.outlivesItsReaders()
        CutMemory.endsTheProcess()
        let logging = configuration.logging
        LoggingSystem.bootstrap { label in
            if logging.format == .json {
                return JSONLogHandler(label: label, level: logging.level)
            }
            var handler = TextLogHandler(label: label)
            handler.logLevel = logging.level
            return handler
        }
        let logger = Logger(label: "powersync")
        var services: [ServiceGroupConfiguration.ServiceConfiguration] = []
        if let port = configuration.metricsPort {
            let registry = PrometheusCollectorRegistry()
            var factory = PrometheusMetricsFactory(registry: registry)
            factory.valueHistogramBuckets[ReplicationStatistics.publicationLabel] =
                ReplicationStatistics.publicationBuckets
            MetricsSystem.bootstrap(factory)
            ServiceMetrics.shared.recordBuild(version: PackageVersion.current)
            let endpoint = MetricsEndpoint(
                host: configuration.metricsHost,
                port: port,
                registry: registry,
                logger: logger
            )
            services.append(.init(service: endpoint))
        }
        configuration.raiseOpenFileLimit()
        FreedMemory.giveBackLargeBlocks()
        let service = try SyncService(configuration: configuration, logger: logger)
        // A process that never replicates never deploys, either.
        let configFile =
            configuration.role == .api
            ? nil : SyncConfigFile(of: configuration, serviceFile: file, environment: environment)
        let watch = configFile.map { SyncConfigFileWatch(of: $0, for: service, logger: logger) }
        if let watch { services.append(.init(service: watch)) }
        services.append(.init(service: Reloads(watch: watch, service: service)))
        services.append(.init(service: service))
        services.append(
            .init(
                service: Announcement(service: service, lines: announcement),
                successTerminationBehavior: .ignore
            )
        )
        var group = ServiceGroupConfiguration(
            services: services,
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        // The process is gone 30 seconds after the signal, whatever hangs.
        group.maximumGracefulShutdownDuration = .seconds(25)
        group.maximumCancellationDuration = .seconds(5)
        try await ServiceGroup(configuration: group).run()
    }
}

/// Deploys the sync config and reads the certificate on SIGHUP.
private struct Reloads: Service {
    let watch: SyncConfigFileWatch?
    let service: SyncService

    func run() async throws {
        for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() {
            watch?.reload()
            service.reloadCertificate()
        }
    }
}

/// Prints what to connect with, as soon as the service is ready, and tidies up after the start; nothing when it is told to stop before.
private struct Announcement: Service {
    let service: SyncService
    let lines: @Sendable (SyncService, BoundAddress) async throws -> [String]
    /// How long after it is ready a service still does what it does only once.
    private static let startup = Duration.seconds(5)

    func run() async throws {
        do {
            // It is shut down before the service, which would wait for it.
            let lines = try await cancelWhenGracefulShutdown {
                try await self.lines(service, try await service.waitUntilReady())
            }
            if !lines.isEmpty { Terminal.say(lines.joined(separator: "\n")) }
            try await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.startup) }
            StartupPages.release()
        } catch is CancellationError {}
    }
}
