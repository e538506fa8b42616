import ArgumentParser
import PowerSyncGenerator

/// `powersync generate swift`: a schema, types of rows and functions for streams, from files or from a service's source.
struct GenerateSwiftCommand: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "swift",
            abstract: "Generate the schema of a client, types for its rows, and functions for its streams.",
            discussion: """
                Takes the sync config that is named, or that of the service configuration, and the tables of --schema, of --source, \
                or of the source in the service configuration. Nothing is changed there, and no row is read.

                  powersync generate swift --config powersync.yaml --output Sources/App/Synced.swift
                  powersync generate swift sync.yaml --schema schema.sql
                \(SourceArgument.examples((before: "generate swift sync.yaml", after: "")))

                Prints Swift code, or writes it to --output. With --check nothing is written: exits with 1 and a short \
                difference when the file is not what would be generated. Exits with 2 when there is no connection to the database.
                """
        )
    }

    @OptionGroup var inputs: GenerateInputs

    @OptionGroup var output: SwiftOutputOptions

    func run() async throws { try await inputs.read().run(output) }
}
