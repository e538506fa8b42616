import Foundation
import Logging

/// Writes one JSON object a line to standard error: time, level, label, message, metadata.
///
/// ```json
/// {"level":"info","logger":"powersync","message":"Sync stream started","metadata":{"rid":"7"},"time":"2026-01-01T00:00:00.000Z"}
/// ```
struct JSONLogHandler: LogHandler {
    private struct Line: Encodable {
        var level: String
        var logger: String
        var message: String
        var metadata: [String: String]?
        var time: String
    }

    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level
    private let label: String

    /// Creates a handler.
    init(label: String, level: Logger.Level) {
        self.label = label
        logLevel = level
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let merged = metadata.merging(event.metadata ?? [:]) { _, new in new }
        let line = Line(
            level: event.level.rawValue,
            logger: label,
            message: event.message.description,
            metadata: merged.isEmpty ? nil : merged.mapValues(\.description),
            time: Date().formatted(.iso8601.time(includingFractionalSeconds: true))
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard var data = try? encoder.encode(line) else { return }
        data.append(UInt8(ascii: "\n"))
        FileHandle.standardError.write(data)
    }
}
