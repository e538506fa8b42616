import Foundation
import PowerSync

/// A log writer of the app: keeps the last lines for a debug screen.
final class MemoryLogWriter: LogWriterProtocol, @unchecked Sendable {
    private let lock = NSLock()
    private var storage: [String] = []

    var lines: [String] { lock.withLock { storage } }

    func log(severity: LogSeverity, message: String, tag: String?) {
        lock.withLock { storage.append("\(severity.stringValue) [\(tag ?? "-")] \(message)") }
    }
}

/// A logger of the app: forwards what matters and counts the rest.
final class FilteringLogger: LoggerProtocol {
    let wrapped: any LoggerProtocol

    init(wrapped: any LoggerProtocol) { self.wrapped = wrapped }

    func info(_ message: String, tag: String?) {}
    func debug(_ message: String, tag: String?) {}
    func error(_ message: String, tag: String?) { wrapped.error(message, tag: tag) }
    func warning(_ message: String, tag: String?) { wrapped.warning(message, tag: tag) }
    func fault(_ message: String, tag: String?) { wrapped.fault(message, tag: tag) }
}

func makeLogger(writer: any LogWriterProtocol) -> DefaultLogger {
    let logger = DefaultLogger(
        minSeverity: .debug,
        writers: [writer, PrintLogWriter(subsystem: "app", category: "db")]
    )
    logger.setWriters([writer])
    logger.setMinSeverity(.info)
    return logger
}
