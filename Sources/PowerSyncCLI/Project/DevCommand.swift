import ArgumentParser
import Foundation
import PowerSyncService
import PowerSyncServiceCore

/// `powersync dev`: a service for development, with rows, tokens for anybody, and an endpoint that takes uploads.
struct DevCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dev",
        abstract: "Run a service for development: sample rows, tokens for any user, writes without a backend.",
        discussion: """
            The endpoints POST /dev/token and POST /dev/write are on, whatever the configuration says, and the service \
            listens on 127.0.0.1 only: anybody who reaches it can read and write all rows. Web pages of other places than \
            this machine are refused there. The dashboard, at the address that \
            is printed, shows what it does. Rows of the seed are inserted when all tables of the source are empty. Changes of the sync config are \
            deployed as they are saved.

            It needs the embedded source; a database server has rows and a backend of its own: powersync serve.
            """
    )

    @OptionGroup var config: ConfigurationOptions

    @Option(
        help: "SQL statements that insert rows; seed.sql beside the configuration, if it is there.",
        completion: .file()
    )
    var seed: String?

    @Option(name: .customLong("user"), help: "A user to print a token for; may be repeated. (default: user-1, user-2)")
    var users: [String] = []

    func run() async throws {
        let location = config.location
        var configuration = try location.read()
        guard let source = configuration.source.module.development else {
            throw ValidationError(
                "\(location.name): replication.connections[0]: powersync dev needs the type \(CommandModules.current.starterSources); use powersync serve"
            )
        }
        configuration.host = "127.0.0.1"
        configuration.development.writeEndpoint = true
        configuration.development.tokenEndpoint = true
        configuration.development.dashboard = true
        let seed = seed.map { SeedFile($0) } ?? SeedFile.beside(location.name)
        let users = users.isEmpty ? ["user-1", "user-2"] : users
        let environment = location.environment
        let run = ServiceRun(configuration: configuration, file: location.file, environment: environment) {
            [configuration] service, address in
            var lines = ["", "The service is ready, for development."]
            if let seed, try await seed.insert(into: source) { lines.append("  rows       those of \(seed.path)") }
            lines.append("  endpoint   \(address.url)")
            if let dashboard = service.dashboardURL(at: address) { lines.append("  dashboard  \(dashboard)") }
            for user in users {
                let token = try configuration.makeDevelopmentToken(userID: user)
                lines.append(
                    "  \(user.padding(toLength: max(10, user.count), withPad: " ", startingAt: 0)) "
                        + CurlLine.stream(address, token: token)
                )
            }
            if let user = users.first, let row = try await source.exampleUpload(owner: user) {
                let token = try configuration.makeDevelopmentToken(userID: user)
                lines.append("  write      \(CurlLine.write(address, token: token, body: row))")
            }
            lines.append("  others     \(CurlLine.token(address))")
            return lines
        }
        try await run()
    }
}
