import ArgumentParser
import Foundation
import PowerSyncServiceCore
import PowerSyncSyncConfig
import PowerSyncTerminal

/// `powersync convert old.yaml`: writes bucket definitions as streams.
struct ConvertCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "convert",
        abstract: "Write the bucket definitions of a sync config as streams, which give clients the same rows.",
        discussion: """
            Prints a sync config of edition 3 that writes values as the old one does. Either all definitions are converted, or \
            nothing is printed and the command says for each of the others what to write by hand, and exits with 1.

            Clients get the same rows, in other buckets: they download them once more when the new config is deployed. Check it \
            with `powersync test`, and with `powersync validate NEW --source … --as USER` beside the old one.
            """
    )

    @Argument(help: "The sync config with `bucket_definitions`.", completion: .file(extensions: ["yaml", "yml"]))
    var config: String

    @Option(
        name: [.long, .customShort("o")],
        help: "A file to write instead of printing; it must not be there yet.",
        completion: .file(extensions: ["yaml", "yml"])
    )
    var output: String?

    func run() throws {
        guard let data = FileManager.default.contents(atPath: config) else {
            throw UnreadableFile("\(config) cannot be read; check that it exists")
        }
        let conversion = DefinitionConversion(of: String(decoding: data, as: UTF8.self))
        for obstacle in conversion.obstacles { printToStandardError(Self.line(obstacle, file: config)) }
        guard let yaml = conversion.yaml else { throw ExitCode.failure }
        if let output {
            do {
                try Data(yaml.utf8).write(to: URL(filePath: output), options: .withoutOverwriting)
            } catch {
                throw UnreadableFile("\(output) cannot be written, or is there already; nothing was written")
            }
        } else {
            try StandardOutput.print(String(yaml.dropLast()))
        }
        for note in conversion.notes { printToStandardError("note: \(note)") }
    }

    /// An obstacle as one line: `old.yaml: by_user: …`.
    static func line(_ obstacle: DefinitionConversion.Obstacle, file: String) -> String {
        "\(file): \(obstacle.definition.map { "\($0): " } ?? "")\(obstacle.reason)"
    }
}
