import ArgumentParser
import PowerSyncGenerator

/// What the command plugin runs: `powersync generate swift` for tables in files, without the rest of the `powersync` command.
@main
struct GenerateTool: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "swift package generate-powersync",
        abstract: "Generate the schema of a client, types for its rows, and functions for its streams.",
        discussion: """
            Prints Swift code, or writes it to --output. With --check nothing is written: exits with 1 and a short \
            difference when the file is not what would be generated. The command powersync generate swift can also \
            ask the database that a service replicates.
            """
    )

    @Argument(help: "The sync config.", completion: .file(extensions: ["yaml", "yml"]))
    var config: String

    @Option(help: ArgumentHelp(SchemaOption.help), completion: .file())
    var schema: String

    @OptionGroup var output: SwiftOutputOptions

    func run() async throws {
        let yaml = try SwiftGeneration.syncConfig(at: config)
        let generation = SwiftGeneration(
            yaml: yaml,
            config: config,
            source: try DeclaredSource(contentsOf: schema),
            inputs: [config, schema],
            words: [config, "--schema", schema]
        )
        try generation.run(output)
    }
}
