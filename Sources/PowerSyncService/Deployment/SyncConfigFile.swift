import Foundation

/// The file in which the sync config of a service is edited.
package struct SyncConfigFile: Sendable {
    /// What tells whether a file has been written: which file it is, how long, and when it was changed.
    struct Stamp: Equatable, Sendable {
        private let identity: DataFileWatch.Identity
        private let size: Int
        private let changedAt: Date

        /// The file that a name leads to, through symbolic links; `nil` when there is none.
        init?(path: String) {
            // A mounted ConfigMap is replaced by changing a link in the middle of the path.
            let path = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
            guard let identity = DataFileWatch.Identity(path: path),
                let attributes = try? FileManager.default.attributesOfItem(atPath: path),
                let size = attributes[.size] as? NSNumber,
                let changedAt = attributes[.modificationDate] as? Date
            else { return nil }
            self.identity = identity
            self.size = size.intValue
            self.changedAt = changedAt
        }
    }

    /// The file.
    package let path: String
    private let readText: @Sendable () throws(ServiceError) -> (text: String, file: String)?

    /// The file of a service that is configured by a file; `nil` when its sync config comes through the admin API.
    ///
    /// A config that stands in the service configuration is read from there again; nothing else of that file is taken up.
    ///
    /// - Parameters:
    ///   - configuration: What the service was created with.
    ///   - serviceFile: The path of the service configuration.
    ///   - environment: As for ``ServiceConfiguration/init(contentsOf:environment:)``.
    package init?(of configuration: ServiceConfiguration, serviceFile: String, environment: [String: String]) {
        switch configuration.syncConfig.kind {
        case .deployed: return nil
        case .file(let path):
            self.path = path
            readText = { () throws(ServiceError) in try configuration.readSyncConfigText() }
        case .content:
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
    var stamp: Stamp? { Stamp(path: path) }
}
