/// How much of the requests to the sync service is logged.
public enum SyncRequestLogLevel: Sendable {
    /// Everything.
    case all
    /// Request lines and headers. The value of `Authorization` is never logged.
    case headers
    /// Request lines and bodies.
    case body
    /// Request lines.
    case info
    /// Nothing.
    case none
}

/// Where and how much of the requests to the sync service is logged.
public struct SyncRequestLoggerConfiguration: Sendable {
    /// How much is logged.
    public let requestLevel: SyncRequestLogLevel
    private let logHandler: @Sendable (String) -> Void

    /// Creates a configuration that passes lines to a closure.
    ///
    /// - Parameters:
    ///   - requestLevel: How much is logged.
    ///   - logHandler: Called with each line, from any thread.
    public init(requestLevel: SyncRequestLogLevel, logHandler: @Sendable @escaping (_ message: String) -> Void) {
        self.requestLevel = requestLevel
        self.logHandler = logHandler
    }

    /// Creates a configuration that passes lines to a logger.
    ///
    /// - Parameters:
    ///   - requestLevel: How much is logged.
    ///   - logger: Receives each line.
    ///   - logSeverity: The severity of the lines.
    ///   - logTag: The tag of the lines.
    public init(
        requestLevel: SyncRequestLogLevel,
        logger: any LoggerProtocol,
        logSeverity: LogSeverity = .debug,
        logTag: String? = nil
    ) {
        self.init(requestLevel: requestLevel) { message in
            logger.log(logSeverity, message, tag: logTag)
        }
    }

    /// Logs one line, whatever the level.
    public func log(_ message: String) {
        logHandler(message)
    }
}
