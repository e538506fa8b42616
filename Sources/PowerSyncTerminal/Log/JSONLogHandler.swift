import Foundation
package import Logging

/// Writes one JSON object a line to standard error: time, level, label, message, metadata.
///
/// ```json
/// {"level":"info","logger":"powersync","message":"Sync stream started","metadata":{"rid":"7"},"time":"2026-01-01T00:00:00.000Z"}
/// ```
///
/// Metadata inside metadata is an object or an array; everything else is text, whatever it looks like.
package struct JSONLogHandler: LogHandler {
    private struct Line: Encodable {
        var level: String
        var logger: String
        var message: String
        var metadata: [String: Value]?
        var time: String
    }

    /// A value of metadata.
    private enum Value: Encodable {
        case text(String)
        case object([String: Value])
        case array([Value])

        init(_ value: Logger.MetadataValue) {
            switch value {
            case .string(let text): self = .text(text)
            case .stringConvertible(let value): self = .text(value.description)
            case .dictionary(let members): self = .object(members.mapValues { Value($0) })
            case .array(let elements): self = .array(elements.map { Value($0) })
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .object(let members): try container.encode(members)
            case .array(let elements): try container.encode(elements)
            }
        }
    }

    package var metadata: Logger.Metadata = [:]
    package var logLevel: Logger.Level
    private let label: String

    /// Creates a handler.
    package init(label: String, level: Logger.Level) {
        self.label = label
        logLevel = level
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        guard let line = line(for: event, at: Date()) else { return }
        // Nobody reads it, or the disk is full: that is no reason to end.
        try? FileHandle.standardError.write(contentsOf: line)
    }

    /// The line of an event.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - time: When it happened.
    /// - Returns: The line, with its newline.
    func line(for event: LogEvent, at time: Date) -> Data? {
        var merged = metadata.merging(event.metadata ?? [:]) { _, new in new }
        if let error = event.error {
            // As the text format shows it.
            merged["error.message"] = "\(error)"
            merged["error.type"] = "\(String(reflecting: type(of: error)))"
        }
        let line = Line(
            level: event.level.rawValue,
            logger: label,
            message: event.message.description,
            metadata: merged.isEmpty ? nil : merged.mapValues { Value($0) },
            time: time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(line) else { return nil }
        // What JSON leaves as it is, a terminal may obey.
        return Data((TerminalText.line(String(decoding: data, as: UTF8.self)) + "\n").utf8)
    }
}
