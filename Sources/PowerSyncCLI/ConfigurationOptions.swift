import ArgumentParser
import Foundation
import PowerSyncGenerator
import PowerSyncService

/// `--config`: where the configuration of a service is (docs/service.md "Configuration").
struct ConfigurationOptions: ParsableArguments {
    @Option(
        name: .customLong("config"),
        help: """
            The service configuration. Without it: what the environment variable POWERSYNC_CONFIG_B64 has in base64, the file \
            that POWERSYNC_CONFIG_PATH names, or powersync.yaml.
            """,
        completion: .file(extensions: ["yaml", "yml"])
    )
    var file: String?

    /// Where the configuration is.
    var location: ConfigurationLocation {
        ConfigurationLocation(argument: file, environment: ProcessInfo.processInfo.environment)
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
    /// - Returns: The command.
    static func command(_ words: String, file: String?) -> String {
        "powersync \(words)" + (file.map { " --config \($0.shellWord)" } ?? "")
    }

    /// Reads the configuration.
    ///
    /// - Throws: `ServiceError` that names file or variable, line and key.
    func read() throws -> ServiceConfiguration {
        try location.read()
    }
}
