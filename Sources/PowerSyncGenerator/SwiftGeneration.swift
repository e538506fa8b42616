import ArgumentParser
import Foundation
import PowerSyncSyncConfig
import PowerSyncTerminal

/// Makes the code of a sync config and the tables of a source, in Swift or another language, and prints it, writes it, or compares a file
/// with it.
package struct SwiftGeneration: Sendable {
    /// The text of the sync config.
    private let yaml: String
    /// The sync config in findings.
    private let config: String
    /// The tables of the source.
    private let source: DeclaredSource
    /// What the code is made of, for the comment on top: files, and what is none.
    private let inputs: [String]
    /// What follows the language in the command, before the options for the output.
    private let words: [String]

    /// Creates a generation.
    ///
    /// - Parameters:
    ///   - yaml: The text of the sync config.
    ///   - config: The name of the sync config in findings.
    ///   - source: The tables of the source.
    ///   - inputs: What the code is made of: the sync config first. Of paths, only the last part is in the code.
    ///   - words: The arguments that name these inputs, without secrets: they are in the code.
    package init(yaml: String, config: String, source: DeclaredSource, inputs: [String], words: [String]) {
        self.yaml = yaml
        self.config = config
        self.source = source
        self.inputs = inputs
        self.words = words
    }

    /// Reads a sync config.
    ///
    /// - Parameter path: The file.
    /// - Returns: Its text.
    /// - Throws: ``UnreadableFile``.
    package static func syncConfig(at path: String) throws -> String {
        do {
            return String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
        } catch {
            throw UnreadableFile("\(path) cannot be read; check that it exists")
        }
    }

    /// Makes the code, and does with it what the options say.
    ///
    /// Findings go to standard error.
    ///
    /// - Parameter options: What is made, and where it goes.
    /// - Throws: `ExitCode.failure` after it has said what is wrong, or how the file differs; ``UnreadableFile``,
    ///   ``UnwritableOutput``.
    package func run(_ options: SwiftOutputOptions) throws {
        let text = try code { try SwiftSource($0, self.options(options)).text }
        try deliver(text, to: options.output, checks: options.check)
    }

    /// Makes code for clients in another language, and does with it what the options say; see ``run(_:)``.
    ///
    /// - Parameters:
    ///   - language: The language.
    ///   - options: Where it goes, and what the code is made with.
    /// - Throws: As there.
    package func run(_ language: ClientLanguage, _ options: ClientOutputOptions) throws {
        var code = ClientCode.Options()
        code.inputs = inputs.map { URL(filePath: $0).lastPathComponent }
        code.command = (["powersync", "generate", language.rawValue] + words + options.words).map(\.shellWord)
            .joined(separator: " ")
        code.packageName = options.packageName
        let text = try self.code { try language.text(of: $0, code) }
        try deliver(text, to: options.output, checks: options.check)
    }

    private func deliver(_ text: String, to output: String?, checks: Bool) throws {
        guard let output else { return try StandardOutput.write(text) }
        guard checks else {
            do {
                try Data(text.utf8).write(to: URL(filePath: output), options: .atomic)
            } catch {
                throw UnreadableFile("\(output) cannot be written: \(error.localizedDescription)")
            }
            return
        }
        let existing: String
        do {
            existing = String(decoding: try Data(contentsOf: URL(filePath: output)), as: UTF8.self)
        } catch {
            throw UnreadableFile("\(output) cannot be read; generate it without --check first")
        }
        if let difference = TextDifference(from: existing, to: text) {
            let verb = inputs.count == 1 ? "gives" : "give"
            try StandardOutput.print(
                "\(output) is not what \(inputs.joined(separator: " and ")) \(verb); \(difference.lines.joined(separator: "\n"))"
            )
            throw ExitCode.failure
        }
    }

    /// Compiles the config, and makes the code.
    private func code(_ make: (ClientModel) throws -> String) throws -> String {
        let result = SyncConfig.parse(
            yaml,
            schema: SourceSchema(source.tables, defaultSchema: source.defaultSchema)
        )
        for diagnostic in result.diagnostics { diagnostic.lines(file: config).forEach { printToStandardError($0) } }
        guard let plan = result.plan else { throw ExitCode.failure }
        do {
            let model = try ClientModel(plan, source: source)
            for note in model.notes { printToStandardError("\(config): note: \(note)") }
            return try make(model)
        } catch let error as GenerationError {
            for problem in error.problems { printToStandardError("\(config): error: \(problem)") }
            throw ExitCode.failure
        }
    }

    private func options(_ output: SwiftOutputOptions) -> SwiftSource.Options {
        var options = SwiftSource.Options()
        options.namespace = output.namespace
        options.access = output.access
        options.usesDates = output.dates
        options.inputs = inputs.map { URL(filePath: $0).lastPathComponent }
        options.command = (["powersync", "generate", "swift"] + words + output.words).map(\.shellWord)
            .joined(separator: " ")
        return options
    }
}
