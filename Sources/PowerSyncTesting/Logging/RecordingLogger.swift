import NIOConcurrencyHelpers
public import PowerSync

/// A logger that remembers messages, for tests of what an app's users are told.
///
/// ```swift
/// let logger = RecordingLogger()
/// let database = PowerSyncDatabase(schema: schema, logger: logger)
/// …
/// try await logger.wait(for: .warning, containing: "photos/1.jpg")
/// ```
public final class RecordingLogger: LoggerProtocol {
    private let messages = NIOLockedValueBox<[(severity: LogSeverity, text: String)]>([])
    private let changes = Signal()

    /// Creates a logger without messages.
    public init() {}

    /// The messages of a severity, in order.
    public func messages(_ severity: LogSeverity) -> [String] {
        messages.withLockedValue { $0.filter { $0.severity == severity }.map(\.text) }
    }

    /// Waits for a message.
    ///
    /// - Parameters:
    ///   - severity: Its severity.
    ///   - text: A part of it.
    /// - Throws: `CancellationError`
    public func wait(for severity: LogSeverity, containing text: String) async throws {
        try await changes.wait { messages(severity).contains { $0.contains(text) } ? () : nil }
    }

    private func record(_ severity: LogSeverity, _ text: String) {
        messages.withLockedValue { $0.append((severity, text)) }
        changes.fire()
    }

    /// Remembers a normal event.
    public func info(_ message: String, tag: String?) { record(.info, message) }
    /// Remembers a failed operation.
    public func error(_ message: String, tag: String?) { record(.error, message) }
    /// Remembers a detail.
    public func debug(_ message: String, tag: String?) { record(.debug, message) }
    /// Remembers something unexpected.
    public func warning(_ message: String, tag: String?) { record(.warning, message) }
    /// Remembers that the database cannot be used.
    public func fault(_ message: String, tag: String?) { record(.fault, message) }
}
