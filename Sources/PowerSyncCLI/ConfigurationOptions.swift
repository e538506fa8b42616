import ArgumentParser
import Foundation
import PowerSyncTerminal
import PowerSyncService

/// `--config`: where the configuration of a service is (docs/service.md "Configuration").
struct ConfigurationOptions: ParsableArguments {
    @Option(
        name: [.customLong("config"), .customShort("c"), .customLong("config-path")],
        help: """
            The service configuration. Without it: what the environment variable POWERSYNC_CONFIG_B64 has in base64, the file \
            that POWERSYNC_CONFIG_PATH names, or powersync.yaml.
            """,
        completion: .file(extensions: ["yaml", "yml"])
    )
    var file: String?

    @Option(
        name: [.customLong("config-base64"), .customLong("c64", withSingleDash: true)],
        help:
            "The service configuration itself, in base64; other users of this machine can see it while the command runs."
    )
    var text: String?

    @Option(
        name: [.customLong("sync-base64"), .customLong("sync64", withSingleDash: true)],
        help: "The sync config itself, in base64, instead of the one that the service configuration names."
    )
    var syncConfig: String?

    /// Where the configuration is.
    var location: ConfigurationLocation {
        ConfigurationLocation(
            argument: file,
            text: text,
            syncConfig: syncConfig,
            environment: ProcessInfo.processInfo.environment,
            modules: CommandModules.current
        )
    }

    /// A command to paste into a shell, about the same service.
    ///
    /// - Parameter words: What follows `powersync`.
    /// - Returns: The command, with `--config` if that was given.
    func command(_ words: String) -> String { Self.command(words, file: file) }

    /// A command to paste into a shell, about the service of a file.
    ///
    /// - Parameters:
    ///   - words: What follows `powersync`.
    ///   - file: The configuration; `nil` when the command finds it as this one has.
    ///   - program: The path of this program, where a shell does not find it by its name.
    /// - Returns: The command.
    static func command(_ words: String, file: String?, program: String = "powersync") -> String {
        "\(program.shellWord) \(words)" + (file.map { " --config \($0.shellWord)" } ?? "")
    }

    /// Reads the configuration.
    ///
    /// - Throws: `ServiceError` that names file or variable, line and key.
    func read() throws -> ServiceConfiguration {
        try location.read()
    }
}
