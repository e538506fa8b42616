package import Logging

/// Writes one line to standard error for each event, in the form of swift-log, with names and values of others escaped: whatever a
/// client sends, it cannot write a line of its own, nor tell a terminal anything.
package struct TextLogHandler: LogHandler {
    private var output: any LogHandler

    /// Creates a handler.
    ///
    /// - Parameters:
    ///   - label: The name of the logger.
    ///   - output: Writes the lines.
    package init(label: String, output: (String) -> any LogHandler = { StreamLogHandler.standardError(label: $0) }) {
        self.output = output(label)
    }

    package var metadata: Logger.Metadata {
        get { output.metadata }
        set { output.metadata = Self.escaped(newValue) }
    }

    package var logLevel: Logger.Level {
        get { output.logLevel }
        set { output.logLevel = newValue }
    }

    package var metadataProvider: Logger.MetadataProvider? {
        get { output.metadataProvider }
        set { output.metadataProvider = newValue }
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { output[metadataKey: key] }
        set { output[metadataKey: TerminalText.line(key)] = newValue.map(Self.escaped) }
    }

    package func log(event: LogEvent) {
        var event = event
        event.message = "\(TerminalText.line(event.message.description))"
        event.metadata = event.metadata.map(Self.escaped)
        if let error = event.error {
            event.error = nil
            event.metadata = (event.metadata ?? [:]).merging(
                [
                    "error.message": .string(TerminalText.line("\(error)")),
                    "error.type": .string(String(reflecting: type(of: error))),
                ]
            ) { $1 }
        }
        output.log(event: event)
    }

    private static func escaped(_ metadata: Logger.Metadata) -> Logger.Metadata {
        Dictionary(metadata.map { (TerminalText.line($0.key), escaped($0.value)) }) { first, _ in first }
    }

    private static func escaped(_ value: Logger.MetadataValue) -> Logger.MetadataValue {
        switch value {
        case .string(let text): .string(TerminalText.line(text))
        case .stringConvertible(let value): .string(TerminalText.line(value.description))
        case .dictionary(let members): .dictionary(escaped(members))
        case .array(let elements): .array(elements.map(escaped))
        }
    }
}

extension Logger {
    /// The logger of a command that is no service.
    package static var ofCommand: Logger { Logger(label: "powersync") { TextLogHandler(label: $0) } }
}
