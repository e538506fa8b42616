import NIOCore

/// Reads a sync line from JSON text.
struct JSONLineCursor: LineCursor {
    private var scanner: JSONScanner
    /// The name of the member that was entered last, for messages.
    private var member: MemberName?
    /// The texts that have been read, one after the other, without escape sequences.
    ///
    /// They are copied rather than referred to in the line: nearly all rows contain escapes, and this way the memory of
    /// the line, and of the network chunk around it, is free as soon as it is decoded.
    private(set) var text = ByteBuffer()

    /// Creates a cursor at the start of a line.
    init(_ bytes: ByteView) {
        scanner = JSONScanner(bytes)
    }

    /// Checks that nothing follows.
    mutating func finish() throws(SyncLineError) {
        try json { scanner throws(JSONError) in try scanner.finish() }
    }

    mutating func beginObject() throws(SyncLineError) {
        try require(.object, "an object")
        try json { scanner throws(JSONError) in try scanner.beginObject() }
    }

    mutating func nextMember(in scope: Void) throws(SyncLineError) -> MemberName? {
        let token = try json { scanner throws(JSONError) in try scanner.nextMember() }
        guard let token else { return nil }
        member = MemberName(token)
        return member
    }

    mutating func beginArray() throws(SyncLineError) {
        try require(.array, "an array")
        try json { scanner throws(JSONError) in try scanner.beginArray() }
    }

    mutating func nextElement(in scope: Void) throws(SyncLineError) -> Bool {
        try json { scanner throws(JSONError) in try scanner.nextElement() }
    }

    mutating func skipNull() throws(SyncLineError) -> Bool {
        guard try nextKind() == .null else { return false }
        try json { scanner throws(JSONError) in try scanner.readNull() }
        return true
    }

    mutating func skipValue() throws(SyncLineError) {
        _ = try json { scanner throws(JSONError) in try scanner.skipValue() }
    }

    mutating func isAtString() throws(SyncLineError) -> Bool {
        try nextKind() == .string
    }

    mutating func isAtBool() throws(SyncLineError) -> Bool {
        try nextKind() == .bool
    }

    mutating func readString() throws(SyncLineError) -> String {
        try readToken().string
    }

    mutating func readText() throws(SyncLineError) -> TextRange {
        let token = try readToken()
        let start = text.writerIndex
        if text.storageCapacity == 0 {
            // The texts are never longer than the line, whose length has been checked.
            text.reserveCapacity(scanner.bytes.count)
        }
        token.append(to: &text)
        return TextRange(offset: start, count: text.writerIndex - start)
    }

    mutating func readDecimal() throws(SyncLineError) -> Int64 {
        let expectation = "a string of decimal digits up to 2^63 - 1"
        let token = try readToken(expectation)
        let value = token.hasEscapes ? OpID(decimalUTF8: token.unescapedBytes)?.rawValue : token.bytes.decimal
        guard let value else { throw invalidValue(expected: expectation) }
        return value
    }

    mutating func readOperationKind() throws(SyncLineError) -> SyncOperation.Kind {
        let token = try readToken(SyncOperation.Kind.expectation)
        let kind =
            token.hasEscapes
            ? ByteView.of(token.string) { SyncOperation.Kind(wireForm: $0) }
            : SyncOperation.Kind(wireForm: token.bytes)
        guard let kind else { throw invalidValue(expected: SyncOperation.Kind.expectation) }
        return kind
    }

    mutating func readBool() throws(SyncLineError) -> Bool {
        try require(.bool, "true or false")
        return try json { scanner throws(JSONError) in try scanner.readBool() }
    }

    mutating func readInteger() throws(SyncLineError) -> Int64 {
        try require(.number, "an integer")
        let token = try json { scanner throws(JSONError) in try scanner.readNumber() }
        guard let value = token.integer else { throw invalidValue(expected: "an integer") }
        return value
    }

    mutating func readWholeNumber() throws(SyncLineError) -> Int64 {
        try require(.number, "a whole number")
        let token = try json { scanner throws(JSONError) in try scanner.readNumber() }
        guard let value = token.integer ?? Int64(exactly: token.double) else {
            throw invalidValue(expected: "a whole number")
        }
        return value
    }

    func invalidValue(expected: String) -> SyncLineError {
        .invalidMember(member?.abbreviated ?? "line", expected: expected, offset: scanner.offset)
    }

    private mutating func readToken(_ expectation: String = "a string") throws(SyncLineError) -> JSONStringToken {
        try require(.string, expectation)
        return try json { scanner throws(JSONError) in try scanner.readString() }
    }

    private mutating func nextKind() throws(SyncLineError) -> JSONScanner.ValueKind {
        try json { scanner throws(JSONError) in try scanner.nextKind() }
    }

    private mutating func require(_ kind: JSONScanner.ValueKind, _ expectation: String) throws(SyncLineError) {
        guard try nextKind() == kind else { throw invalidValue(expected: expectation) }
    }

    private mutating func json<Result>(
        _ body: (inout JSONScanner) throws(JSONError) -> Result
    ) throws(SyncLineError) -> Result {
        do throws(JSONError) {
            return try body(&scanner)
        } catch {
            throw .json(error)
        }
    }
}
