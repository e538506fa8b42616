import ArgumentParser
import PowerSyncOperations
import PowerSyncTerminal

/// `powersync health --config powersync.yaml`: asks a service on this machine how it is, for health checks of containers.
struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Ask a running service on this machine whether it is alive, for health checks of containers.",
        discussion: """
            Asks the port of the service configuration, without a token. Exits with 0 when the service is alive (or ready, or \
            started), with 1 when it is not or does not answer within 5 seconds.

              HEALTHCHECK CMD ["/opt/powersync/powersync", "health", "--config", "/config/powersync.yaml"]

            Do not start a service again because it is not ready: a first copy takes as long as it takes.
            """
    )

    @OptionGroup var config: ConfigurationOptions

    @Option(
        help: """
            What to ask: whether to start the process again (liveness), or whether to send clients to it (readiness).
            """
    )
    var probe: ProbeAnswer.Question = .liveness

    func run() async throws {
        let answer = try await ProbeAnswer(to: probe, of: config.read())
        try StandardOutput.print(answer.line)
        guard answer.isHealthy else { throw ExitCode.failure }
    }
}

extension ProbeAnswer.Question: ExpressibleByArgument {}
