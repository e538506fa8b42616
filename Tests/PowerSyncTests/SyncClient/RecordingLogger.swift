import PowerSyncTesting
import Synchronization

@testable import PowerSync

/// Remembers messages.
final class RecordingLogger: LoggerProtocol {
    private let messages = Mutex<[(severity: LogSeverity, text: String)]>([])
    private let changes = Signal()

    /// The messages of a severity, in order.
    func messages(_ severity: LogSeverity) -> [String] {
        messages.withLock { $0.filter { $0.severity == severity }.map(\.text) }
    }

    /// Waits for a message.
    func wait(for severity: LogSeverity, containing text: String) async throws {
        try await changes.wait { messages(severity).contains { $0.contains(text) } ? () : nil }
    }

    private func record(_ severity: LogSeverity, _ text: String) {
        messages.withLock { $0.append((severity, text)) }
        changes.fire()
    }

    func info(_ message: String, tag: String?) { record(.info, message) }
    func error(_ message: String, tag: String?) { record(.error, message) }
    func debug(_ message: String, tag: String?) { record(.debug, message) }
    func warning(_ message: String, tag: String?) { record(.warning, message) }
    func fault(_ message: String, tag: String?) { record(.fault, message) }
}
