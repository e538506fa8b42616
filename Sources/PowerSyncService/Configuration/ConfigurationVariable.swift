import Foundation

/// Variables of the environment that name a configuration, or have all of it (docs/service.md "Configuration").
///
/// One that is empty counts as one that is not set.
enum ConfigurationVariable {
    /// The path of the service configuration.
    static let path = "POWERSYNC_CONFIG_PATH"
    /// The text of the service configuration, in base64.
    static let text = "POWERSYNC_CONFIG_B64"
    /// The text of the sync config, in base64.
    static let syncConfig = "POWERSYNC_SYNC_CONFIG_B64"
    /// Another name of ``syncConfig``.
    static let syncConfigAlias = "POWERSYNC_SYNC_RULES_B64"
    /// The argument that counts more than ``text``.
    static let textArgument = "--config-base64"
    /// The argument that counts more than ``syncConfig``.
    static let syncConfigArgument = "--sync-base64"

    /// The value of a variable; `nil` when it is not set.
    static func value(of name: String, in environment: [String: String]) -> String? {
        // A path from a file ends with a line break.
        environment[name].map(\.withoutLineEnd).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The text that a variable has in base64.
    ///
    /// - Parameters:
    ///   - name: The variable.
    ///   - environment: All variables.
    /// - Returns: The text; `nil` when the variable is not set.
    /// - Throws: ``ServiceError`` that names the variable, and shows nothing of its value.
    static func decodedText(of name: String, in environment: [String: String]) throws(ServiceError) -> String? {
        guard let encoded = value(of: name, in: environment) else { return nil }
        // The command base64 breaks lines.
        guard let bytes = Data(base64Encoded: encoded.filter { !$0.isWhitespace }) else {
            throw ServiceError(
                .invalidConfiguration,
                "not base64; set it to what this prints: base64 FILE | tr -d '\\n'",
                file: name
            )
        }
        guard let text = String(bytes: bytes, encoding: .utf8) else {
            throw ServiceError(.invalidConfiguration, "what is in base64 is not UTF-8 text", file: name)
        }
        return text
    }

    /// The sync config that the environment has instead of the one that the service configuration names.
    ///
    /// - Returns: Its text, and the variable that has it; `nil` when none is set.
    /// - Throws: ``ServiceError`` that names the variable.
    static func syncConfigText(
        in environment: [String: String]
    ) throws(ServiceError) -> (name: String, text: String)? {
        if let text = try decodedText(of: syncConfigArgument, in: environment) { return (syncConfigArgument, text) }
        let names = [syncConfig, syncConfigAlias].filter { value(of: $0, in: environment) != nil }
        guard let name = names.first, let text = try decodedText(of: name, in: environment) else { return nil }
        guard names.count == 1 else {
            throw ServiceError(
                .invalidConfiguration,
                "an alias of \(syncConfig); set one of them",
                file: syncConfigAlias
            )
        }
        return (name, text)
    }
}
