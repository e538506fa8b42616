import NIOCore
import Testing

@testable import MySQLBinlog

/// Values that the recorded logs do not have.
@Suite struct CellFormTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var type: String
        var form: CellForm
        var bytes: [UInt8]
        var cell: MySQLCell

        var testDescription: String { "\(type) \(bytes)" }
    }

    private static func date(_ year: Int, _ month: Int, _ day: Int) -> MySQLDate {
        MySQLDate(year: year, month: month, day: day)
    }

    static let cases: [Case] = [
        Case(type: "MEDIUMINT", form: .signed(bytes: 3), bytes: [0xff, 0xff, 0xff], cell: .integer(-1)),
        Case(type: "MEDIUMINT", form: .signed(bytes: 3), bytes: [0, 0, 0x80], cell: .integer(-8_388_608)),
        Case(type: "BIGINT", form: .signed(bytes: 8), bytes: [0, 0, 0, 0, 0, 0, 0, 0x80], cell: .integer(.min)),
        Case(
            type: "BIGINT UNSIGNED",
            form: .unsigned(bytes: 8),
            bytes: [0, 0, 0, 0, 0, 0, 0, 0x80],
            cell: .unsigned(1 << 63)
        ),
        Case(type: "DATE", form: .date, bytes: [0xff, 0xff, 0xff], cell: .deferred(.form)),
        Case(type: "DATE", form: .date, bytes: [0xfd, 0xd0, 0x0f], cell: .date(date(2024, 7, 29))),
        Case(type: "DATE", form: .date, bytes: [0xfd, 0xd1, 0x0f], cell: .deferred(.form)),
        Case(
            type: "old TIME",
            form: .oldTime,
            bytes: [0xd3, 0xd8, 0xff],
            cell: .time(MySQLTime(isNegative: true, hours: 1, minutes: 0, seconds: 29))
        ),
        Case(type: "old TIME", form: .oldTime, bytes: [0x60, 0, 0], cell: .deferred(.form)),
        Case(
            type: "old DATETIME",
            form: .oldDateTime,
            bytes: [0x45, 0x7c, 0x17, 0x84, 0x68, 0x12, 0x00, 0x00],
            cell: .dateTime(MySQLDateTime(date: date(2024, 1, 2), hour: 3, minute: 4, second: 5))
        ),
        Case(
            type: "old DATETIME",
            form: .oldDateTime,
            bytes: [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            cell: .deferred(.form)
        ),
        Case(
            type: "TIMESTAMP",
            form: .timestamp(digits: 0),
            bytes: [0xff, 0xff, 0xff, 0xff],
            cell: .dateTime(MySQLDateTime(date: date(2106, 2, 7), hour: 6, minute: 28, second: 15))
        ),
        Case(
            type: "TIMESTAMP(2)",
            form: .timestamp(digits: 2),
            bytes: [0x38, 0xbb, 0x2c, 0x80, 99],
            cell: .dateTime(
                MySQLDateTime(date: date(2000, 2, 29), hour: 2, minute: 18, second: 40, microsecond: 990_000, digits: 2)
            )
        ),
        Case(
            type: "TIMESTAMP(2)",
            form: .timestamp(digits: 2),
            bytes: [0x38, 0xbb, 0x2c, 0x80, 100],
            cell: .deferred(.form)
        ),
        Case(type: "DATETIME", form: .dateTime(digits: 0), bytes: [0x7f, 0, 0, 0, 0], cell: .deferred(.form)),
        Case(
            type: "DATETIME",
            form: .dateTime(digits: 0),
            bytes: [0x99, 0xb2, 0x85, 0x80, 0x00],
            cell: .deferred(.form)
        ),
        Case(type: "TIME", form: .time(digits: 0), bytes: [0x80, 0x0f, 0xff], cell: .deferred(.form)),
        Case(
            type: "TIME(1)",
            form: .time(digits: 1),
            bytes: [0x7f, 0xff, 0xff, 0xff],
            cell: .time(MySQLTime(isNegative: true, hours: 0, minutes: 0, seconds: 0, microseconds: 10000, digits: 1))
        ),
        Case(
            type: "UUID",
            form: .counted(lengthBytes: 1, .uuid),
            bytes: [0],
            cell: .text("00000000-0000-0000-0000-000000000000")
        ),
        Case(type: "INET4", form: .counted(lengthBytes: 1, .inet4), bytes: [2, 10, 1], cell: .text("10.1.0.0")),
        Case(type: "JSON", form: .counted(lengthBytes: 4, .json), bytes: [0, 0, 0, 0], cell: .json("null")),
        Case(
            type: "SET",
            form: .set(bytes: 8, (0..<64).map(String.init)),
            bytes: [1, 0, 0, 0, 0, 0, 0, 0x80],
            cell: .labels(["0", "63"])
        ),
        Case(type: "an old form", form: .unread(bytes: 3), bytes: [1, 2, 3], cell: .deferred(.form)),
    ]

    @Test(arguments: cases)
    func bytesAreACell(_ test: Case) throws {
        let (cell, rest) = try ByteBuffer(bytes: test.bytes).withCursor { (cursor) throws(BinlogFault) in
            (try test.form.read(&cursor), cursor.count)
        }
        #expect(cell == test.cell)
        #expect(rest == 0)
    }

    @Test(arguments: cases)
    func aValueThatIsPassedOverHasAsManyBytes(_ test: Case) throws {
        let rest = try ByteBuffer(bytes: test.bytes + [1]).withCursor { (cursor) throws(BinlogFault) in
            try test.form.skip(&cursor)
            return cursor.count
        }
        #expect(rest == 1)
    }

    @Test(arguments: cases)
    func aValueThatEndsTooEarlyIsAnError(_ test: Case) {
        for length in 0..<test.bytes.count {
            #expect(throws: BinlogFault.self) {
                try ByteBuffer(bytes: test.bytes.prefix(length)).withCursor { (cursor) throws(BinlogFault) in
                    _ = try test.form.read(&cursor)
                }
            }
        }
    }

    @Test(
        arguments: [(CellForm.counted(lengthBytes: 1, .uuid), [17])] as [(CellForm, [UInt8])]
    )
    func aValueThatCannotBeIsAnError(_ form: CellForm, _ bytes: [UInt8]) {
        let padded = bytes + Array(repeating: 0, count: 20)
        #expect(throws: BinlogFault.self) {
            try ByteBuffer(bytes: padded).withCursor { (cursor) throws(BinlogFault) in _ = try form.read(&cursor) }
        }
    }

    /// A number above the labels, and a document that is damaged, or of a later version.
    @Test(
        arguments: [
            (CellForm.enumeration(bytes: 1, ["a"]), [2]), (.enumeration(bytes: 2, []), [1, 0]),
            (.set(bytes: 1, ["a"]), [2]),
            (.counted(lengthBytes: 1, .json), [2, 99, 0]), (.counted(lengthBytes: 1, .json), [3, 0, 1, 0]),
        ] as [(CellForm, [UInt8])]
    )
    func aValueThatThisVersionDoesNotKnowIsReadFromTheTable(_ form: CellForm, _ bytes: [UInt8]) throws {
        let (cell, rest) = try ByteBuffer(bytes: bytes + [1, 2, 3]).withCursor { (cursor) throws(BinlogFault) in
            (try form.read(&cursor), cursor.count)
        }
        #expect(cell == .deferred(.form))
        #expect(rest == 3)
    }

    @Test func aValueAbove64MebibytesIsReadFromTheTable() throws {
        let length = CellForm.largest + 1
        var bytes = ByteBuffer()
        bytes.writeInteger(UInt32(length), endianness: .little)
        bytes.writeRepeatingByte(0, count: length)
        let cell = try bytes.withCursor { (cursor) throws(BinlogFault) in
            try CellForm.counted(lengthBytes: 4, .bytes(filledTo: 0)).read(&cursor)
        }
        #expect(cell == .deferred(.form))
    }

    // MARK: Texts

    @Test(
        arguments: [
            ("utf8mb4", [0xc3], nil), ("utf8mb4", [0xef, 0xbf, 0xbd], "\u{fffd}"), ("utf8mb3", [0x61, 0xff], nil),
            ("ascii", [0x61, 0x80], "a?"), ("latin1", [0x80, 0x81, 0xe9], "€\u{81}é"), ("ucs2", [0x20, 0xac], "€"),
            ("ucs2", [0xd8, 0x3d, 0xde, 0x00], nil), ("ucs2", [0x20], nil), ("utf16", [0xd8, 0x3d, 0xde, 0x00], "😀"),
            ("utf16", [0xd8, 0x3d], nil), ("utf16", [0xde, 0x00, 0xd8, 0x3d], nil), ("utf16le", [0xac, 0x20], "€"),
            ("utf32", [0, 1, 0xf6, 0], "😀"), ("utf32", [0, 0, 0xd8, 0], nil), ("utf32", [0, 0x11, 0, 0], nil),
            ("gbk", [0x61], nil),
        ] as [(String, [UInt8], String?)]
    )
    func aTextThatIsNotValidIsDeferred(_ name: String, _ bytes: [UInt8], _ text: String?) throws {
        let form = CellForm.counted(lengthBytes: 1, .text(MySQLCharset(name: name)))
        let cell = try ByteBuffer(bytes: [UInt8(bytes.count)] + bytes).withCursor { (cursor) throws(BinlogFault) in
            try form.read(&cursor)
        }
        #expect(cell == text.map { .text($0) } ?? .deferred(.text(bytes, charset: name)))
    }
}
