import ArgumentParser
import PowerSyncGenerator

/// What the command plugin runs: `powersync generate swift`, without the rest of the `powersync` command.
@main
struct GenerateTool: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "swift package generate-powersync",
        abstract: GenerateSwiftCommand.configuration.abstract
    )

    @OptionGroup var command: GenerateSwiftCommand

    func run() async throws {
        try await command.run()
    }
}
