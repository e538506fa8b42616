/// What the decoder of sync lines needs from an encoding.
///
/// JSON and BSON differ in these operations only.
///
/// A value is read by exactly one `begin…`, `read…` or `skip…` call. All operations throw ``SyncLineError``: for syntax
/// that the encoding forbids, or `invalidMember` when the value is not of the kind that was asked for.
protocol LineCursor {
    /// What has to be remembered while an object or an array is open.
    associatedtype Scope

    /// Opens an object.
    mutating func beginObject() throws(SyncLineError) -> Scope
    /// Moves to the value of the next member; `nil` at the end, which closes the object.
    mutating func nextMember(in scope: Scope) throws(SyncLineError) -> MemberName?
    /// Opens an array.
    mutating func beginArray() throws(SyncLineError) -> Scope
    /// Moves to the next element; `false` at the end, which closes the array.
    mutating func nextElement(in scope: Scope) throws(SyncLineError) -> Bool

    /// Reads the value if it is null or undefined.
    mutating func skipNull() throws(SyncLineError) -> Bool
    /// Reads a value of any kind without keeping it.
    mutating func skipValue() throws(SyncLineError)
    /// Whether the value is a string.
    mutating func isAtString() throws(SyncLineError) -> Bool
    /// Whether the value is a boolean.
    mutating func isAtBool() throws(SyncLineError) -> Bool

    /// Reads a string.
    mutating func readString() throws(SyncLineError) -> String
    /// Reads a string into the text of a data line.
    mutating func readText() throws(SyncLineError) -> TextRange
    /// Reads a string of decimal digits, 0 … 2^63 − 1.
    mutating func readDecimal() throws(SyncLineError) -> Int64
    /// Reads an op, `PUT`, `REMOVE`, `MOVE` or `CLEAR`.
    mutating func readOperationKind() throws(SyncLineError) -> SyncOperation.Kind
    /// Reads a boolean.
    mutating func readBool() throws(SyncLineError) -> Bool
    /// Reads a number that is written as an integer.
    mutating func readInteger() throws(SyncLineError) -> Int64
    /// Reads a number without fractional part, also if it is written as a double.
    mutating func readWholeNumber() throws(SyncLineError) -> Int64

    /// The error for the value that was read last, or that comes next.
    func invalidValue(expected: String) -> SyncLineError
}

/// The name of a member, compared with literals byte by byte.
///
/// ```swift
/// switch name {
/// case "op_id": …
/// default: try cursor.skipValue()
/// }
/// ```
struct MemberName {
    private let bytes: ByteView
    /// JSON only: whether the bytes contain escape sequences.
    private let hasEscapes: Bool

    init(_ bytes: ByteView) {
        self.bytes = bytes
        self.hasEscapes = false
    }

    init(_ token: JSONStringToken) {
        self.bytes = token.bytes
        self.hasEscapes = token.hasEscapes
    }

    /// The name as text.
    var string: String {
        JSONStringToken(bytes: bytes, hasEscapes: hasEscapes, offset: 0).string
    }

    /// The name as text for messages, cut off after 64 bytes.
    var abbreviated: String {
        bytes.count <= 64 ? string : bytes[0..<64].string + "…"
    }

    static func ~= (literal: StaticString, name: MemberName) -> Bool {
        guard name.hasEscapes else { return name.bytes.equals(literal) }
        return JSONStringToken(bytes: name.bytes, hasEscapes: true, offset: 0).equals(literal)
    }
}

extension SyncOperation.Kind {
    /// The kind that is written as these bytes.
    init?(wireForm bytes: ByteView) {
        if bytes.equals("PUT") {
            self = .put
        } else if bytes.equals("REMOVE") {
            self = .remove
        } else if bytes.equals("MOVE") {
            self = .move
        } else if bytes.equals("CLEAR") {
            self = .clear
        } else {
            return nil
        }
    }

    /// The wire form.
    var wireForm: StaticString {
        switch self {
        case .put: "PUT"
        case .remove: "REMOVE"
        case .move: "MOVE"
        case .clear: "CLEAR"
        }
    }

    /// What messages say when an op is none of these.
    static let expectation = "PUT, REMOVE, MOVE or CLEAR"
}

extension ByteView {
    /// The value of decimal digits; `nil` when empty, above 2^63 − 1, or anything else.
    var decimal: Int64? {
        guard count > 0 else { return nil }
        var value: Int64 = 0
        for index in 0..<count {
            let digit = self[index] &- UInt8(ascii: "0")
            let (scaled, scaleOverflow) = value.multipliedReportingOverflow(by: 10)
            let (next, addOverflow) = scaled.addingReportingOverflow(Int64(digit))
            guard digit < 10, !scaleOverflow, !addOverflow else { return nil }
            value = next
        }
        return value
    }
}
