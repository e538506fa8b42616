import Foundation

/// The file in which the sync config of a service is edited.
package struct SyncConfigFile: Sendable {
    /// The file.
    package let path: String
    private let readContent: @Sendable () throws(ServiceError) -> Content?

    /// A sync config as it is to be deployed.
    struct Content: Sendable {
        /// The YAML text.
        var text: String
        /// The name of its file, for diagnostics.
        var file: String
        /// What operators call this version.
        var versionLabel: String?

        /// Whether nothing is to be deployed after another one.
        func isSame(as other: Content) -> Bool {
            text.utf8.elementsEqual(other.text.utf8) && versionLabel == other.versionLabel
        }
    }

    /// The file of a service that is configured by a file; `nil` when its sync config comes through the admin API, or from the
    /// environment, which does not change.
    ///
    /// A config that stands in the service configuration is read from there again with its label; nothing else of that file is
    /// taken up.
    ///
    /// - Parameters:
    ///   - configuration: What the service was created with.
    ///   - serviceFile: The path of the service configuration; `nil` when that comes from the environment.
    ///   - environment: As for ``ServiceConfiguration/init(contentsOf:environment:)``.
    package init?(of configuration: ServiceConfiguration, serviceFile: String?, environment: [String: String]) {
        switch configuration.syncConfig.kind {
        case .deployed, .variable: return nil
        case .file(let path):
            self.path = path
            readContent = { () throws(ServiceError) in try Content(configuration) }
        case .content:
            guard let serviceFile else { return nil }
            path = serviceFile
            readContent = { () throws(ServiceError) in
                try Content(
                    try ServiceConfiguration(
                        yaml: try ServiceConfiguration.read(serviceFile, what: "the service configuration"),
                        file: serviceFile,
                        environment: environment,
                        modules: configuration.modules
                    )
                )
            }
        }
    }

    /// Reads the sync config.
    ///
    /// - Throws: ``ServiceError`` that names the file.
    func read() throws(ServiceError) -> Content {
        if let content = try readContent() { return content }
        throw ServiceError(.invalidConfiguration, "has no sync config any more", file: path)
    }

    /// What the file is at this moment.
    var stamp: FileStamp? { FileStamp(path: path) }
}

extension SyncConfigFile.Content {
    /// Reads what a configuration names; `nil` when that is nothing.
    fileprivate init?(_ configuration: ServiceConfiguration) throws(ServiceError) {
        guard let (text, file) = try configuration.readSyncConfigText() else { return nil }
        self.init(text: text, file: file, versionLabel: configuration.syncConfigVersionLabel)
    }
}
