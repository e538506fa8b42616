/// The stored form of a value: `null`, a string for text, or an object with one member that names the type. Numbers
/// are decimal strings, because JSON numbers lose digits in some readers.
///
/// ```json
/// null   "u1"   {"integer":"9007199254740993"}   {"real":"0.1"}   {"blob":"00ff"}
/// ```
extension SQLValue: Codable {
    private enum CodingKeys: String, CodingKey {
        case integer, real, blob
    }

    package init(from decoder: any Decoder) throws {
        if let single = try? decoder.singleValueContainer() {
            if single.decodeNil() {
                self = .null
                return
            }
            if let text = try? single.decode(String.self) {
                self = .text(text)
                return
            }
        }
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let digits = try container.decodeIfPresent(String.self, forKey: .integer) {
            guard let integer = Int64(digits) else {
                throw DecodingError.dataCorruptedError(
                    forKey: .integer,
                    in: container,
                    debugDescription: "“\(digits)” is not a 64-bit integer"
                )
            }
            self = .integer(integer)
        } else if let digits = try container.decodeIfPresent(String.self, forKey: .real) {
            guard let number = Double(digits) else {
                throw DecodingError.dataCorruptedError(
                    forKey: .real,
                    in: container,
                    debugDescription: "“\(digits)” is not a number"
                )
            }
            self = .real(number)
        } else {
            let digits = try container.decode(String.self, forKey: .blob)
            guard let bytes = [UInt8](hexadecimal: digits) else {
                throw DecodingError.dataCorruptedError(
                    forKey: .blob,
                    in: container,
                    debugDescription: "the bytes are not hexadecimal"
                )
            }
            self = .blob(bytes)
        }
    }

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .text(let text):
            var container = encoder.singleValueContainer()
            try container.encode(text)
        case .integer(let integer):
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(String(integer), forKey: .integer)
        case .real(let number):
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(number.description, forKey: .real)
        case .blob(let bytes):
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(bytes.hexadecimal, forKey: .blob)
        }
    }
}

extension [UInt8] {
    /// Two lower-case hexadecimal digits for each byte.
    var hexadecimal: String {
        let digits = Array<UInt8>("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(count * 2)
        for byte in self {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Creates bytes from hexadecimal digits.
    ///
    /// - Returns: `nil` when `digits` has an odd length or another character.
    init?(hexadecimal digits: String) {
        let nibbles = digits.utf8.map { digit -> UInt8? in
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
            default: nil
            }
        }
        guard nibbles.count.isMultiple(of: 2) else { return nil }
        self.init()
        reserveCapacity(nibbles.count / 2)
        for index in stride(from: 0, to: nibbles.count, by: 2) {
            guard let high = nibbles[index], let low = nibbles[index + 1] else { return nil }
            append(high << 4 | low)
        }
    }
}
