import ArgumentParser
import Foundation
import PowerSyncService

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
        let run = ServiceRun(configuration: configuration, file: config, environment: environment) { address in
            var lines = ["", "The service is ready.", "  endpoint   \(address.url)"]
            if let token = try? configuration.makeDevelopmentToken(userID: "user-1") {
                lines += [
                    "  user       user-1; for another one: powersync token --user USER --config \(config)",
                    "  token      \(token)",
                    "  try it     \(CurlLine.stream(address, token: token))",
                ]
            }
            return lines
        }
        try await run()
    }
}
