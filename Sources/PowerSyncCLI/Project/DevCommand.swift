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
            deployed as they are saved. A write that no stream gives back, to anybody, is a warning in the log. Tokens and bodies of the \
            requests that are printed are files in the folder dev beside the database of the source.

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

    @Flag(help: "Add columns that an app writes and a table lacks; otherwise the log has the ALTER TABLE to run.")
    var addColumns = false

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
        configuration.development.addsColumns = addColumns
        configuration.development.tokenEndpoint = true
        configuration.development.dashboard = true
        let seed = seed.map { SeedFile($0) } ?? SeedFile.beside(location.name)
        let users = users.isEmpty ? ["user-1", "user-2"] : users
        let files = DevelopmentFiles(
            beside: configuration.source.module.files.first?.path ?? "data/source.db",
            workingFolder: FileManager.default.currentDirectoryPath
        )
        let run = ServiceRun(configuration: configuration, file: location.file, environment: location.environment) {
            [configuration] service, address in
            let hasInserted = try await seed?.insert(into: source) ?? false
            // What is ready is asked for at once, and has these rows.
            if hasInserted { try await service.waitUntilServed() }
            let upload = try await source.exampleUpload(owner: users[0])
            var tokens: [String: String] = [:]
            for user in users { tokens[user] = try configuration.makeDevelopmentToken(userID: user) }
            try files.write(tokens: tokens, upload: upload)
            return DevelopmentAnnouncement(
                address: address,
                dashboard: service.dashboardURL(at: address),
                seed: hasInserted ? seed?.path : nil,
                users: users,
                files: files,
                hasUpload: upload != nil
            ).lines
        }
        try await run()
    }
}
