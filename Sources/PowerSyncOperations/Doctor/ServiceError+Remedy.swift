import PowerSyncProtocol
import PowerSyncServiceCore

/// The remedy for an error that keeps a service from starting, for a report.
extension ServiceError {
    /// What to do.
    ///
    /// - Parameter area: What was looked at.
    /// - Returns: One or two sentences.
    func remedy(in area: Finding.Area) -> String {
        switch underlyingError {
        case let error as any ServerError where code == .storage && error.isUnanswered:
            // Nothing is known to be wrong with the storage: it could not even be asked.
            "Wait until the server is up, or correct \(key ?? "storage"): the storage itself is left as it is."
        case let error as BucketStorageError where error.code == .corrupted:
            "Move the storage away: the next start makes it again from the source, and clients download it again."
        case _ where catalogueCode == .unsupportedStorageVersion: Self.remedy(for: .storage, key: key, in: area)
        default: Self.remedy(for: code, key: key, in: area)
        }
    }

    /// What to do about an error that is none of the service.
    ///
    /// - Parameter area: What was looked at.
    /// - Returns: One or two sentences.
    static func remedyForOthers(in area: Finding.Area) -> String {
        switch area {
        case .storage, .source, .slots: remedy(for: .storage, key: nil, in: area)
        default: "Look at what the message names; the log of the service may say more."
        }
    }

    private static func remedy(for code: Code, key: String?, in area: Finding.Area) -> String {
        switch code {
        case .invalidConfiguration where key == nil:
            "Correct the configuration, or name another file with --config; powersync init writes one to begin with."
        case .invalidConfiguration:
            "Correct \(key ?? "it") in the configuration, or what it names."
        case .unsupported:
            "Leave \(key ?? "it") out of the configuration, or give it a value that this version knows."
        case .invalidSyncConfig:
            "Correct the sync config; powersync validate checks the file without a service."
        case .missingKey:
            "Give a key below client_auth; powersync init writes a configuration that has one."
        case .portInUse:
            "See who has it (Linux: ss -ltnp, macOS: lsof -iTCP -sTCP:LISTEN), or change \(key ?? "port")."
        case .dataFolder:
            "Make the folder, let the user of the service write into it, or change \(key ?? "the path")."
        case .storage where area == .source:
            "Check that the service may read the source, that it is whole, and that nobody keeps it locked."
        case .storage:
            "Do what the message says."
        default:
            "Look into the log of the service."
        }
    }
}
