import ArgumentParser
import PowerSyncGenerator

/// `powersync generate …`: code for apps, from what a service is configured with.
struct GenerateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate",
        abstract: "Generate code for apps.",
        subcommands: [GenerateSwiftCommand.self]
    )
}
