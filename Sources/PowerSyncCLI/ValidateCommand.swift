import ArgumentParser
import Foundation
import PowerSyncRules

/// `powersync validate sync.yaml`: compiles a sync config and prints what is wrong with it.
struct ValidateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Check a sync config (the YAML file with `streams`) without deploying it.",
        discussion: """
            Prints every finding as FILE:LINE:COLUMN: SEVERITY: MESSAGE [CODE]. Exits with 0 when the config can be \
            deployed (warnings are allowed), with 1 when it can not.
            """
    )

    @Argument(help: "The sync config.", completion: .file(extensions: ["yaml", "yml"]))
    var config: String

    func run() async throws {
        let text: String
        do {
            text = try String(contentsOfFile: config, encoding: .utf8)
        } catch {
            throw ValidationError("cannot read \(config): \(error.localizedDescription)")
        }
        let result = SyncConfig.parse(text)
        for diagnostic in result.diagnostics {
            print(diagnostic.formatted(file: config))
        }
        guard let plan = result.plan, result.isUsable else {
            throw ExitCode.failure
        }
        print("\(config): \(plan.streams.count) streams, ready to deploy")
    }
}
