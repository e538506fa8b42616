import ArgumentParser
import PowerSyncTerminal
import Testing

@testable import PowerSyncCLI
@testable import PowerSyncInspection

/// The one spelling of output for tools (docs/operating.md).
@Suite struct OutputOptionsTests {
    /// The arguments of each command that prints for tools.
    private static let commands = [
        ["doctor"], ["inspect", "app.db"], ["slots"], ["status"], ["test", "a.test.yaml"], ["test-connection"],
        ["validate", "sync.yaml"],
    ]

    /// How a command prints.
    private static func format(_ arguments: [String]) throws -> OutputFormat? {
        switch try PowerSyncCommand.parseAsRoot(arguments) {
        case let command as DoctorCommand: command.output.format
        case let command as InspectCommand: command.output.format
        case let command as SlotsCommand: command.output.format
        case let command as StatusCommand: command.output.format
        case let command as TestCommand: command.output.format
        case let command as TestConnectionCommand: command.output.format
        case let command as ValidateCommand: command.output.format
        default: nil
        }
    }

    @Test(arguments: commands)
    func everyCommandHasTheSameOptions(_ command: [String]) throws {
        #expect(try Self.format(command) == .text)
        #expect(try Self.format(command + ["--format", "text"]) == .text)
        #expect(try Self.format(command + ["--format", "json"]) == .json)
        #expect(try Self.format(command + ["--json"]) == .json)
        #expect(try Self.format(command + ["--format", "json", "--json"]) == .json)
        #expect(throws: (any Error).self) { try Self.format(command + ["--format", "yaml"]) }
    }
}
