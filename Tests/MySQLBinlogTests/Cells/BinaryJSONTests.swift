import NIOCore
import Testing

@testable import MySQLBinlog

/// Documents that no server writes; those that servers write are in the recorded log `json`.
@Suite struct BinaryJSONTests {
    private static func text(_ bytes: [UInt8]) throws(BinlogFault) -> String {
        try ByteBuffer(bytes: bytes).withCursor { (cursor) throws(BinlogFault) in
            try BinaryJSON.text(try cursor.part("document", bytes.count))
        }
    }

    /// Arrays of one element, in each other.
    private static func nested(_ depth: Int) -> [UInt8] {
        var document: [UInt8] = [0, 0, 4, 0]
        for _ in 1..<depth {
            let size = UInt16(document.count + 7)
            document = [1, 0, UInt8(size & 0xff), UInt8(size >> 8), 2, 7, 0] + document
        }
        return [2] + document
    }

    @Test func aDocumentIsUpToAHundredDeep() throws {
        #expect(
            try Self.text(Self.nested(100)) == String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
        )
        #expect(throws: BinlogFault.self) { try Self.text(Self.nested(101)) }
    }

    @Test(
        arguments: [
            [4, 3], [11, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f], [13, 0], [12, 0x80, 0x80, 0x80, 0x80, 0x80, 0], [12, 2, 0x61],
            [12, 1, 0xff], [2, 1, 0, 4, 0], [2, 1, 0, 200, 0, 5, 0, 0], [2, 1, 0, 7, 0, 12, 200, 0],
            [2, 255, 255, 4, 0],
            [15, 246, 4, 66, 2, 0, 0], [15, 10, 8, 255, 255, 255, 255, 255, 255, 255, 255], [15, 246, 1, 5],
        ] as [[UInt8]]
    )
    func whatIsNoDocumentIsAnError(_ bytes: [UInt8]) {
        #expect(throws: BinlogFault.self) { try Self.text(bytes) }
    }

    /// An array whose elements all are the same text: its print is much longer than it is.
    @Test func whatPrintsMuchLongerThanItIsIsAnError() {
        let count = 10000
        var document: [UInt8] = []
        for _ in 0..<count { document += [12, 0xff, 0xff, 0xff, 0xff] }
        let text = Array(repeating: UInt8(ascii: "x"), count: 60000)
        let offset = UInt32(8 + 5 * count)
        for index in 0..<count {
            for byte in 0..<4 { document[5 * index + 1 + byte] = UInt8(truncatingIfNeeded: offset >> UInt32(8 * byte)) }
        }
        document += [0xe0, 0xd4, 0x03] + text
        func little(_ number: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }
        let bytes = [3] + little(count) + little(document.count + 8) + document
        #expect(throws: BinlogFault.self) { try Self.text(bytes) }
    }

    @Test(
        arguments: [
            ([15, 11, 8, 0, 0, 0, 0, 0, 0, 0, 0], "\"00:00:00.000000\""), ([15, 252, 0], "\"base64:type252:\""),
            ([15, 1, 4, 1, 2, 3, 4], "\"base64:type1:AQIDBA==\""), ([12, 0], "\"\""), ([2, 0, 0, 4, 0], "[]"),
            ([0, 0, 0, 4, 0], "{}"),
            ([3, 1, 0, 0, 0, 13, 0, 0, 0, 7, 0xff, 0xff, 0xff, 0xff], "[-1]"), ([15, 246, 4, 2, 1, 0x81, 5], "1.5"),
        ] as [([UInt8], String)]
    )
    func aDocumentIsPrinted(_ bytes: [UInt8], _ text: String) throws {
        #expect(try Self.text(bytes) == text)
    }
}
