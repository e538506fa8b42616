import ArgumentParser
import Foundation
import PowerSyncService
import PowerSyncTerminal

/// `powersync serve --config powersync.yaml`: runs a service until it is told to stop.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run a sync service.",
        discussion: """
            Stops gracefully on SIGTERM and SIGINT: running streams are ended, clients reconnect when the service is \
            back. It may be killed at any time; it continues from its data folder.

            The sync config is deployed when its file changes, and on SIGHUP: clients are served what they had until the \
            new one has been replicated. A broken one is logged, and the present one goes on. In the same way a renewed \
            certificate (tls) is taken up for new connections. All other settings need a restart.
            """,
        aliases: ["start"]
    )

    @OptionGroup var config: ConfigurationOptions

    @OptionGroup var process: ProcessOptions

    func run() async throws {
        let file = config.location.file
        var configuration = try config.read()
        configuration.role = process.role
        let environment = config.location.environment
        let run = ServiceRun(configuration: configuration, file: file, environment: environment) {
            [configuration] service, address in
            ServeAnnouncement(
                configuration: configuration,
                file: file,
                isForPeople: Terminal.isOnTerminal,
                program: CommandLine.arguments.first.flatMap { $0.contains("/") ? $0 : nil } ?? "powersync"
            )
            .lines(address, dashboard: service.dashboardURL(at: address))
        }
        try await run()
    }
}
