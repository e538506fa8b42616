import Foundation
import PowerSyncGenerator
import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

@testable import PowerSyncTerminal

/// What leaves for a terminal or a log is shown, and obeyed by nobody.
@Suite struct TerminalTextTests {
    /// Texts that terminals obey, that look like another line, or that change the order of what is shown.
    static let hostile = [
        "\u{1B}[2J\u{1B}[H", "\u{1B}]0;title\u{7}", "a\rb", "a\nerror: forged", "a\r\nb", "\u{9B}31m", "\u{90}q\u{9C}",
        "\u{0}",
        "\u{7F}\u{8}", "a\u{2028}b", "a\u{2029}b", "a\u{85}b", "\u{202E}gnp.exe", "\u{2066}a\u{2069}", "\u{FEFF}a",
        "a\u{B}b\u{C}",
        "\u{E0001}a", "\u{200F}a",
    ]

    /// Whether a terminal shows a text as it is.
    private static func isHarmless(_ text: some StringProtocol) -> Bool {
        text.unicodeScalars.allSatisfy { scalar in
            ![.control, .format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
        }
    }

    @Test(arguments: hostile)
    func aLineHasNothingThatATerminalObeys(_ text: String) {
        #expect(Self.isHarmless(TerminalText.line(text)), "\(TerminalText.line(text))")
        #expect(Self.isHarmless(TerminalText.escaped(text).filter { $0 != "\n" }))
        // It is said once.
        #expect(TerminalText.line(TerminalText.line(text)) == TerminalText.line(text))
    }

    @Test(arguments: ["", "plain", "Ünïcødé 😀", "👨‍👩‍👧", "می‌خواهم", "a\tb", #"C:\temp "x""#])
    func whatIsHarmlessStays(_ text: String) {
        #expect(TerminalText.line(text) == text)
        #expect(TerminalText.escaped(text + "\n" + text) == text + "\n" + text)
    }

    @Test func escapesAreThoseOfJSON() throws {
        #expect(TerminalText.line("\u{1B}[1m\n\r\u{E0001}") == #"\u001b[1m\n\r\udb40\udc01"#)
        for text in Self.hostile {
            let encoded = String(decoding: try JSONEncoder().encode(["a": text]), as: UTF8.self)
            let object = try JSONObject(parsing: TerminalText.escaped(encoded))
            #expect(object["a"] == .string(text))
        }
    }

    /// What a call prints into a pipe.
    private static func printed(_ body: (FileHandle) throws -> Void) throws -> String {
        let pipe = Pipe()
        try body(pipe.fileHandleForWriting)
        try pipe.fileHandleForWriting.close()
        return String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    }

    @Test(arguments: hostile)
    func whateverIsPrintedIsEscaped(_ text: String) throws {
        let printed = try Self.printed { output in
            try StandardOutput.print("a: \(text)", to: output)
            try StandardOutput.print(lines: ["b: \(text)", "c"], to: output)
            printToStandardError("d: \(text)", to: output)
            let terminal = Terminal(plain: true, output: output)
            try terminal.line(text)
            try terminal.heading(text)
            try terminal.redraw(text)
            try terminal.finishLine()
        }
        #expect(Self.isHarmless(printed.filter { $0 != "\n" }), "\(printed)")
        let lines = printed.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.contains { $0.hasPrefix("b: ") } && lines.contains("c"))
    }

    @Test(arguments: hostile)
    func diagnosticsAreTheirLines(_ text: String) throws {
        // A name of a column in quotes may have everything, and messages name it.
        let yaml = "config: {edition: 3}\nstreams: {a: {query: 'SELECT \"\(text)\", foo(a) FROM lists'}}"
        let findings = SyncConfig.parse(yaml).diagnostics
        for line in findings.flatMap({ $0.lines(file: "sync\(text).yaml") }) {
            #expect(Self.isHarmless(line), "\(line)")
        }
    }
}
