import Logging
import NIOConcurrencyHelpers
import Testing

@testable import PowerSyncTerminal

/// The lines of a log as text.
@Suite struct TextLogHandlerTests {
    /// Keeps what a handler passes on.
    private struct Output: LogHandler {
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace
        let texts: NIOLockedValueBox<[String]>

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { $1 }
            texts.withLockedValue { $0.append("\(event.message) \(all) \(event.error.map { "\($0)" } ?? "")") }
        }
    }

    private struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    @Test(arguments: TerminalTextTests.hostile)
    func nobodyWritesALineOfAnotherNorTellsATerminalAnything(_ text: String) {
        let texts = NIOLockedValueBox<[String]>([])
        var logger = Logger(label: "test") { label in TextLogHandler(label: label) { _ in Output(texts: texts) } }
        logger[metadataKey: "kid"] = "\(text)"
        logger.warning(
            "It happened: \(text)",
            error: Failure(description: text),
            metadata: [
                "a": "\(text)", "b": ["\(text)", ["\(text)"]],
                "\(text)": .stringConvertible(Failure(description: text)),
                "c": ["\(text)": "\(text)"],
            ]
        )
        let all = texts.withLockedValue { $0 }
        #expect(all.count == 1)
        for scalar in all.joined().unicodeScalars {
            let isHarmless = ![.control, .format, .lineSeparator, .paragraphSeparator]
                .contains(scalar.properties.generalCategory)
            #expect(isHarmless, "\(scalar.value)")
        }
    }

    @Test func everythingElseIsAsItWas() {
        let texts = NIOLockedValueBox<[String]>([])
        var logger = Logger(label: "test") { label in TextLogHandler(label: label) { _ in Output(texts: texts) } }
        logger.logLevel = .warning
        logger[metadataKey: "rid"] = "7"
        logger.info("left out")
        logger.error("Ünïcødé 😀", metadata: ["a": ["b"]])
        #expect(logger[metadataKey: "rid"] == "7")
        #expect(texts.withLockedValue { $0.count } == 1)
        #expect(texts.withLockedValue { $0.first?.hasPrefix("Ünïcødé 😀 ") } == true)
    }
}
