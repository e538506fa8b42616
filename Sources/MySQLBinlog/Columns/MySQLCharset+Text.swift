extension MySQLCharset {
    /// A text; `nil` if the bytes are none, or the charset is not read here.
    func text(_ bytes: [UInt8]) -> String? {
        switch self {
        case .utf8mb4, .utf8mb3:
            // What is repaired is another text.
            let text = String(decoding: bytes, as: UTF8.self)
            return text.utf8.elementsEqual(bytes) ? text : nil
        case .ascii: return Self.ascii(bytes)
        case .latin1: return Self.latin1(bytes)
        case .ucs2: return Self.utf16(bytes, isBigEndian: true, hasPairs: false)
        case .utf16: return Self.utf16(bytes, isBigEndian: true, hasPairs: true)
        case .utf16le: return Self.utf16(bytes, isBigEndian: false, hasPairs: true)
        case .utf32: return Self.utf32(bytes)
        case .binary, .other: return nil
        }
    }

    /// The server reads bytes above 7F as `?`.
    private static func ascii(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.map { $0 < 0x80 ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }

    private static func latin1(_ bytes: [UInt8]) -> String {
        var text = String.UnicodeScalarView()
        for byte in bytes {
            text.append(0x80...0x9f ~= byte ? windows1252[Int(byte) - 0x80] : Unicode.Scalar(byte))
        }
        return String(text)
    }

    /// 80 to 9F.
    private static let windows1252: [Unicode.Scalar] = [
        "\u{20ac}", "\u{81}", "\u{201a}", "\u{192}", "\u{201e}", "\u{2026}", "\u{2020}", "\u{2021}",
        "\u{2c6}", "\u{2030}", "\u{160}", "\u{2039}", "\u{152}", "\u{8d}", "\u{17d}", "\u{8f}",
        "\u{90}", "\u{2018}", "\u{2019}", "\u{201c}", "\u{201d}", "\u{2022}", "\u{2013}", "\u{2014}",
        "\u{2dc}", "\u{2122}", "\u{161}", "\u{203a}", "\u{153}", "\u{9d}", "\u{17e}", "\u{178}",
    ]

    private static func utf16(_ bytes: [UInt8], isBigEndian: Bool, hasPairs: Bool) -> String? {
        guard bytes.count.isMultiple(of: 2) else { return nil }
        let units = stride(from: 0, to: bytes.count, by: 2).map { index in
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return isBigEndian ? first << 8 | second : second << 8 | first
        }
        if !hasPairs, units.contains(where: { UTF16.isSurrogate($0) }) { return nil }
        // What is repaired is another text.
        let text = String(decoding: units, as: UTF16.self)
        return text.utf16.elementsEqual(units) ? text : nil
    }

    private static func utf32(_ bytes: [UInt8]) -> String? {
        guard bytes.count.isMultiple(of: 4) else { return nil }
        var text = String.UnicodeScalarView()
        for index in stride(from: 0, to: bytes.count, by: 4) {
            let value = bytes[index..<index + 4].reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
            guard let scalar = Unicode.Scalar(value) else { return nil }
            text.append(scalar)
        }
        return String(text)
    }
}
