import Foundation
import Logging
import PowerSyncProtocol
import Testing

@testable import PowerSyncTerminal

/// The lines of a log in JSON.
@Suite struct JSONLogHandlerTests {
    private static let time = Date(timeIntervalSince1970: 1_767_225_600.25)

    /// The line of an event, without its newline.
    private static func text(
        _ message: Logger.Message = "It happened",
        level: Logger.Level = .info,
        metadata: Logger.Metadata? = nil,
        of handler: JSONLogHandler = JSONLogHandler(label: "powersync", level: .trace)
    ) throws -> String {
        let event = LogEvent(
            level: level,
            message: message,
            metadata: metadata,
            source: nil,
            file: #fileID,
            function: #function,
            line: #line
        )
        let data = try #require(handler.line(for: event, at: time))
        // Whatever is in it, an entry is one line.
        #expect(data.last == UInt8(ascii: "\n"))
        #expect(data.count { $0 == UInt8(ascii: "\n") } == 1)
        #expect(!data.contains(UInt8(ascii: "\r")))
        return String(decoding: data.dropLast(), as: UTF8.self)
    }

    private static func string(_ object: JSONObject, _ name: String) -> String? {
        if case .string(let text) = object[name] { text } else { nil }
    }

    @Test func anEntryHasItsTimeItsLevelItsLoggerAndItsMessage() throws {
        #expect(
            try Self.text()
                == #"{"level":"info","logger":"powersync","message":"It happened","time":"2026-01-01T00:00:00.250Z"}"#
        )
    }

    @Test("levels have their names", arguments: Logger.Level.allCases)
    func level(_ level: Logger.Level) throws {
        let names: [Logger.Level: String] = [
            .trace: "trace", .debug: "debug", .info: "info", .notice: "notice", .warning: "warning", .error: "error",
            .critical: "critical",
        ]
        let entry = try JSONObject(parsing: try Self.text(level: level))
        #expect(Self.string(entry, "level") == names[level])
    }

    @Test("any text comes back as it was", arguments: texts)
    func anyText(_ text: String) throws {
        let entry = try JSONObject(parsing: try Self.text("\(text)", metadata: ["key \(text)": "\(text)"]))
        #expect(Self.string(entry, "message") == text)
        guard case .object(let metadata) = entry["metadata"] else {
            Issue.record("\(entry.text)")
            return
        }
        #expect(Self.string(metadata, "key \(text)") == text)
    }

    private static let texts = [
        "", #"He said "no"; C:\temp"#, "two\nlines\r\nand\ta tab", "\u{0}\u{1}\u{1B}[31m\u{7F}", "\u{2028}\u{2029}",
        "http://127.0.0.1/a?b=c&d=<e>", "Ünïcødé 😀 \u{200F}עברית", #"{"level":"critical"}"#,
        // What was no UTF-8 has become replacement characters before it gets here.
        String(decoding: [0x61, 0xFF, 0xC3, 0x28, 0xED, 0xA0, 0x80] as [UInt8], as: UTF8.self),
    ]

    @Test func metadataInsideMetadataAreObjectsAndArrays() throws {
        let text = try Self.text(
            metadata: [
                "counts": ["put": "1", "move": ["a\"b": "2"]], "names": ["x", ["y", "z"], ["k": "v"]],
                "number": .stringConvertible(7), "nothing": [:],
            ]
        )
        #expect(
            text.contains(
                #"""
                "metadata":{"counts":{"move":{"a\"b":"2"},"put":"1"},"names":["x",["y","z"],{"k":"v"}],"nothing":{},"number":"7"}
                """#
            ),
            "\(text)"
        )
    }

    @Test func metadataOfTheLoggerIsThereUnlessTheEntryHasAnother() throws {
        var handler = JSONLogHandler(label: "powersync", level: .info)
        handler[metadataKey: "rid"] = "7"
        handler[metadataKey: "user_id"] = "u1"
        let text = try Self.text(metadata: ["rid": "8"], of: handler)
        #expect(text.contains(#""metadata":{"rid":"8","user_id":"u1"}"#), "\(text)")
        #expect(handler.logLevel == .info)
    }
}
