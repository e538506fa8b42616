/// Reads a sync line from a BSON document.
///
/// Texts are ranges of the document.
struct BSONLineCursor: LineCursor {
    private var reader: BSONReader
    /// The type of the value that comes next.
    private var type = BSONElementType.document
    /// The name of the member that was entered last, for messages.
    private var member: MemberName?

    /// Creates a cursor at the start of a document.
    init(_ bytes: ByteView) {
        reader = BSONReader(bytes)
    }

    /// Checks that nothing follows.
    func finish() throws(SyncLineError) {
        do throws(BSONError) {
            try reader.finish()
        } catch {
            throw .bson(error)
        }
    }

    mutating func beginObject() throws(SyncLineError) -> BSONReader.Document {
        try require(.document, "an object")
        return try bson { reader throws(BSONError) in try reader.beginDocument() }
    }

    mutating func nextMember(in scope: BSONReader.Document) throws(SyncLineError) -> MemberName? {
        let element = try bson { reader throws(BSONError) in try reader.nextElement(in: scope) }
        guard let element else { return nil }
        type = element.type
        member = MemberName(element.name)
        return member
    }

    mutating func beginArray() throws(SyncLineError) -> BSONReader.Document {
        try require(.array, "an array")
        return try bson { reader throws(BSONError) in try reader.beginDocument() }
    }

    mutating func nextElement(in scope: BSONReader.Document) throws(SyncLineError) -> Bool {
        let element = try bson { reader throws(BSONError) in try reader.nextElement(in: scope) }
        guard let element else { return false }
        type = element.type
        return true
    }

    func skipNull() -> Bool {
        // Neither has a value.
        type == .null || type == .undefined
    }

    mutating func skipValue() throws(SyncLineError) {
        let type = type
        try bson { reader throws(BSONError) in try reader.skipValue(of: type) }
    }

    func isAtString() -> Bool {
        type == .string
    }

    func isAtBool() -> Bool {
        type == .bool
    }

    mutating func readString() throws(SyncLineError) -> String {
        reader.bytes[try readRange()].string
    }

    mutating func readText() throws(SyncLineError) -> TextRange {
        let range = try readRange()
        return TextRange(offset: range.lowerBound, count: range.count)
    }

    mutating func readDecimal() throws(SyncLineError) -> Int64 {
        let expectation = "a string of decimal digits up to 2^63 - 1"
        guard let value = reader.bytes[try readRange(expectation)].decimal else {
            throw invalidValue(expected: expectation)
        }
        return value
    }

    mutating func readOperationKind() throws(SyncLineError) -> SyncOperation.Kind {
        let bytes = reader.bytes[try readRange(SyncOperation.Kind.expectation)]
        guard let kind = SyncOperation.Kind(wireForm: bytes) else {
            throw invalidValue(expected: SyncOperation.Kind.expectation)
        }
        return kind
    }

    mutating func readBool() throws(SyncLineError) -> Bool {
        try require(.bool, "true or false")
        return try bson { reader throws(BSONError) in try reader.readBool() }
    }

    mutating func readInteger() throws(SyncLineError) -> Int64 {
        switch type {
        case .int32: return Int64(try bson { reader throws(BSONError) in try reader.readInteger(Int32.self) })
        case .int64: return try bson { reader throws(BSONError) in try reader.readInteger(Int64.self) }
        default: throw invalidValue(expected: "an integer")
        }
    }

    mutating func readWholeNumber() throws(SyncLineError) -> Int64 {
        guard type == .double else { return try readInteger() }
        let double = try bson { reader throws(BSONError) in try reader.readDouble() }
        guard let value = Int64(exactly: double) else { throw invalidValue(expected: "a whole number") }
        return value
    }

    func invalidValue(expected: String) -> SyncLineError {
        .invalidMember(member?.abbreviated ?? "line", expected: expected, offset: reader.offset)
    }

    private mutating func readRange(_ expectation: String = "a string") throws(SyncLineError) -> Range<Int> {
        try require(.string, expectation)
        return try bson { reader throws(BSONError) in try reader.readString() }
    }

    private func require(_ expected: BSONElementType, _ expectation: String) throws(SyncLineError) {
        guard type == expected else { throw invalidValue(expected: expectation) }
    }

    private mutating func bson<Result>(
        _ body: (inout BSONReader) throws(BSONError) -> Result
    ) throws(SyncLineError) -> Result {
        do throws(BSONError) {
            return try body(&reader)
        } catch {
            throw .bson(error)
        }
    }
}
