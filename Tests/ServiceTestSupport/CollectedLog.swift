package import Logging
import NIOConcurrencyHelpers

import PowerSyncServiceCore

/// Keeps log lines, each with its metadata, in memory.
package final class CollectedLog: Sendable {
    private let collected = NIOLockedValueBox<[String]>([])
    private let signal = ChangeSignal()

    /// What was logged.
    package var lines: [String] { collected.withLockedValue { $0 } }

    /// Logs to here.
    package var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

    /// Waits for a line with some texts.
    ///
    /// - Parameters:
    ///   - texts: What the line contains.
    ///   - number: 1 for the first such line.
    ///   - count: How many lines there were before.
    /// - Returns: The line.
    /// - Throws: `CancellationError`.
    package func line(containing texts: String..., number: Int = 1, after count: Int = 0) async throws -> String {
        while true {
            let seen = signal.version
            let lines = lines.dropFirst(count).filter { line in texts.allSatisfy(line.contains) }
            if lines.count >= number { return lines[number - 1] }
            try await signal.wait(after: seen)
        }
    }

    /// Creates a log without lines.
    package init() {}

    private struct Handler: LogHandler {
        let log: CollectedLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { $1 }
            let texts = all.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
            log.collected.withLockedValue { $0.append("\(event.level) \(event.message) \(texts)") }
            log.signal.advance()
        }
    }
}
