import NIOConcurrencyHelpers

/// A logger that passes messages of a minimum severity to its writers.
///
/// ```swift
/// let logger = DefaultLogger(minSeverity: .warning)
/// let database = PowerSyncDatabase(schema: schema, logger: logger)
/// ```
public final class DefaultLogger: LoggerProtocol, @unchecked Sendable {
    // `@unchecked` is part of the declaration apps know; the mutex is the only stored property and guards everything.
    private let configuration: NIOLockedValueBox<(minSeverity: LogSeverity, writers: [any LogWriterProtocol])>

    /// Creates a logger.
    ///
    /// - Parameters:
    ///   - minSeverity: Messages below it are dropped.
    ///   - writers: Where messages go. `nil` means one ``PrintLogWriter``.
    public init(minSeverity: LogSeverity = .debug, writers: [any LogWriterProtocol]? = nil) {
        configuration = NIOLockedValueBox((minSeverity, writers ?? [PrintLogWriter()]))
    }

    /// Replaces the writers, for later messages.
    public func setWriters(_ writers: [any LogWriterProtocol]) {
        configuration.withLockedValue { $0.writers = writers }
    }

    /// Changes the minimum severity, for later messages.
    public func setMinSeverity(_ severity: LogSeverity) {
        configuration.withLockedValue { $0.minSeverity = severity }
    }

    /// Logs a detail for developers.
    public func debug(_ message: String, tag: String? = nil) {
        write(.debug, message, tag: tag)
    }

    /// Logs a failed operation.
    public func error(_ message: String, tag: String? = nil) {
        write(.error, message, tag: tag)
    }

    /// Logs a normal event.
    public func info(_ message: String, tag: String? = nil) {
        write(.info, message, tag: tag)
    }

    /// Logs something unexpected that needs no action yet.
    public func warning(_ message: String, tag: String? = nil) {
        write(.warning, message, tag: tag)
    }

    /// Logs that the database cannot be used.
    public func fault(_ message: String, tag: String? = nil) {
        write(.fault, message, tag: tag)
    }

    /// Writers run outside the lock: they may call back into this logger.
    private func write(_ severity: LogSeverity, _ message: String, tag: String?) {
        let writers = configuration.withLockedValue { configuration in
            severity.rawValue >= configuration.minSeverity.rawValue ? configuration.writers : []
        }
        for writer in writers {
            writer.log(severity: severity, message: message, tag: tag)
        }
    }
}
