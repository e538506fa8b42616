import Foundation

/// The file in which the sync config of a service is edited.
package struct SyncConfigFile: Sendable {
    /// The file.
    package let path: String
    private let readText: @Sendable () throws(ServiceError) -> (text: String, file: String)?

    /// The file of a service that is configured by a file; `nil` when its sync config comes through the admin API, or from the
    /// environment, which does not change.
    ///
    /// A config that stands in the service configuration is read from there again; nothing else of that file is taken up.
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
            readText = { () throws(ServiceError) in try configuration.readSyncConfigText() }
        case .content:
            guard let serviceFile else { return nil }
            path = serviceFile
            readText = { () throws(ServiceError) in
                try ServiceConfiguration(contentsOf: serviceFile, environment: environment).readSyncConfigText()
            }
        }
    }

    /// The text of the sync config, and the name for its diagnostics.
    ///
    /// - Throws: ``ServiceError`` that names the file.
    func read() throws(ServiceError) -> (text: String, file: String) {
        if let read = try readText() { return read }
        throw ServiceError(.invalidConfiguration, "has no sync config any more", file: path)
    }

    /// What the file is at this moment.
    var stamp: FileStamp? { FileStamp(path: path) }
}
