/// Receives what the SDK has to say.
///
/// ``DefaultLogger`` is the usual implementation.
///
/// Methods are called from any thread and must not block for long.
public protocol LoggerProtocol: Sendable {
    /// Logs a normal event.
    func info(_ message: String, tag: String?)
    /// Logs a failed operation.
    func error(_ message: String, tag: String?)
    /// Logs a detail for developers.
    func debug(_ message: String, tag: String?)
    /// Logs something unexpected that needs no action yet.
    func warning(_ message: String, tag: String?)
    /// Logs that the database cannot be used.
    func fault(_ message: String, tag: String?)
}

extension LoggerProtocol {
    /// Logs a message of a severity that is known at run time only.
    package func log(_ severity: LogSeverity, _ message: String, tag: String?) {
        switch severity {
        case .debug: debug(message, tag: tag)
        case .info: info(message, tag: tag)
        case .warning: warning(message, tag: tag)
        case .error: error(message, tag: tag)
        case .fault: fault(message, tag: tag)
        }
    }
}

/// A destination of ``DefaultLogger``.
public protocol LogWriterProtocol: Sendable {
    /// Writes one message.
    ///
    /// - Parameters:
    ///   - severity: How serious the message is.
    ///   - message: The text.
    ///   - tag: The part of the SDK or the app that speaks.
    func log(severity: LogSeverity, message: String, tag: String?)
}
