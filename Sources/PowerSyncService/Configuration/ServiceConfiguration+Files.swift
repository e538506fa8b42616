import Foundation

/// The texts of files that a configuration consists of.
extension ServiceConfiguration {
    /// The text of the sync config, and the name for its diagnostics; `nil` for the one that was deployed last.
    package func readSyncConfigText() throws(ServiceError) -> (text: String, file: String)? {
        switch syncConfig.kind {
        case .deployed: nil
        case .content(let text): (text, "sync.yaml")
        case .variable(let name, let text): (text, name)
        case .file(let path): (try Self.read(path, what: "the sync config"), path)
        }
    }

    /// The text of a file; `what` begins the sentence about one that cannot be read.
    static func read(_ path: String, what: String) throws(ServiceError) -> String {
        do {
            return try String(contentsOf: URL(filePath: path), encoding: .utf8)
        } catch {
            let problem =
                FileManager.default.fileExists(atPath: path)
                ? "cannot be read; check that it may be read, and is UTF-8 text" : "does not exist"
            throw ServiceError(.invalidConfiguration, "\(what) \(problem)", file: path)
        }
    }
}
