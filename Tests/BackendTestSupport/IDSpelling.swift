/// An id that a table has, and one that a client sends.
package struct IDSpelling: Sendable, CustomStringConvertible {
    package let stored: String
    package let sent: String

    package var description: String {
        "stored \(stored.debugDescription), sent \(sent.debugDescription) (\(sent.utf8.map { String($0, radix: 16) }.joined()))"
    }

    /// Ids with spellings that some database takes for the same, by a type, a collation, padding or Unicode.
    private static let spellings: [(String, [String])] = [
        ("7", ["007", "0007", "+7", "7.0", "7.", " 7", "7 ", "\t7", "7\n", "7e0", "70e-1", "0x7", "7\u{0}", "７"]),
        ("10", ["1e1", "1E1", "10.0", "1_0", "+1e+1", "0b1010"]),
        ("1.5", ["1.50", "01.5", "15e-1", "+1.5", "1.5 ", "1,5"]),
        ("-7", ["-07", "- 7", "-7.0", "\u{2212}7"]),
        ("0", ["-0", "00", "0.0", "", "-0.0", ".0", "0e5", "a"]),
        ("1", ["true", "TRUE", "1.0", "1.0000000000000001", "1abc"]),
        ("9007199254740993", ["9007199254740992", "9007199254740993.0", "9007199254740994"]),
        ("9223372036854775807", ["9223372036854775808", "9.223372036854775807e18", "-9223372036854775809"]),
        (
            "abc",
            ["ABC", "Abc", "abc ", "abc   ", " abc", "abc\t", "abc\u{0}", "abc\u{a0}", "ａｂｃ", "ábc", "abc\u{200b}"]
        ),
        ("a_c", ["abc", "a%c", "%", "___"]),
        ("caf\u{e9}", ["cafe\u{301}", "CAF\u{c9}", "cafe"]),
        ("Kevin", ["\u{212a}evin", "kevin"]),
        ("stra\u{df}e", ["strasse", "STRASSE", "stra\u{1e9e}e"]),
        ("\u{130}", ["i\u{307}", "i", "\u{131}"]),
        ("1e5", ["100000", "1E5", "1e05"]),
        ("100000", ["1e5"]),
        ("NaN", ["nan", "NULL"]),
        ("Infinity", ["inf", "1e999", "infinity"]),
        (
            "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
            [
                "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6", "f81d4fae7dec11d0a76500a0c91e6bf6",
                "{f81d4fae-7dec-11d0-a765-00a0c91e6bf6}",
            ]
        ),
        ("2026-01-02", ["2026-1-2", "20260102", "2026-01-02 00:00:00"]),
        ("😀", ["😁", "\u{fffd}"]),
    ]

    /// Each id with itself and with each of its spellings, in both directions.
    package static let all: [IDSpelling] = spellings.flatMap { id, others in
        [IDSpelling(stored: id, sent: id)]
            + others.flatMap { [IDSpelling(stored: id, sent: $0), IDSpelling(stored: $0, sent: id)] }
    }
}
