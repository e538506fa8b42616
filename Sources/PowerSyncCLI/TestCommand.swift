import ArgumentParser
import Foundation
import PowerSyncGenerator
import PowerSyncSyncConfig
import PowerSyncTerminal

/// `powersync test sync.test.yaml`: checks what clients receive under a sync config.
struct TestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Check which rows clients receive under a sync config, without a service.",
        discussion: """
            Each file has a config, tables with rows, and cases: who asks, what they must receive, and what must never \
            arrive. Prints every case and how it differs, with the reason of each row. Exits with 0 when everything is as \
            expected, with 1 when it is not or when a config cannot be deployed. --format json prints a line of JSON for each file.
            """
    )

    @Argument(help: "Tests, as YAML or JSON.", completion: .file(extensions: ["yaml", "yml", "json"]))
    var files: [String]

    @OptionGroup var output: OutputOptions

    @Flag(help: "List every row that a client receives, with its reason.")
    var verbose = false

    func run() async throws {
        var isSuccess = true
        for file in files {
            let test = ConfigTestFile(path: file)
            let result = await test.run(reasons: verbose && output.format == .text)
            isSuccess = isSuccess && result.isSuccess
            switch output.format {
            case .text:
                try StandardOutput.print(
                    result.text(file: file, config: test.configName, showsRows: verbose),
                    terminator: ""
                )
            case .json:
                for problem in result.rowProblems { printToStandardError("\(file): note: \(problem)") }
                try StandardOutput.print(result.json())
            }
        }
        guard isSuccess else { throw ExitCode.failure }
    }
}

/// A test with the files that it refers to.
private struct ConfigTestFile {
    /// The path of the test.
    let path: String
    private let test: ConfigTest

    /// Reads a test; one that cannot be read has a finding that says so.
    init(path: String) {
        self.path = path
        do {
            test = ConfigTest(parsing: String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self))
        } catch {
            test = ConfigTest(problem: "The test cannot be read; check that it exists")
        }
    }

    /// The config in findings: its file, or the test that has its text.
    var configName: String {
        if case .file(let config) = test.config { resolve(config).relativePath } else { "\(path) (config)" }
    }

    /// Runs the test.
    func run(reasons: Bool) async -> ConfigTestResult {
        var test = test
        guard let source = test.config else { return ConfigTestResult(testFindings: test.findings) }
        let config: String
        do {
            config = try text(of: source)
        } catch {
            test.add(problem: "The config cannot be read; check that \(configName) exists")
            return ConfigTestResult(testFindings: test.findings)
        }
        var schema: SourceSchema?
        do {
            schema = try self.schema()
        } catch {
            test.add(problem: "The schema cannot be read: \(error)")
        }
        return await test.run(config: config, schema: schema, reasons: reasons)
    }

    private func schema() throws -> SourceSchema? {
        switch test.schema {
        case nil: nil
        case .tables(let schema): schema
        case .statements(.inline(let statements)): try SourceSchema(statements: statements)
        case .statements(.file(let file)): try SourceSchema(contentsOf: resolve(file).path)
        }
    }

    private func text(of source: ConfigTest.Text) throws -> String {
        switch source {
        case .inline(let text): text
        case .file(let file): String(decoding: try Data(contentsOf: resolve(file)), as: UTF8.self)
        }
    }

    private func resolve(_ file: String) -> URL {
        file.hasPrefix("/")
            ? URL(filePath: file) : URL(filePath: path).deletingLastPathComponent().appending(path: file)
    }
}
