import Testing

@testable import PowerSyncSyncConfig

/// Lines and columns of a config file.
@Suite struct SourceTextTests {
    private func place(of offset: Int, in source: SourceText) -> [Int] {
        let (line, column) = source.position(of: offset)
        return [line, column]
    }

    @Test(arguments: [
        "\n", "\r", "\r\n", "\u{85}", "\u{2028}", "\u{2029}",
    ])
    func aLineEndsAtEachKindOfBreak(lineBreak: String) {
        let source = SourceText("ä\(lineBreak)b\(lineBreak)")
        let breakLength = lineBreak.utf8.count
        #expect(place(of: 0, in: source) == [1, 1])
        #expect(place(of: 2, in: source) == [1, 2])
        #expect(place(of: 2 + breakLength, in: source) == [2, 1])
        #expect(place(of: 3 + breakLength, in: source) == [2, 2])
        #expect(place(of: 3 + 2 * breakLength, in: source) == [3, 1])
        #expect(source.offset(line: 2, column: 1) == 2 + breakLength)
        #expect(source.offset(line: 3, column: 1) == source.bytes.count)
    }

    @Test(arguments: [
        "\u{2027}", "\u{202a}", "\u{2068}", "\u{20a8}", "\u{84}", "\u{86}", "\u{c5}", "\u{b}", "\u{c}", "\t",
        "\u{1028}",
    ])
    func whatIsNoBreakStaysInItsLine(text: String) {
        let source = SourceText("a\(text)b")
        #expect(place(of: 1 + text.utf8.count, in: source) == [1, 3])
        #expect(source.offset(line: 2, column: 1) == source.bytes.count)
    }

    @Test func anEmptyLineIsALine() {
        let source = SourceText("\r\r\n\n\r")
        #expect((0...5).map { source.position(of: $0).line } == [1, 2, 2, 3, 4, 5])
    }

    @Test func placesOutsideOfTheTextAreTheNearestOnes() {
        let source = SourceText("äb\nc")
        #expect(source.offset(line: 0, column: 5) == 0)
        #expect(source.offset(line: -1, column: 1) == 0)
        #expect(source.offset(line: 1, column: 0) == 0)
        #expect(source.offset(line: 1, column: 2) == 2)
        #expect(source.offset(line: 2, column: 1) == 4)
        #expect(source.offset(line: 2, column: 9) == 5)
        #expect(source.offset(line: 3, column: 1) == 5)
        #expect(place(of: -1, in: source) == [1, 1])
        #expect(place(of: 99, in: source) == [2, 2])
    }
}
