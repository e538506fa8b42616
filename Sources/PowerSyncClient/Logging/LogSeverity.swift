/// How serious a log message is, from the least to the most serious.
public enum LogSeverity: Int, CaseIterable, Sendable {
    /// Details for developers.
    case debug = 0
    /// Normal events.
    case info
    /// Something unexpected that needs no action yet.
    case warning
    /// An operation failed.
    case error
    /// The database cannot be used.
    case fault

    /// The name in upper case, for example `WARNING`.
    public var stringValue: String {
        switch self {
        case .debug: "DEBUG"
        case .info: "INFO"
        case .warning: "WARNING"
        case .error: "ERROR"
        case .fault: "FAULT"
        }
    }

    /// The name of a severity given by its number.
    ///
    /// - Parameter intValue: A raw value, 0 … 4.
    /// - Returns: `nil` for any other number.
    public static func string(from intValue: Int) -> String? {
        LogSeverity(rawValue: intValue)?.stringValue
    }
}
