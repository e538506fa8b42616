package import PowerSyncServiceCore

/// Where the configuration of a service is: in a file, or in a variable of the environment.
///
/// The first of these that is given: an argument of a command, with all of it in base64 or with the path of a file;
/// `POWERSYNC_CONFIG_B64` with all of it in base64, `POWERSYNC_CONFIG_PATH` with the path of a file; else the file `powersync.yaml`.
package struct ConfigurationLocation: Sendable {
    private enum Place {
        /// A file, and the variable that has named it.
        case file(String, variable: String?)
        /// The variable itself.
        case variable(String)
    }

    /// The file of the usual name.
    package static let usualFile = "powersync.yaml"

    private let place: Place
    private let modules: Modules
    /// The variables, with what arguments replace.
    package let environment: [String: String]
    /// Whether the location was given, by an option or a variable.
    package let isGiven: Bool

    /// Finds out where the configuration is; reads nothing.
    ///
    /// - Parameters:
    ///   - argument: The file that a command was given.
    ///   - text: The text in base64 that a command was given.
    ///   - syncConfig: The text of the sync config in base64 that a command was given.
    ///   - environment: The variables; also those for `!env PS_NAME`.
    ///   - modules: The databases that a configuration may name.
    package init(
        argument: String?,
        text: String? = nil,
        syncConfig: String? = nil,
        environment: [String: String],
        modules: Modules = .all
    ) {
        self.modules = modules
        var environment = environment
        if let text { environment[ConfigurationVariable.textArgument] = text }
        if let syncConfig { environment[ConfigurationVariable.syncConfigArgument] = syncConfig }
        self.environment = environment
        if text != nil {
            place = .variable(ConfigurationVariable.textArgument)
        } else if let argument {
            place = .file(argument, variable: nil)
        } else if ConfigurationVariable.value(of: ConfigurationVariable.text, in: environment) != nil {
            place = .variable(ConfigurationVariable.text)
        } else if let path = ConfigurationVariable.value(of: ConfigurationVariable.path, in: environment) {
            place = .file(path, variable: ConfigurationVariable.path)
        } else {
            place = .file(Self.usualFile, variable: nil)
            isGiven = false
            return
        }
        isGiven = true
    }

    /// The path of the file; `nil` when the configuration is in a variable.
    package var file: String? {
        if case .file(let path, _) = place { path } else { nil }
    }

    /// What messages call it: the path, or the variable.
    package var name: String {
        switch place {
        case .file(let path, _): path
        case .variable(let name): name
        }
    }

    /// Reads the configuration.
    ///
    /// Relative paths in it start at the folder of the file, or at the present one when it is in a variable.
    ///
    /// - Returns: The configuration.
    /// - Throws: ``ServiceError`` as ``ServiceConfiguration/init(contentsOf:environment:)``; it names the variable.
    package func read() throws(ServiceError) -> ServiceConfiguration {
        let yaml: String
        switch place {
        case .file(let path, let variable):
            let origin = variable.map { ", which \($0) names," } ?? ""
            yaml = try ServiceConfiguration.read(path, what: "the service configuration\(origin)")
        case .variable(let name):
            yaml = try ConfigurationVariable.decodedText(of: name, in: environment) ?? ""
        }
        return try ServiceConfiguration(yaml: yaml, file: name, environment: environment, modules: modules)
    }
}
