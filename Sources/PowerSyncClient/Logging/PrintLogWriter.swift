public import Foundation

#if canImport(OSLog)
import OSLog
#endif

/// Writes messages to the system log, or to standard output where there is none.
///
/// On Linux a message looks like `WARNING: [Sync] text`, without the bracket when it has no tag.
public final class PrintLogWriter: LogWriterProtocol {
    #if canImport(OSLog)
    private let logger: Logger
    #else
    private let output: FileHandle
    #endif

    /// Creates a writer.
    ///
    /// - Parameters:
    ///   - subsystem: The subsystem in the system log, by default the identifier of the main bundle.
    ///   - category: The category in the system log.
    public init(
        subsystem: String = Bundle.main.bundleIdentifier ?? "com.powersync.logger",
        category: String = "default"
    ) {
        #if canImport(OSLog)
        logger = Logger(subsystem: subsystem, category: category)
        #else
        output = .standardOutput
        #endif
    }

    #if !canImport(OSLog)
    /// Creates a writer to another file.
    init(output: FileHandle) {
        self.output = output
    }
    #endif

    /// Writes one message.
    public func log(severity: LogSeverity, message: String, tag: String?) {
        let text = PrintLogWriter.text(message: message, tag: tag)
        #if canImport(OSLog)
        switch severity {
        case .debug: logger.debug("\(text, privacy: .public)")
        case .info: logger.info("\(text, privacy: .public)")
        case .warning: logger.warning("\(text, privacy: .public)")
        case .error: logger.error("\(text, privacy: .public)")
        case .fault: logger.fault("\(text, privacy: .public)")
        }
        #else
        let line = "\(severity.stringValue): \(text)\n"
        // A full disk, or an output that was closed, is no reason to end the app.
        try? output.write(contentsOf: Data(line.utf8))
        #endif
    }

    /// The message with its tag in brackets; without brackets when the tag is missing or empty.
    static func text(message: String, tag: String?) -> String {
        guard let tag, !tag.isEmpty else { return message }
        return "[\(tag)] \(message)"
    }
}
