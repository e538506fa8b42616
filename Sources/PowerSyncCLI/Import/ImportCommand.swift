import ArgumentParser
import Foundation
import PowerSyncOperations
import PowerSyncService
import PowerSyncServiceCore
import PowerSyncTerminal

/// `powersync import FOLDER`: takes over what lies beside an app of the established service.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Take over the configuration of an app of the established service.",
        discussion: """
            Looks in the folder of the app for the service configuration, the sync config, the compose file, files of variables and the \
            migrations, and writes what a service here needs into the folder powersync-swift there: powersync.yaml, sync.yaml, and \
            powersync.env with the secrets that stood in the file. Nothing else is changed, and nothing is overwritten.

            Prints what was changed, which keys have no effect here, what has to be set, what validate says of the sync config with the \
            tables of the migrations, and the service for the compose file. With --connect also what test-connection says of the source.

            Exits with 0 when everything can be used, with 1 when something has to be done by hand, with 2 when there is no connection.
            """
    )

    @Argument(help: "The folder of the app.", completion: .directory)
    var folder: String = "."

    @Option(
        help: "The service configuration in it, if there are several.",
        completion: .file(extensions: ["yaml", "yml"])
    )
    var file: String?

    @Flag(help: "Only say what would be written.")
    var dryRun = false

    @Flag(help: "Connect to the source, too, and say what is missing there; nothing is changed.")
    var connect = false

    func run() async throws {
        let project: ProjectImport
        do {
            project = try ProjectImport(try EstablishedProject(in: folder, service: file))
        } catch let error as ServiceFileConversion.Refused {
            throw UnreadableFile("\(folder): \(error)")
        }
        if !dryRun { try project.write() }
        try StandardOutput.print(lines: project.lines)
        if connect { try await checkSource(of: project) }
        guard project.isUsable else { throw ExitCode.failure }
    }

    private func checkSource(of project: ProjectImport) async throws {
        let environment = project.knownVariables.merging(ProcessInfo.processInfo.environment) { $1 }
        var configuration = try ServiceConfiguration(
            yaml: project.configuration,
            file: "\(folder)/\(project.output)/powersync.yaml",
            environment: environment
        )
        // The file of the sync config need not be there: with --dry-run nothing is written.
        configuration.syncConfig = project.syncConfig.map { .content($0) } ?? .deployed
        let report = ConnectionReport(try await SyncService.checkSource(of: configuration, logger: .ofCommand))
        try StandardOutput.print(lines: ["", "The source:"] + report.lines.map { "  \($0)" })
        guard report.isReachable else { throw TestConnectionCommand.unreachable }
        guard report.canReplicate else { throw ExitCode.failure }
    }
}
