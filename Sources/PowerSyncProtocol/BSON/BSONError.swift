/// Why bytes are not an acceptable BSON document, and where.
package struct BSONError: Error, Sendable, Hashable {
    /// What is wrong.
    package enum Reason: Sendable, Hashable {
        /// A value or a name extends beyond its document.
        case truncated
        /// A document's length is below 5 or exceeds the bytes that are there.
        case invalidDocumentLength(Int32)
        /// A string's length is below 1.
        case invalidStringLength(Int32)
        /// A binary value's length is negative.
        case invalidBinaryLength(Int32)
        /// A document or a string does not end with a zero byte.
        case missingTerminator
        /// A string or a name is not UTF-8.
        case invalidUTF8
        /// An element of a type that sync lines do not have.
        case unknownElementType(UInt8)
        /// Something follows after the document.
        case trailingBytes
        /// A value that JSON does not have.
        case notJSON
        /// More documents inside each other than ``JSONScanner/maximumNesting``.
        case nestingTooDeep
    }

    /// What is wrong.
    package let reason: Reason
    /// The offset of the byte where it was noticed, from the start of the document.
    package let offset: Int

    init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }
}

extension BSONError: CustomStringConvertible {
    package var description: String {
        let what =
            switch reason {
            case .truncated: "the document ends inside an element"
            case .invalidDocumentLength(let length): "invalid document length \(length)"
            case .invalidStringLength(let length): "invalid string length \(length)"
            case .invalidBinaryLength(let length): "invalid length \(length) of a binary value"
            case .missingTerminator: "terminating zero is missing"
            case .invalidUTF8: "a string or a name is not valid UTF-8"
            case .unknownElementType(let type): "unknown element type \(type)"
            case .trailingBytes: "something follows after the document"
            case .notJSON: "a value has no form in JSON"
            case .nestingTooDeep: "more than \(JSONScanner.maximumNesting) nested documents"
            }
        return "\(what), at byte \(offset)"
    }
}
