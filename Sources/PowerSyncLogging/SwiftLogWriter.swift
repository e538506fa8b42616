public import Logging
public import PowerSync

/// Writes what the SDK says to a logger of swift-log.
///
/// ```swift
/// let logger = DefaultLogger(writers: [SwiftLogWriter(Logging.Logger(label: "app.sync"))])
/// let database = PowerSyncDatabase(schema: schema, logger: logger)
/// ```
///
/// | Severity | Level |
/// | --- | --- |
/// | `debug`, `info`, `warning`, `error` | the same |
/// | `fault` | `critical` |
///
/// The text is the message, unchanged; the tag is the metadata ``tagKey``. Both the minimum severity of the `DefaultLogger` and the level
/// of the swift-log logger hold messages back.
public struct SwiftLogWriter: LogWriterProtocol {
    /// The key of the metadata that has the tag of a message: `ps.tag`.
    public static let tagKey = "ps.tag"

    private let logger: Logging.Logger

    /// Creates a writer.
    ///
    /// - Parameter logger: Where messages go. Its metadata is on each of them.
    public init(_ logger: Logging.Logger) {
        self.logger = logger
    }

    /// Writes one message.
    public func log(severity: LogSeverity, message: String, tag: String?) {
        logger.log(
            level: severity.level,
            "\(message)",
            metadata: tag.map { [Self.tagKey: .string($0)] },
            source: "PowerSync"
        )
    }
}

extension LogSeverity {
    /// The level of swift-log.
    fileprivate var level: Logging.Logger.Level {
        switch self {
        case .debug: .debug
        case .info: .info
        case .warning: .warning
        case .error: .error
        case .fault: .critical
        }
    }
}
