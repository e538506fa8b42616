import ArgumentParser
import PowerSyncGenerator

/// `powersync generate …`: code for apps, from what a service is configured with.
struct GenerateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate",
        abstract: "Generate code for apps.",
        subcommands: [
            GenerateSwiftCommand.self, GenerateTypeScriptCommand.self, GenerateKotlinCommand.self,
            GenerateDartCommand.self,
        ]
    )
}

/// `powersync generate typescript`, `kotlin` and `dart`: the same for clients in other languages.
protocol GenerateClientCommand: AsyncParsableCommand {
    static var language: ClientLanguage { get }
    var inputs: GenerateInputs { get }
    var output: ClientOutputOptions { get }
}

extension GenerateClientCommand {
    static func configuration(_ language: String, library: String) -> CommandConfiguration {
        CommandConfiguration(
            commandName: Self.language.rawValue,
            abstract: "Generate the schema, types for rows and functions for streams, in \(language).",
            discussion: """
                The code is for \(library). What it is made of, --output and --check are as for powersync generate swift.
                """
        )
    }

    func run() async throws { try await inputs.read().run(Self.language, output) }
}

struct GenerateTypeScriptCommand: GenerateClientCommand {
    static let language = ClientLanguage.typescript
    static var configuration: CommandConfiguration {
        configuration("TypeScript", library: "the package @powersync/common")
    }

    @OptionGroup var inputs: GenerateInputs
    @OptionGroup var output: ClientOutputOptions
}

struct GenerateKotlinCommand: GenerateClientCommand {
    static let language = ClientLanguage.kotlin
    static var configuration: CommandConfiguration {
        configuration("Kotlin", library: "the library com.powersync:core")
    }

    @OptionGroup var inputs: GenerateInputs
    @OptionGroup var output: ClientOutputOptions
}

struct GenerateDartCommand: GenerateClientCommand {
    static let language = ClientLanguage.dart
    static var configuration: CommandConfiguration { configuration("Dart", library: "the package powersync") }

    @OptionGroup var inputs: GenerateInputs
    @OptionGroup var output: ClientOutputOptions
}
