/// MySQL's binary form of a document of JSON, and the text that the server prints of it.
///
/// A value is a type (u8) and its content:
///
/// | Type | Content |
/// |---|---|
/// | 0, 1 | an object, small and large |
/// | 2, 3 | an array, small and large |
/// | 4 | u8: 0 null, 1 true, 2 false |
/// | 5 … 10 | i16, u16, i32, u32, i64, u64 |
/// | 11 | an IEEE double |
/// | 12 | a text in UTF-8: its length in groups of 7 bits, the low ones first, and its bytes |
/// | 15 | a type of column u8, a length as of texts, and bytes |
///
/// Objects and arrays: the number of values, the number of bytes, for an object the offset and the length (u16) of each key, and for each
/// value its type (u8) and an offset, or in its place the value itself if it is of type 4, 5 or 6, in large ones also 7 or 8. Numbers
/// and offsets are u16 in small ones and u32 in large ones; offsets count from the first byte of the number of values.
///
/// The text has a space behind `:` and `,` and no other, keys in the stored order, and texts with the escapes of JSON only where they are
/// needed.
struct BinaryJSON {
    /// How deep objects and arrays may be: the server's limit.
    static let depth = 100

    private var text = ServerText()
    /// The most bytes of the text: more than any document has whose values do not overlap.
    private let limit: Int

    /// The text of a document.
    ///
    /// - Parameter document: The whole document, at least one byte.
    /// - Returns: The text.
    /// - Throws: ``BinlogFault`` if it is none.
    static func text(_ document: ByteCursor) throws(BinlogFault) -> String {
        var cursor = document
        var writer = BinaryJSON(limit: 16 * document.count + 1 << 20)
        let type = try cursor.byte("document")
        try writer.write(type, cursor, depth: 0)
        return writer.text.string
    }

    private init(limit: Int) { self.limit = limit }

    private static var fault: BinlogFault { BinlogFault("document", .json) }

    /// Writes the value whose content begins where a cursor is.
    private mutating func write(_ type: UInt8, _ content: ByteCursor, depth: Int) throws(BinlogFault) {
        guard text.bytes.count <= limit else { throw Self.fault }
        var content = content
        switch type {
        case 0...3: try writeContainer(&content, isObject: type < 2, isLarge: type & 1 != 0, depth: depth + 1)
        case 4: try writeLiteral(try content.byte("document"))
        case 5: text.write("\(try content.integer("document", as: Int16.self))")
        case 6: text.write("\(try content.integer("document", as: UInt16.self))")
        case 7: text.write("\(try content.integer("document", as: Int32.self))")
        case 8: text.write("\(try content.integer("document", as: UInt32.self))")
        case 9: text.write("\(try content.integer("document", as: Int64.self))")
        case 10: text.write("\(try content.integer("document", as: UInt64.self))")
        case 11:
            let number = Double(bitPattern: try content.integer("document", as: UInt64.self))
            guard number.isFinite else { throw Self.fault }
            text.writeJSON(number)
        case 12:
            let length = try Self.length(&content)
            try writeText(&content, length)
        case 15:
            let type = try content.byte("document")
            let length = try Self.length(&content)
            try writeOpaque(type, try content.part("document", length))
        default: throw Self.fault
        }
    }

    private mutating func writeLiteral(_ literal: UInt8) throws(BinlogFault) {
        switch literal {
        case 0: text.write("null" as StaticString)
        case 1: text.write("true" as StaticString)
        case 2: text.write("false" as StaticString)
        default: throw Self.fault
        }
    }

    private mutating func writeContainer(
        _ cursor: inout ByteCursor,
        isObject: Bool,
        isLarge: Bool,
        depth: Int
    ) throws(BinlogFault) {
        guard depth <= Self.depth else { throw Self.fault }
        let width = isLarge ? 4 : 2
        let start = cursor.index
        var header = cursor
        let count = Int(try header.unsigned("document", bytes: width))
        let size = Int(try header.unsigned("document", bytes: width))
        // Offsets reach no further than the object or array does.
        let whole = try cursor.part("document", size)
        var entries = try whole.part("document", at: start + 2 * width)
        guard count <= entries.count / (isObject ? 2 * width + 3 : width + 1) else { throw Self.fault }
        var keys = try entries.part("document", isObject ? count * (width + 2) : 0)
        text.write(UInt8(ascii: isObject ? "{" : "["))
        for index in 0..<count {
            if index > 0 { text.write(", " as StaticString) }
            if isObject {
                let offset = Int(try keys.unsigned("document", bytes: width))
                let length = Int(try keys.unsigned("document", bytes: 2))
                var key = try whole.part("document", at: start + offset)
                try writeText(&key, length)
                text.write(": " as StaticString)
            }
            let type = try entries.byte("document")
            let isInPlace = type == 4 || type == 5 || type == 6 || isLarge && (type == 7 || type == 8)
            if isInPlace {
                try write(type, try entries.part("document", width), depth: depth)
            } else {
                let offset = Int(try entries.unsigned("document", bytes: width))
                try write(type, try whole.part("document", at: start + offset), depth: depth)
            }
        }
        text.write(UInt8(ascii: isObject ? "}" : "]"))
    }

    /// A length in groups of 7 bits, the low ones first; the highest bit says that another follows.
    private static func length(_ cursor: inout ByteCursor) throws(BinlogFault) -> Int {
        var length = 0
        for group in 0..<5 {
            let byte = try cursor.byte("document")
            length |= Int(byte & 0x7f) << (7 * group)
            if byte & 0x80 == 0 {
                guard length <= cursor.count else { throw fault }
                return length
            }
        }
        throw fault
    }

    private mutating func writeText(_ cursor: inout ByteCursor, _ length: Int) throws(BinlogFault) {
        guard let string = try cursor.text("document", length) else { throw Self.fault }
        text.writeJSON(string)
        guard text.bytes.count <= limit else { throw Self.fault }
    }

    /// Writes a value of a type of columns.
    private mutating func writeOpaque(_ type: UInt8, _ content: ByteCursor) throws(BinlogFault) {
        var content = content
        switch BinlogColumnType(rawValue: type) {
        case .newDecimal:
            let precision = Int(try content.byte("document"))
            let scale = Int(try content.byte("document"))
            guard let number = try DecimalForm(precision: precision, scale: scale)?.read(&content) else {
                throw Self.fault
            }
            text.write(number)
        case .date:
            guard let time = MySQLDateTime(json: try content.integer("document")) else { throw Self.fault }
            text.write(UInt8(ascii: "\""))
            text.write(time.date)
            text.write(UInt8(ascii: "\""))
        case .dateTime, .timestamp:
            guard let time = MySQLDateTime(json: try content.integer("document")) else { throw Self.fault }
            text.write(UInt8(ascii: "\""))
            text.write(time)
            text.write(UInt8(ascii: "\""))
        case .time:
            guard let time = MySQLTime(json: try content.integer("document")) else { throw Self.fault }
            text.write(UInt8(ascii: "\""))
            text.write(time)
            text.write(UInt8(ascii: "\""))
        default:
            text.write("\"base64:type" as StaticString)
            text.write("\(type):")
            text.writeBase64(try content.array("document", content.count))
            text.write(UInt8(ascii: "\""))
        }
    }
}

extension ServerText {
    /// A text in quotes.
    fileprivate mutating func writeJSON(_ string: String) {
        write(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""): write("\\\"" as StaticString)
            case UInt8(ascii: "\\"): write("\\\\" as StaticString)
            case 0x08: write("\\b" as StaticString)
            case 0x0c: write("\\f" as StaticString)
            case 0x0a: write("\\n" as StaticString)
            case 0x0d: write("\\r" as StaticString)
            case 0x09: write("\\t" as StaticString)
            case 0..<0x20:
                write("\\u00" as StaticString)
                writeHex(byte)
            default: write(byte)
            }
        }
        write(UInt8(ascii: "\""))
    }

    /// A double with the fewest digits that give it again.
    ///
    /// With the digits d₁…dₙ and the exponent e so that it is 0.d₁…dₙ × 10ᵉ: without exponent if e ≥ −14, and e ≤ 15 or n > e, and then
    /// with `.0` if it is whole; else `1.5e-16`.
    fileprivate mutating func writeJSON(_ number: Double) {
        if number.sign == .minus { write(UInt8(ascii: "-")) }
        // `123.45`, `1e-05` or `1.5e+20`.
        let parts = number.magnitude.description.split(separator: "e")
        let mantissa = parts[0].split(separator: ".")
        var digits = mantissa.flatMap { Array($0.utf8) }
        var exponent = mantissa[0].utf8.count + (parts.count > 1 ? Int(parts[1]) ?? 0 : 0)
        let zeros = digits.prefix { $0 == UInt8(ascii: "0") }.count
        digits.removeFirst(zeros)
        exponent -= zeros
        while digits.last == UInt8(ascii: "0") { digits.removeLast() }
        guard !digits.isEmpty else {
            write("0.0" as StaticString)
            return
        }
        if exponent >= -14, exponent <= 15 || digits.count > exponent {
            writeFixed(digits, exponent: exponent)
        } else {
            write(digits[0])
            if digits.count > 1 {
                write(UInt8(ascii: "."))
                write(contentsOf: digits[1...])
            }
            write("e\(exponent - 1)")
        }
    }

    private mutating func writeFixed(_ digits: [UInt8], exponent: Int) {
        if exponent <= 0 {
            write("0." as StaticString)
            write(contentsOf: repeatElement(UInt8(ascii: "0"), count: -exponent))
            write(contentsOf: digits)
        } else if digits.count > exponent {
            write(contentsOf: digits[..<exponent])
            write(UInt8(ascii: "."))
            write(contentsOf: digits[exponent...])
        } else {
            write(contentsOf: digits)
            write(contentsOf: repeatElement(UInt8(ascii: "0"), count: exponent - digits.count))
            write(".0" as StaticString)
        }
    }

    /// Bytes in base 64, where an escaped line feed follows each 76 characters but the last.
    fileprivate mutating func writeBase64(_ bytes: [UInt8]) {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        for index in stride(from: 0, to: bytes.count, by: 3) {
            if index > 0, index.isMultiple(of: 57) { write("\\n" as StaticString) }
            let group = bytes[index..<min(index + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for place in 0..<4 {
                write(place <= group.count ? digits[bits >> (18 - 6 * place) & 63] : UInt8(ascii: "="))
            }
        }
    }
}

extension MySQLDateTime {
    /// `((year × 13 + month) << 22 | day << 17 | hour << 12 | minute << 6 | second) << 24 | microsecond`.
    fileprivate init?(json packed: Int64) {
        guard packed >= 0 else { return nil }
        self.init(packed: UInt64(packed >> 24) + 1 << 39, microsecond: Int(packed & 0xff_ffff), digits: 6)
    }
}

extension MySQLTime {
    /// `(hour << 12 | minute << 6 | second) << 24 | microsecond`, negated for a negative time.
    fileprivate init?(json packed: Int64) {
        let magnitude = packed.magnitude
        guard magnitude >> 24 < 1 << 23 else { return nil }
        let signed = packed < 0 ? -Int(magnitude) : Int(magnitude)
        self.init(packed: UInt64(signed + 1 << 47), digits: 6)
    }
}
