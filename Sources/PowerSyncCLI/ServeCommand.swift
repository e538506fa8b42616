import ArgumentParser
import Foundation
import Logging
import Metrics
import PowerSyncService
import Prometheus
import ServiceLifecycle
import UnixSignals

/// `powersync serve --config powersync.yaml`: runs a service until it is told to stop.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run a sync service.",
        discussion: """
            Stops gracefully on SIGTERM and SIGINT: running streams are ended, clients reconnect when the service is \
            back. It may be killed at any time; it continues from its data folder.

            The sync config is deployed when its file changes, and on SIGHUP: clients are served what they had until the \
            new one has been replicated. A broken one is logged, and the present one goes on. All other settings need a \
            restart.
            """
    )

    @Option(help: "The service configuration.", completion: .file(extensions: ["yaml", "yml"]))
    var config: String = "powersync.yaml"

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let configuration = try ServiceConfiguration(contentsOf: config, environment: environment)
        let logging = configuration.logging
        LoggingSystem.bootstrap { label in
            if logging.format == .json {
                return JSONLogHandler(label: label, level: logging.level)
            }
            var handler = StreamLogHandler.standardError(label: label)
            handler.logLevel = logging.level
            return handler
        }
        let logger = Logger(label: "powersync")
        var services: [ServiceGroupConfiguration.ServiceConfiguration] = []
        if let port = configuration.metricsPort {
            let registry = PrometheusCollectorRegistry()
            MetricsSystem.bootstrap(PrometheusMetricsFactory(registry: registry))
            services.append(.init(service: MetricsEndpoint(port: port, registry: registry, logger: logger)))
        }
        let service = try SyncService(configuration: configuration, logger: logger)
        if let file = SyncConfigFile(of: configuration, serviceFile: config, environment: environment) {
            let watch = SyncConfigFileWatch(of: file, for: service, logger: logger)
            services.append(.init(service: watch))
            services.append(.init(service: Reloads(watch: watch)))
        }
        var groupConfiguration = ServiceGroupConfiguration(
            services: services + [
                .init(service: service),
                .init(
                    service: Announcement(service: service, configuration: configuration, config: config),
                    successTerminationBehavior: .ignore
                ),
            ],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        // The process is gone 30 seconds after the signal, whatever hangs.
        groupConfiguration.maximumGracefulShutdownDuration = .seconds(25)
        groupConfiguration.maximumCancellationDuration = .seconds(5)
        try await ServiceGroup(configuration: groupConfiguration).run()
    }
}

/// Deploys the sync config on SIGHUP.
private struct Reloads: Service {
    let watch: SyncConfigFileWatch

    func run() async throws {
        for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() { watch.reload() }
    }
}

/// Prints what to connect with, as soon as the service is ready.
private struct Announcement: Service {
    let service: SyncService
    let configuration: ServiceConfiguration
    let config: String

    func run() async throws {
        let address = try await service.waitUntilReady()
        var lines = [
            "",
            "The service is ready.",
            "  endpoint   \(address.url)",
        ]
        if let token = try? configuration.makeDevelopmentToken(userID: "user-1") {
            lines += [
                "  user       user-1; for another one: powersync token --user USER --config \(config)",
                "  token      \(token)",
                "  try it     curl -N \(address.url)/sync/stream -H 'Authorization: Token \(token)' "
                    + "-H 'Content-Type: application/json' -d '{\"raw_data\":true}'",
            ]
        }
        // `print` would keep it in a buffer when the output is a pipe.
        FileHandle.standardOutput.write(Data((lines.joined(separator: "\n") + "\n").utf8))
    }
}
