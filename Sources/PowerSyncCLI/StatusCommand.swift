import ArgumentParser
import Foundation
import PowerSyncOperations
import PowerSyncProtocol
import PowerSyncService
import PowerSyncServiceCore
import PowerSyncTerminal

/// `powersync status --config powersync.yaml`: asks a running service what it replicates, how far it is, and who is connected.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show what a running service replicates, and what is wrong.",
        discussion: """
            Asks the admin API, at the port of the service configuration on this machine or at --url, with a token of \
            `api.tokens`: the first one of the service configuration, or that of the environment variable PS_ADMIN_TOKEN. \
            Exits with 0 when everything is in order (warnings are allowed), with 1 when something is wrong, with 2 when the \
            service does not answer.
            """
    )

    /// The service does not answer.
    static let unreachable = ExitCode(2)

    @OptionGroup var config: ConfigurationOptions

    @Option(help: "The address of a service elsewhere, such as https://sync.example.com.")
    var url: String?

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let request = try RunningService.find(at: url) { (try config.read(), config.location.name) }
        let address = request.address
        let answer: JSONObject
        do {
            answer = try await request.diagnostics()
        } catch let error as AdminRequest.UnexpectedAnswer {
            printToStandardError("\(address): \(error.description)")
            throw Self.unreachable
        } catch {
            printToStandardError("\(address) does not answer: \(AdminRequest.reason(error))")
            throw Self.unreachable
        }
        let report = StatusReport(answer)
        switch output.format {
        case .text: try StandardOutput.print(lines: report.lines)
        case .json: try StandardOutput.print(answer.text)
        }
        guard report.isInOrder else { throw ExitCode.failure }
    }
}
