import PowerSyncProtocol

/// Casts of the default engine (docs/sync-config.md "Values").
extension SQLValue {
    /// The text form; `nil` for `NULL`.
    var text: String? {
        switch self {
        case .null: nil
        case .integer(let integer): String(integer)
        case .real(let number): number.isNaN ? nil : RealText.plain(number)
        case .text(let text): text
        case .blob(let bytes): String(decoding: bytes, as: UTF8.self)
        }
    }

    /// The value cast to a type.
    func cast(to type: SQLType) -> SQLValue {
        if case .null = self { return .null }
        switch type {
        case .text: return text.map(SQLValue.text) ?? .null
        case .blob:
            if case .blob = self { return self }
            return text.map { .blob(Array($0.utf8)) } ?? .null
        case .numeric: return numeric
        case .integer: return integerCast
        case .real: return realCast
        }
    }

    /// The value as an operand of arithmetic.
    var numeric: SQLValue {
        switch self {
        case .null, .integer: self
        case .real(let number): number.isNaN ? .null : self
        case .text, .blob: NumericPrefix(text ?? "").value
        }
    }

    private var integerCast: SQLValue {
        switch self {
        case .null, .integer:
            return self
        case .real(let number):
            guard number.isFinite else { return .null }
            let floor = number.rounded(.down)
            return Int64(exactly: floor).map(SQLValue.integer) ?? .real(floor)
        case .text, .blob:
            return NumericPrefix(text ?? "", integersOnly: true).value
        }
    }

    private var realCast: SQLValue {
        switch self {
        case .null: return .null
        case .integer(let integer): return .real(Double(integer))
        case .real(let number): return number.isNaN ? .null : self
        case .text, .blob:
            let text = text ?? ""
            if text == "Infinity" { return .real(.infinity) }
            if text == "-Infinity" { return .real(-.infinity) }
            switch NumericPrefix(text).value {
            case .integer(let integer): return .real(Double(integer))
            case let value: return value
            }
        }
    }

    /// The value as an operand of `%` and of operators on bits: cut to 64 bits, a text by its leading integer; `nil` for `NULL`.
    var bits: Int64? {
        switch self {
        case .null: nil
        case .integer(let integer): integer
        case .real(let number): number.isNaN ? nil : Self.clamped(number)
        case .text, .blob:
            switch NumericPrefix(text ?? "", integersOnly: true).value {
            case .integer(let integer): integer
            case .real(let number): Self.clamped(number)
            default: nil
            }
        }
    }

    /// The integer nearest to a double in direction of zero, at the ends of 64 bits for what is beyond them.
    static func clamped(_ number: Double) -> Int64 {
        if number.isNaN { return 0 }
        if number >= 9_223_372_036_854_775_808.0 { return .max }
        if number <= -9_223_372_036_854_775_808.0 { return .min }
        return Int64(number)
    }
}

/// The number that a text begins with: white space, sign, digits, and a fraction and an exponent unless only integers
/// are wanted; 0 if there is none.
struct NumericPrefix {
    /// The number.
    let value: SQLValue

    /// The number that a text is, without anything before or behind it.
    static func number(_ text: String) -> SQLValue? {
        let number = NumericPrefix(text).value
        return SQLValue.text(text) == number.cast(to: .text) ? number : nil
    }

    /// Reads the number at the beginning of a text.
    init(_ text: String, integersOnly: Bool = false) {
        let bytes = Array(text.utf8)
        var position = 0
        while position < bytes.count, bytes[position] == 0x20 || (0x09...0x0d).contains(bytes[position]) {
            position += 1
        }
        let start = position
        if position < bytes.count, bytes[position] == UInt8(ascii: "-") || bytes[position] == UInt8(ascii: "+") {
            position += 1
        }
        func digits(from start: Int) -> Int {
            var end = start
            while end < bytes.count, bytes[end] &- UInt8(ascii: "0") < 10 { end += 1 }
            return end
        }
        var end = digits(from: position)
        var digitCount = end - position
        var isReal = false
        if !integersOnly {
            if end < bytes.count, bytes[end] == UInt8(ascii: ".") {
                let fraction = digits(from: end + 1)
                digitCount += fraction - end - 1
                if digitCount > 0 {
                    isReal = true
                    end = fraction
                }
            }
            if digitCount > 0, end < bytes.count, bytes[end] | 0x20 == UInt8(ascii: "e") {
                var mark = end + 1
                if mark < bytes.count, bytes[mark] == UInt8(ascii: "-") || bytes[mark] == UInt8(ascii: "+") {
                    mark += 1
                }
                let exponent = digits(from: mark)
                if exponent > mark {
                    isReal = true
                    end = exponent
                }
            }
        }
        guard digitCount > 0 else {
            value = .integer(0)
            return
        }
        var number = String(decoding: bytes[start..<end], as: UTF8.self)
        if !isReal, let integer = Int64(number) {
            value = .integer(integer)
            return
        }
        // `1.` and `1.e5` are not numbers for `Double`.
        number.replace(".e", with: ".0e")
        number.replace(".E", with: ".0e")
        if number.hasSuffix(".") { number += "0" }
        value = .real(Double(number) ?? 0)
    }
}
