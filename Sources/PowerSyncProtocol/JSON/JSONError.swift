/// Why bytes are not acceptable JSON, and where.
package struct JSONError: Error, Sendable, Hashable {
    /// What is wrong.
    package enum Reason: Sendable, Hashable {
        /// The text ends inside a value.
        case unexpectedEnd
        /// Something else was expected at this place.
        case expected(String)
        /// A control character in a string that is not escaped.
        case unescapedControlCharacter
        /// A backslash sequence that JSON does not know.
        case invalidEscape
        /// Half a surrogate pair, where it is refused: `\ud83d` without the other half behind it.
        case halfSurrogatePair
        /// Bytes that are not UTF-8.
        case invalidUTF8
        /// A number that JSON's grammar does not allow.
        case invalidNumber
        /// A number too large for a double.
        case numberOutOfRange
        /// More containers inside each other than ``JSONScanner/maximumNesting``.
        case nestingTooDeep
        /// Something follows after the value.
        case trailingBytes
    }

    /// What is wrong.
    package let reason: Reason
    /// The offset of the byte where it was noticed, from the start of the text.
    package let offset: Int

    init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }
}

extension JSONError: CustomStringConvertible {
    package var description: String {
        let what =
            switch reason {
            case .unexpectedEnd: "the JSON text ends inside a value"
            case .expected(let expected): "expected \(expected)"
            case .unescapedControlCharacter: "control character in a string is not escaped"
            case .invalidEscape: "invalid escape sequence in a string"
            case .halfSurrogatePair:
                "half a surrogate pair (a character that was cut in two), which is no text that can identify something"
            case .invalidUTF8: "string is not valid UTF-8"
            case .invalidNumber: "malformed number"
            case .numberOutOfRange: "number is out of range"
            case .nestingTooDeep: "more than \(JSONScanner.maximumNesting) nested arrays and objects"
            case .trailingBytes: "something follows after the JSON value"
            }
        return "\(what), at byte \(offset)"
    }
}
