import ArgumentParser
import Foundation
import Logging
import PowerSyncProtocol
import PowerSyncOperations
import PowerSyncTerminal
import PowerSyncService
import PowerSyncServiceCore

/// `powersync test-connection --config powersync.yaml`: tells whether the source can be replicated, and what is missing.
struct TestConnectionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test-connection",
        abstract: "Check that the source of a service can be replicated.",
        discussion: """
            Connects to the source as the service would, and to a storage that is a server, and prints what is missing on the \
            server, with the statement that mends it. Changes nothing. Exits with 0 when the source can be replicated (warnings are allowed), with 1 when \
            something is missing or the configuration cannot be used, with 2 when there is no connection.
            """
    )

    /// There is no connection.
    static let unreachable = ExitCode(2)

    @OptionGroup var config: ConfigurationOptions

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let configuration = try config.read()
        let source = try await SyncService.checkSource(of: configuration, logger: .ofCommand)
        let report = ConnectionReport(source.adding(try await SyncService.storageErrors(of: configuration)))
        switch output.format {
        case .text: try StandardOutput.print(lines: report.lines)
        case .json: try StandardOutput.print(report.json())
        }
        guard report.isReachable else { throw Self.unreachable }
        guard report.canReplicate else { throw ExitCode.failure }
    }
}
