/// Functions of texts (docs/sync-config.md "Functions").
///
/// Characters are UTF-16 code units; half a surrogate pair that a cut leaves over is U+FFFD.
extension PlanFunction {
    /// The value of a function of texts.
    ///
    /// - Throws: ``EvaluationError``.
    func evaluateText(_ values: [SQLValue]) throws(EvaluationError) -> SQLValue {
        switch self {
        case .upper: return values[0].mapText { $0.uppercased() }
        case .lower: return values[0].mapText { $0.lowercased() }
        case .length: return values[0].length
        case .typeof: return .text(values[0].typeName)
        case .hex: return .text(values[0].bytes.hexadecimal.uppercased())
        case .base64: return .text(Base64.text(of: values[0].bytes))
        case .uuidBlob: return try values[0].uuid
        case .jsonValid:
            return .boolean(values[0].isBytes ? false : values[0].text.map { JSONNode(parsing: $0) != nil } ?? false)
        case .concatenate:
            guard let lhs = values[0].text, let rhs = values[1].text else { return .null }
            return .text(lhs + rhs)
        case .substring: return Self.substring(values)
        case .instr: return Self.position(of: values[1], in: values[0])
        case .replace:
            guard let text = values[0].text, let old = values[1].text, let new = values[2].text else { return .null }
            return .text(old.isEmpty ? text : Self.replace(old, with: new, in: text))
        case .trim, .ltrim, .rtrim: return trimmed(values)
        default: return .null
        }
    }

    /// `substring(s, i, n)`: position 1 is the first character, a negative one counts from the end; a negative length
    /// takes the characters before.
    private static func substring(_ values: [SQLValue]) -> SQLValue {
        guard let text = values[0].text, let position = values[1].characterCount else { return .null }
        let count = Int64(text.utf16.count)
        let start = position > 0 ? position - 1 : position < 0 ? Swift.max(position + count, 0) : -1
        var range = start..<Swift.max(start, count)
        if values.count > 2 {
            guard let length = values[2].characterCount else { return .null }
            let (sum, overflows) = start.addingReportingOverflow(length)
            let end = overflows ? length < 0 ? .min : .max : sum
            range = length >= 0 ? start..<end : end..<start
        }
        let cut = range.clamped(to: 0..<count)
        return .text(text.units(Int(cut.lowerBound)..<Int(cut.upperBound)))
    }

    private static func position(of part: SQLValue, in whole: SQLValue) -> SQLValue {
        if case .blob(let part) = part, case .blob(let whole) = whole { return .integer(index(of: part, in: whole)) }
        guard let part = part.text, let whole = whole.text else { return .null }
        return .integer(index(of: Array(part.utf16), in: Array(whole.utf16)))
    }

    private static func index<Unit: Equatable>(of part: [Unit], in whole: [Unit]) -> Int64 {
        guard part.count <= whole.count else { return 0 }
        for start in 0...(whole.count - part.count) where whole[start..<(start + part.count)].elementsEqual(part) {
            return Int64(start) + 1
        }
        return 0
    }

    private static func replace(_ old: String, with new: String, in text: String) -> String {
        let (text, old, new) = (Array(text.utf8), Array(old.utf8), Array(new.utf8))
        var result: [UInt8] = []
        var position = 0
        while position < text.count {
            if text[position...].starts(with: old) {
                result += new
                position += old.count
            } else {
                result.append(text[position])
                position += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private func trimmed(_ values: [SQLValue]) -> SQLValue {
        guard let text = values[0].text else { return .null }
        guard let characters = values.count > 1 ? values[1].text : " " else { return .null }
        let set = Set(characters.unicodeScalars)
        var scalars = Substring(text).unicodeScalars
        if self != .rtrim { scalars = scalars.drop { set.contains($0) } }
        if self != .ltrim {
            while let last = scalars.last, set.contains(last) { scalars.removeLast() }
        }
        return .text(String(Substring(scalars)))
    }
}

extension String {
    /// Some of the UTF-16 code units.
    fileprivate func units(_ range: Range<Int>) -> String {
        guard utf8.count != utf16.count else {
            // ASCII: each unit is a byte.
            let start = utf8.index(startIndex, offsetBy: range.lowerBound)
            return String(self[start..<utf8.index(start, offsetBy: range.count)])
        }
        return String(decoding: Array(utf16)[range], as: UTF16.self)
    }
}

extension SQLValue {
    fileprivate func mapText(_ transform: (String) -> String) -> SQLValue {
        text.map { .text(transform($0)) } ?? .null
    }

    fileprivate var isBytes: Bool { if case .blob = self { true } else { false } }

    /// The bytes of a blob, else those of the text form; none for `NULL`.
    fileprivate var bytes: [UInt8] {
        if case .blob(let bytes) = self { bytes } else { Array((text ?? "").utf8) }
    }

    fileprivate var length: SQLValue {
        if case .blob(let bytes) = self { return .integer(Int64(bytes.count)) }
        return text.map { .integer(Int64($0.utf16.count)) } ?? .null
    }

    fileprivate var typeName: String {
        switch self {
        case .null: "null"
        case .integer: "integer"
        case .real: "real"
        case .text: "text"
        case .blob: "blob"
        }
    }

    /// The value as a position or a number of characters; `nil` for `NULL`.
    fileprivate var characterCount: Int64? {
        switch cast(to: .integer) {
        case .integer(let integer): integer
        case .real(let number): Self.clamped(number)
        default: nil
        }
    }

    /// The 16 bytes of a UUID of version 1 to 8 with the usual variant, of the nil UUID or of the max UUID.
    fileprivate var uuid: SQLValue {
        get throws(EvaluationError) {
            guard let text else { return .null }
            let parts = text.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.map(\.utf8.count) == [8, 4, 4, 4, 12],
                let bytes = [UInt8](hexadecimal: parts.joined()), bytes.count == 16
            else { throw .invalidUUID }
            let isUniform = bytes.allSatisfy { $0 == bytes[0] } && (bytes[0] == 0 || bytes[0] == 0xff)
            let hasVersion = (1...8).contains(bytes[6] >> 4) && bytes[8] >> 6 == 0b10
            guard isUniform || hasVersion else { throw .invalidUUID }
            return .blob(bytes)
        }
    }
}

/// The base-64 form of bytes (RFC 4648).
enum Base64 {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The text of some bytes, padded.
    static func text(of bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
            for digit in 0..<4 {
                let isPadding = digit > group.count
                text.append(isPadding ? UInt8(ascii: "=") : digits[Int(bits >> UInt32(18 - 6 * digit) & 63)])
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
