package import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// What is found about a server, a publication or a table.
extension Finding {
    /// The same about a table.
    func about(_ table: SourceTableName) -> Finding {
        var finding = self
        finding.place.table = table
        return finding
    }

    /// A table that is there is not synced, or not with all its changes.
    static func leftOut(_ message: String, _ remedy: String?) -> Finding {
        Finding(.warning, .source, message, remedy: remedy, leavesTableOut: true)
    }

    /// Nothing can be replicated.
    static func error(_ code: ErrorCode, _ message: String, _ remedy: String?) -> Finding {
        Finding(.error, .source, code: code, message, remedy: remedy)
    }

    /// Something is left out, or will be one day.
    static func warning(_ message: String, _ remedy: String?) -> Finding {
        Finding(.warning, .source, message, remedy: remedy)
    }

    /// Something is left out, or will be one day, and the catalogue has a code for it.
    static func warning(_ code: ErrorCode, _ message: String, _ remedy: String?) -> Finding {
        Finding(.warning, .source, code: code, message, remedy: remedy)
    }
}

extension ErrorCode {
    /// The publication does not exist.
    package static let publicationMissing = ErrorCode(rawValue: "PSYNC_S1141")
    /// The publication leaves out operations.
    package static let publicationOperations = ErrorCode(rawValue: "PSYNC_S1142")
    /// The publication publishes partitions under the name of their root.
    package static let publicationViaRoot = ErrorCode(rawValue: "PSYNC_S1143")
    /// The version or the settings of the server cannot be used.
    package static let serverSettings = ErrorCode(rawValue: "PSYNC_S1144")
    /// Policies hide rows of a table.
    package static let rowSecurity = ErrorCode(rawValue: "PSYNC_S1145")
    /// The server has thrown away, or will throw away, what a replication slot needs.
    package static let slotLost = ErrorCode(rawValue: "PSYNC_S1146")
    /// The role lacks a privilege.
    package static let privilegeMissing = ErrorCode(rawValue: "PSYNC_S1147")
}
