import PowerSyncProtocol

/// Makes JSON of text that is nearly JSON.
///
/// Some writers of rows and queue entries write what JSON does not have. What they mean is clear, so it is read instead of the
/// whole text being unreadable:
///
/// | in the text | in the result |
/// | --- | --- |
/// | `NaN` | `null` |
/// | `Infinity`, `-Infinity`, `Inf`, `-Inf`, in any case | ``Infinities`` |
/// | control characters in strings | escape sequences |
/// | halves of surrogate pairs (`\ud800`), bytes that are not UTF-8 | U+FFFD |
///
/// PostgreSQL's floats have the first two, and services send them bare. `json_object` of SQLite writes `Inf` before version 3.42.
struct JSONRepair {
    /// What becomes of infinities.
    enum Infinities {
        /// `9e999` and `-9e999`: numbers that every reader of SQLite takes for infinities. For rows.
        case numbers
        /// `"Infinity"` and `"-Infinity"`, also for numbers that no double can hold, which readers of JSON refuse. For entries
        /// of the upload queue.
        case texts
    }

    private let text: ByteView
    private let infinities: Infinities
    private var offset = 0
    private var output: [UInt8] = []

    /// Repairs a text.
    ///
    /// - Parameters:
    ///   - text: Nearly JSON.
    ///   - infinities: What becomes of infinities.
    /// - Returns: JSON, checked with ``JSONScanner``; `nil` when the text is too far from it.
    static func repaired(_ text: UnsafeRawBufferPointer, infinities: Infinities) -> [UInt8]? {
        var repair = unsafe JSONRepair(text: ByteView(text), infinities: infinities)
        guard repair.run() else { return nil }
        let isJSON = unsafe repair.output.withUnsafeBytes { bytes in
            var scanner = unsafe JSONScanner(bytes)
            return (try? scanner.skipValue()) != nil && (try? scanner.finish()) != nil
        }
        return isJSON ? repair.output : nil
    }

    private init(text: ByteView, infinities: Infinities) {
        self.text = text
        self.infinities = infinities
        output.reserveCapacity(text.count + 16)
    }

    /// Copies token by token; their order is checked afterwards.
    private mutating func run() -> Bool {
        while offset < text.count {
            let byte = text[offset]
            switch byte {
            case UInt8(ascii: "\""):
                guard copyString() else { return false }
            case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                guard copyNumber() else { return false }
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
                guard copyWord(isNegative: false) else { return false }
            default:
                output.append(byte)
                offset += 1
            }
        }
        return true
    }

    private mutating func copyWord(isNegative: Bool) -> Bool {
        let start = offset
        while offset < text.count, (text[offset] | 0x20) &- UInt8(ascii: "a") < 26 { offset += 1 }
        let word = text[start..<offset].string
        switch word.lowercased() {
        case "nan": append("null")
        case "infinity", "inf": appendInfinity(isNegative: isNegative)
        case _ where isNegative: return false
        default: append(word)
        }
        return true
    }

    private mutating func copyNumber() -> Bool {
        let start = offset
        let isNegative = text[offset] == UInt8(ascii: "-")
        if isNegative || text[offset] == UInt8(ascii: "+") {
            offset += 1
            if offset < text.count, text[offset] | 0x20 >= UInt8(ascii: "a") { return copyWord(isNegative: isNegative) }
        }
        while offset < text.count, Self.isPartOfNumber(text[offset]) { offset += 1 }
        let number = text[start..<offset].string
        if infinities == .texts, let value = Double(number), value.isInfinite {
            appendInfinity(isNegative: value < 0)
        } else {
            append(number)
        }
        return true
    }

    private static func isPartOfNumber(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"),
            UInt8(ascii: "+"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    private mutating func copyString() -> Bool {
        output.append(UInt8(ascii: "\""))
        offset += 1
        while offset < text.count {
            let plain = offset
            offset = text.endOfPlainText(from: offset)
            unsafe output.append(contentsOf: text.pointer(to: plain..<offset))
            guard offset < text.count else { return false }
            switch text[offset] {
            case UInt8(ascii: "\""):
                output.append(UInt8(ascii: "\""))
                offset += 1
                return true
            case UInt8(ascii: "\\"):
                guard copyEscape() else { return false }
            case 0x80...:
                if let length = text.lengthOfUTF8Sequence(at: offset, before: text.count) {
                    unsafe output.append(contentsOf: text.pointer(to: offset..<offset + length))
                    offset += length
                } else {
                    append("\u{fffd}")
                    offset += 1
                }
            default:
                let digits = String(text[offset], radix: 16)
                append("\\u00" + (digits.count == 1 ? "0" : "") + digits)
                offset += 1
            }
        }
        return false
    }

    private mutating func copyEscape() -> Bool {
        for length in [12, 6, 2] where offset + length <= text.count {
            // A pair of surrogates, another escape of six, an escape of two: the first that is one.
            let quoted = unsafe [UInt8(ascii: "\"")] + text.pointer(to: offset..<offset + length) + [UInt8(ascii: "\"")]
            let isEscape = unsafe quoted.withUnsafeBytes { bytes in
                var scanner = unsafe JSONScanner(bytes)
                return (try? scanner.readString()) != nil && (try? scanner.finish()) != nil
            }
            guard isEscape else { continue }
            unsafe output.append(contentsOf: text.pointer(to: offset..<offset + length))
            offset += length
            return true
        }
        guard offset + 6 <= text.count, text[offset + 1] == UInt8(ascii: "u") else { return false }
        let digits = text[offset + 2..<offset + 6].string
        guard let unit = UInt16(digits, radix: 16), UTF16.isSurrogate(unit) else { return false }
        append("\u{fffd}")
        offset += 6
        return true
    }

    private mutating func append(_ text: String) {
        output.append(contentsOf: text.utf8)
    }

    private mutating func appendInfinity(isNegative: Bool) {
        let sign = isNegative ? "-" : ""
        switch infinities {
        case .numbers: append("\(sign)9e999")
        case .texts: append("\"\(sign)Infinity\"")
        }
    }
}
