import ArgumentParser
import PowerSyncOperations
import PowerSyncTerminal
import PowerSyncService

/// `powersync migrate`: brings the storage of a service to the version of this command.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Make the storage of a service, or bring it to the version of this command.",
        discussion: """
            A service does this by itself when it starts, unless migrations.disable_auto_migration is on in its \
            configuration. No service may run on a storage in a file meanwhile; one that is a server may be in use. There is \
            no way back to an older version: copy the storage before.

            Exits with 0 when the storage has the version of this command afterwards, with 1 when it cannot. With --check, \
            which changes nothing, exits with 1 when there is something to do.
            """
    )

    @OptionGroup var config: ConfigurationOptions

    @Flag(help: "Say what would be done, and do nothing.")
    var check = false

    func run() async throws {
        let configuration = try config.read()
        let report =
            check
            ? try await SyncService.migrationReport(of: configuration) : try await SyncService.migrate(configuration)
        let found = report.found.map { "version \($0)" } ?? "nothing is stored"
        guard !report.isCurrent else {
            try StandardOutput.print("\(report.place): version \(report.current), there is nothing to do")
            return
        }
        if let found = report.found, found > report.current {
            try StandardOutput.print(
                "\(report.place): version \(found), newer than version \(report.current) of this command"
            )
            throw ExitCode.failure
        }
        try StandardOutput.print(
            "\(report.place): \(found), \(check ? "would become" : "now") version \(report.current)"
        )
        for step in report.steps { try StandardOutput.print("  \(step)") }
        if check { throw ExitCode.failure }
    }
}
