import Foundation
package import Logging

/// Writes one JSON object a line to standard error, with the names of fields and levels that the established service has.
///
/// ```json
/// {"level":"info","logger":"powersync","message":"Request complete","metadata":{"duration_ms":1.5,"rid":"h/7"},
///  "timestamp":"2026-01-01T00:00:00.000Z"}
/// ```
///
/// Metadata inside metadata is an object or an array. Values that the logger was given as numbers or booleans
/// (`.stringConvertible(7)`) are JSON numbers and booleans; everything else is text, whatever it looks like.
package struct JSONLogHandler: LogHandler {
    private struct Line: Encodable {
        var level: String
        var logger: String
        var message: String
        var metadata: [String: Value]?
        var timestamp: String
    }

    /// A value of metadata.
    private enum Value: Encodable {
        case text(String)
        case integer(Int64)
        case unsignedInteger(UInt64)
        case real(Double)
        case boolean(Bool)
        case object([String: Value])
        case array([Value])

        init(_ value: Logger.MetadataValue) {
            switch value {
            case .string(let text): self = .text(text)
            case .stringConvertible(let value): self.init(value)
            case .dictionary(let members): self = .object(members.mapValues { Value($0) })
            case .array(let elements): self = .array(elements.map { Value($0) })
            }
        }

        private init(_ value: any CustomStringConvertible) {
            if let value = value as? Bool {
                self = .boolean(value)
            } else if let value = value as? any BinaryInteger {
                self =
                    Int64(exactly: value).map { .integer($0) } ?? UInt64(exactly: value).map { .unsignedInteger($0) }
                    ?? .text("\(value)")
            } else if let value = value as? any BinaryFloatingPoint, Double(value).isFinite {
                self = .real(Double(value))
            } else {
                self = .text(value.description)
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .integer(let value): try container.encode(value)
            case .unsignedInteger(let value): try container.encode(value)
            case .real(let value): try container.encode(value)
            case .boolean(let value): try container.encode(value)
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
        // The reader has gone, or the disk is full: that is no reason to end.
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
            level: event.level.establishedName,
            logger: label,
            message: event.message.description,
            metadata: merged.isEmpty ? nil : merged.mapValues { Value($0) },
            timestamp: time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(line) else { return nil }
        // What JSON leaves as it is, a terminal may obey.
        return Data((TerminalText.line(String(decoding: data, as: UTF8.self)) + "\n").utf8)
    }
}

extension Logger.Level {
    /// The name of the level in the JSON lines of the established service, which has no `notice` and no `critical`.
    fileprivate var establishedName: String {
        switch self {
        case .trace: "silly"
        case .debug: "debug"
        case .info, .notice: "info"
        case .warning: "warn"
        case .error, .critical: "error"
        }
    }
}
