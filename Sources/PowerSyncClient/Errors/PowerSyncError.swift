public import Foundation

/// An error of the SDK.
public enum PowerSyncError: Error, LocalizedError {
    /// An operation was refused or failed for a reason outside SQLite.
    ///
    /// Of a refusal, `message` is for people, and `underlyingError` is its ``PowerSyncErrorCode``, which ``code`` gives.
    case operationFailed(message: String? = nil, underlyingError: (any Error)? = nil)
    /// SQLite reported an error.
    ///
    /// - `extendedResultCode`: the extended result code, for example 2067 for a unique constraint.
    /// - `offset`: the byte offset of the error in the SQL text, when SQLite knows it.
    /// - `message`: SQLite's message for this error.
    /// - `errorString`: SQLite's general text for the result code.
    /// - `sql`: the statement.
    case sqliteError(
        extendedResultCode: Int32,
        offset: Int32? = nil,
        message: String? = nil,
        errorString: String? = nil,
        sql: String? = nil
    )

    /// The text for people, for example `SQLite failure (code 1): SQL logic error, no such table: users`.
    public var errorDescription: String? {
        switch self {
        case .operationFailed(let message, let underlyingError):
            PowerSyncError.operationDescription(message, underlyingError)
        case .sqliteError(let extendedResultCode, let offset, let message, let errorString, let sql):
            PowerSyncError.sqliteDescription(extendedResultCode, offset, message, errorString, sql)
        }
    }

    /// The text for people of an operation that failed.
    static func operationDescription(_ message: String?, _ underlyingError: (any Error)?) -> String {
        switch (message, underlyingError) {
        // A code says to code what the message says to people.
        case (let message?, is PowerSyncErrorCode), (let message?, nil): message
        case (let message?, let error?): "\(message): \(error.localizedDescription)"
        case (nil, let error?): error.localizedDescription
        case (nil, nil): "An unknown error occurred."
        }
    }

    private static func sqliteDescription(
        _ extendedResultCode: Int32,
        _ offset: Int32?,
        _ message: String?,
        _ errorString: String?,
        _ sql: String?
    ) -> String {
        var text = "SQLite failure (code \(extendedResultCode))"
        if let errorString { text += ": \(errorString)" }
        if let offset { text += " at offset \(offset)" }
        if let message { text += ", \(message)" }
        if let sql { text += " for SQL: \(sql)" }
        return text
    }
}
