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
                == #"{"level":"info","logger":"powersync","message":"It happened","timestamp":"2026-01-01T00:00:00.250Z"}"#
        )
    }

    @Test(arguments: Logger.Level.allCases)
    func levelsHaveTheNamesOfTheEstablishedService(_ level: Logger.Level) throws {
        let names: [Logger.Level: String] = [
            .trace: "silly", .debug: "debug", .info: "info", .notice: "info", .warning: "warn", .error: "error",
            .critical: "error",
        ]
        let entry = try JSONObject(parsing: try Self.text(level: level))
        #expect(Self.string(entry, "level") == names[level])
    }

    @Test(arguments: texts)
    func anyTextComesBackAsItWas(_ text: String) throws {
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
                "nothing": [:],
            ]
        )
        #expect(
            text.contains(
                #"""
                "metadata":{"counts":{"move":{"a\"b":"2"},"put":"1"},"names":["x",["y","z"],{"k":"v"}],"nothing":{}}
                """#
            ),
            "\(text)"
        )
    }

    /// A value of metadata, and its JSON.
    private static let values: [(Logger.MetadataValue, String)] = [
        (.stringConvertible(7), "7"), (.stringConvertible(-1 as Int8), "-1"),
        (.stringConvertible(Int64.min), "-9223372036854775808"),
        (.stringConvertible(UInt64.max), "18446744073709551615"),
        (.stringConvertible(1.5), "1.5"), (.stringConvertible(Float(0.25)), "0.25"),
        (.stringConvertible(Double.nan), #""nan""#), (.stringConvertible(-Double.infinity), #""-inf""#),
        (.stringConvertible(true), "true"), (.stringConvertible(false), "false"),
        (.stringConvertible("7"), #""7""#), ("7", #""7""#), ("true", #""true""#),
        (["total": .stringConvertible(3)], #"{"total":3}"#),
        ([.stringConvertible(1), "1"], #"[1,"1"]"#),
    ]

    @Test(arguments: values)
    func numbersAndBooleansAreThoseOfJSONTextsAreTexts(_ value: Logger.MetadataValue, _ json: String) throws {
        let text = try Self.text(metadata: ["value": value])
        #expect(text.contains(#""metadata":{"value":\#(json)}"#), "\(text)")
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
