import NIOCore
import PowerSyncProtocol
import Testing

@Suite struct NDJSONFramerTests {
    private func frames(_ body: ByteBuffer, chunk: Int, limit: Int = 1_000) throws -> [String] {
        var framer = NDJSONFramer(maximumLineLength: limit)
        var buffer = ByteBuffer()
        var frames: [String] = []
        var rest = body
        while rest.readableBytes > 0 {
            if let bytes = rest.readSlice(length: min(chunk, rest.readableBytes)) { buffer.writeImmutableBuffer(bytes) }
            while let frame = try framer.decode(buffer: &buffer) { frames.append(frame.text) }
        }
        while let frame = try framer.decodeLast(buffer: &buffer, seenEOF: true) { frames.append(frame.text) }
        return frames
    }

    @Test(
        arguments: [
            ("{}\n{}\n", ["{}", "{}"]), ("{}\n{}", ["{}", "{}"]), ("\n\r\n \t\n{}\r\n\n", ["{}"]), ("", []),
            (" \n ", []),
            ("  {\"a\": 1}\t\r\n", ["{\"a\": 1}"]), ("a\u{2028}b\u{85}c\u{2029}\n", ["a\u{2028}b\u{85}c\u{2029}"]),
            ("\u{a0}x\u{a0}\n", ["\u{a0}x\u{a0}"]), ("Brød – 麵包 🥖\r\nx", ["Brød – 麵包 🥖", "x"]),
        ])
    func linesEndAtLineFeedsOnlyWhateverTheChunks(body: String, lines: [String]) throws {
        let bytes = ByteBuffer(string: body)
        for chunk in 1...max(1, bytes.readableBytes) { #expect(try frames(bytes, chunk: chunk) == lines) }
    }

    @Test func linesAboveTheLimitAreAnError() throws {
        let body = ByteBuffer(string: String(repeating: "x", count: 10) + "\n")
        #expect(try frames(body, chunk: 3, limit: 10) == [String(repeating: "x", count: 10)])
        for chunk in [1, 4, 11] {
            #expect(throws: FramingError.lineTooLong(limit: 9)) { try frames(body, chunk: chunk, limit: 9) }
        }
        // Without a line feed, nothing more is collected.
        #expect(throws: FramingError.lineTooLong(limit: 9)) {
            try frames(ByteBuffer(string: "0123456789"), chunk: 10, limit: 9)
        }
    }

    @Test(arguments: [1, 2, 5, 10])
    func linesAsLongAsTheLimitMayEndWithTheStream(chunk: Int) throws {
        #expect(try frames(ByteBuffer(string: "0123456789"), chunk: chunk, limit: 10) == ["0123456789"])
        let lines = ByteBuffer(string: "0123456789\nabcdefghij\nk")
        #expect(try frames(lines, chunk: chunk, limit: 10) == ["0123456789", "abcdefghij", "k"])
    }

    @Test func whiteSpaceCountsForTheLimit() throws {
        #expect(try frames(ByteBuffer(string: " 1234567 \n"), chunk: 10, limit: 9) == ["1234567"])
        #expect(throws: FramingError.lineTooLong(limit: 9)) {
            try frames(ByteBuffer(string: " 12345678 \n"), chunk: 11, limit: 9)
        }
    }

    /// So that the time for a long line does not grow with the number of its chunks.
    @Test func whatHasBeenSearchedIsNotSearchedAgain() throws {
        var framer = NDJSONFramer()
        var buffer = ByteBuffer(string: "abc")
        #expect(try framer.decode(buffer: &buffer) == nil)
        // Nobody does that; a second search would find it.
        buffer.setString("\n", at: 1)
        buffer.writeString("d\n")
        #expect(try framer.decode(buffer: &buffer)?.text == "a\ncd")
    }

    @Test func aRemainderIsKeptWhileMoreMayCome() throws {
        var framer = NDJSONFramer()
        var buffer = ByteBuffer(string: "{}")
        #expect(try framer.decodeLast(buffer: &buffer, seenEOF: false) == nil)
        #expect(buffer.text == "{}")
    }
}
