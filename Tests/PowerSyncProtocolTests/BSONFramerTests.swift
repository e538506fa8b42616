import NIOCore
import PowerSyncProtocol
import Testing

@Suite struct BSONFramerTests {
    private func decode(_ hex: String, limit: Int = 100, isAtEnd: Bool = false) throws -> ByteBuffer? {
        var framer = BSONFramer(maximumDocumentLength: limit)
        var buffer = ByteBuffer(hex: hex)
        return try isAtEnd ? framer.decodeLast(buffer: &buffer, seenEOF: true) : framer.decode(buffer: &buffer)
    }

    @Test func documentsAreCutByTheirLength() throws {
        #expect(try decode("05000000 00 05000000")?.readableBytes == 5)
        for incomplete in ["", "05", "050000", "05000000", "06000000 00"] { #expect(try decode(incomplete) == nil) }
    }

    @Test
    func lengthsThatNoDocumentHasAndLengthsAboveTheLimit() {
        for (hex, length) in [("04000000", 4), ("00000000", 0), ("ffffffff", -1), ("00000080", Int32.min)] {
            #expect(throws: FramingError.invalidDocumentLength(length)) { try decode(hex) }
        }
        for hex in ["65000000", "ffffff7f"] {
            #expect(throws: FramingError.lineTooLong(limit: 100)) { try decode(hex) }
        }
    }

    @Test func documentsAsLongAsTheLimitAreCut() throws {
        let longest = "64000000" + String(repeating: "00", count: 96)
        #expect(try decode(longest)?.readableBytes == 100)
        #expect(try decode(longest + "05", isAtEnd: true)?.readableBytes == 100)
        #expect(try decode("05000000 00", limit: 5)?.readableBytes == 5)
    }

    @Test
    func streamMayEndBetweenDocumentsOnly() throws {
        #expect(try decode("", isAtEnd: true) == nil)
        for hex in ["05", "05000000", "06000000 0000"].dropLast() {
            #expect(throws: FramingError.self) { try decode(hex, isAtEnd: true) }
        }
        #expect(throws: FramingError.truncatedDocument(received: 3)) { try decode("050000", isAtEnd: true) }
    }
}
