package import ArgumentParser
import Foundation
import PowerSyncRules

/// `powersync generate swift sync.yaml --schema schema.sql`: a schema, types of rows and functions for streams.
package struct GenerateSwiftCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "swift",
        abstract: "Generate the schema of a client, types for its rows, and functions for its streams.",
        discussion: """
            Prints Swift code, or writes it to --output. With --check nothing is written: exits with 1 and a short \
            difference when the file is not what would be generated.

              powersync generate swift sync.yaml --schema schema.sql --output Sources/App/Synced.swift
            """
    )

    @Argument(help: "The sync config.", completion: .file(extensions: ["yaml", "yml"]))
    var config: String

    @Option(
        help: "The tables of the source: a SQLite database, or a file of CREATE TABLE statements.",
        completion: .file()
    )
    var schema: String

    @Option(help: "The file to write.", completion: .file(extensions: ["swift"]))
    var output: String?

    @Flag(help: "Only check whether the file at --output is what would be generated.")
    var check = false

    @Option(help: "The name of the type that everything is in.")
    var namespace = SwiftSource.Options().namespace

    @Option(help: "Who may use what is generated: internal, package or public.")
    var access: SwiftSource.Access = .internal

    @Flag(help: "Read timestamps as Date, rather than as the text that came.")
    var dates = false

    package init() {}

    package func validate() throws {
        if check, output == nil { throw ValidationError("--check needs --output, the file that is checked") }
        guard SwiftName.isIdentifier(namespace) else {
            throw ValidationError("--namespace needs the name of a type, not '\(namespace)'")
        }
    }

    package func run() async throws {
        let text = try generate()
        guard let output else { return print(text, terminator: "") }
        guard check else {
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
            print("\(output) is not what \(config) and \(schema) give; \(difference.lines.joined(separator: "\n"))")
            throw ExitCode.failure
        }
    }

    /// Reads config and schema, and makes the code.
    private func generate() throws -> String {
        let yaml: String
        do {
            yaml = String(decoding: try Data(contentsOf: URL(filePath: config)), as: UTF8.self)
        } catch {
            throw UnreadableFile("\(config) cannot be read; check that it exists")
        }
        let tables: [DeclaredTable]
        do {
            tables = try DeclaredTable.all(in: schema)
        } catch {
            throw UnreadableFile("cannot read the schema \(schema): \(error)")
        }
        let result = SyncConfig.parse(yaml, schema: SourceSchema(tables))
        for diagnostic in result.diagnostics { printToStandardError(diagnostic.rendered(file: config)) }
        guard let plan = result.plan else { throw ExitCode.failure }
        do {
            let model = try ClientModel(plan, source: tables)
            for note in model.notes { printToStandardError("\(config): note: \(note)") }
            return try SwiftSource(model, options).text
        } catch let error as GenerationError {
            for problem in error.problems { printToStandardError("\(config): error: \(problem)") }
            throw ExitCode.failure
        }
    }

    private var options: SwiftSource.Options {
        var options = SwiftSource.Options()
        let defaults = options
        options.namespace = namespace
        options.access = access
        options.usesDates = dates
        options.inputs = [config, schema].map { URL(filePath: $0).lastPathComponent }
        var words = ["powersync", "generate", "swift", config, "--schema", schema]
        if let output { words += ["--output", output] }
        if namespace != defaults.namespace { words += ["--namespace", namespace] }
        if access != defaults.access { words += ["--access", access.rawValue] }
        if dates { words.append("--dates") }
        options.command = words.map(\.shellWord).joined(separator: " ")
        return options
    }

    private func printToStandardError(_ line: String) {
        FileHandle.standardError.write(Data("\(line)\n".utf8))
    }
}

extension SwiftSource.Access: ExpressibleByArgument {}

extension String {
    /// The text as a word of a shell's command, on one line.
    fileprivate var shellWord: String {
        let isPlain = unicodeScalars.allSatisfy { $0.properties.isXIDContinue || "/.-_+@:".unicodeScalars.contains($0) }
        return isPlain && !isEmpty ? self : "'\(replacing("'", with: "'\\''").replacing("\n", with: " "))'"
    }
}
