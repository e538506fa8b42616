package import PowerSyncProtocol
package import PowerSyncSyncConfig

/// Something about a server, a publication or a table that keeps rows from being replicated, or may do so one day.
package struct PostgresFinding: Sendable, Hashable {
    /// How bad it is.
    package enum Severity: String, Sendable, Hashable {
        /// Nothing can be replicated.
        case error
        /// Something is left out, or will be one day.
        case warning
    }

    /// How bad it is.
    package let severity: Severity
    /// The code of the error catalogue, if there is one.
    package let code: ErrorCode?
    /// What is wrong, and what follows from it.
    package let message: String
    /// What mends it: statements of SQL, or what to set where SQL cannot; `nil` when nothing has to be done.
    package let remedy: String?
    /// The table that it is about; `nil` for the server and the publication.
    package private(set) var table: SourceTableName?

    /// The same about a table.
    func about(_ table: SourceTableName) -> PostgresFinding {
        var finding = self
        finding.table = table
        return finding
    }

    /// Whether a table that is there is not synced, or not with all its changes.
    ///
    /// The service starts nevertheless: other tables are.
    package private(set) var leavesTableOut = false

    /// Whether it says that a table does not exist, which the text of the sync config tells better: where, and which one was meant.
    private(set) var isMissingTable = false

    static func missing(_ table: String, in database: String) -> PostgresFinding {
        var finding = warning(
            "The sync config reads \(table), and database \(database) has no such table.",
            "Check the spelling; names are case sensitive. A table that is created later is noticed."
        )
        finding.isMissingTable = true
        return finding
    }

    static func leftOut(_ message: String, _ remedy: String?) -> PostgresFinding {
        var finding = warning(message, remedy)
        finding.leavesTableOut = true
        return finding
    }

    /// Something that keeps everything from being replicated.
    package static func error(_ code: ErrorCode, _ message: String, _ remedy: String?) -> PostgresFinding {
        PostgresFinding(severity: .error, code: code, message: message, remedy: remedy)
    }

    static func warning(_ message: String, _ remedy: String?) -> PostgresFinding {
        PostgresFinding(severity: .warning, code: nil, message: message, remedy: remedy)
    }

    static func warning(_ code: ErrorCode, _ message: String, _ remedy: String?) -> PostgresFinding {
        PostgresFinding(severity: .warning, code: code, message: message, remedy: remedy)
    }
}

extension PostgresFinding: CustomStringConvertible {
    /// One line, and one more for what mends it.
    package var description: String {
        "\(severity.rawValue): \(message)\(code.map { " [\($0)]" } ?? "")\(remedy.map { "\n  \($0)" } ?? "")"
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
