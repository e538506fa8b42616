package import PowerSyncProtocol

extension ErrorCode {
    /// The server writes no binary log.
    package static let mysqlLogOff = ErrorCode(rawValue: "PSYNC_S1201")
    /// The log has statements instead of rows.
    package static let mysqlLogFormat = ErrorCode(rawValue: "PSYNC_S1202")
    /// The log does not have whole rows.
    package static let mysqlRowImage = ErrorCode(rawValue: "PSYNC_S1203")
    /// Transactions have no GTIDs.
    package static let mysqlGTID = ErrorCode(rawValue: "PSYNC_S1204")
    /// The log leaves out databases.
    package static let mysqlLogFilter = ErrorCode(rawValue: "PSYNC_S1205")
    /// The server is a replica, or cannot be written.
    package static let mysqlReplica = ErrorCode(rawValue: "PSYNC_S1206")
    /// The user lacks a privilege.
    package static let mysqlPrivilege = ErrorCode(rawValue: "PSYNC_S1207")
    /// The server has deleted log that is needed, or may do so soon.
    package static let mysqlLogPurged = ErrorCode(rawValue: "PSYNC_S1208")
    /// The log does not have a position that was read.
    package static let mysqlPositionLost = ErrorCode(rawValue: "PSYNC_S1209")
    /// Foreign keys change rows that are not in the log.
    package static let mysqlCascade = ErrorCode(rawValue: "PSYNC_S1210")
    /// The kind or the version of the server cannot be used.
    package static let mysqlServer = ErrorCode(rawValue: "PSYNC_S1211")
}
