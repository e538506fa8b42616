package import NIOCore

extension ExactJSON {
    /// Reads a BSON document as the JSON object that it stands for, for requests over RSocket.
    ///
    /// Documents and arrays, strings, numbers, booleans, null and undefined; when a name appears twice, the last value
    /// counts.
    ///
    /// - Throws: ``BSONError``; also for types that JSON does not have, for numbers that are not finite, and for more than
    ///   ``JSONScanner/maximumNesting`` documents inside each other.
    package init(bson: ByteBuffer) throws(BSONError) {
        self = try bson.withByteView { bytes throws(BSONError) in
            var reader = BSONReader(bytes)
            let value = try reader.readDocument(isArray: false, nesting: 1)
            try reader.finish()
            return value
        }
    }
}

extension BSONReader {
    fileprivate mutating func readDocument(isArray: Bool, nesting: Int) throws(BSONError) -> ExactJSON {
        guard nesting <= JSONScanner.maximumNesting else { throw BSONError(.nestingTooDeep, at: offset) }
        let document = try beginDocument()
        var object = JSONObject()
        var elements: [ExactJSON] = []
        while let (type, name) = try nextElement(in: document) {
            let nameOffset = offset
            let value = try readValue(of: type, nesting: nesting)
            if isArray {
                elements.append(value)
            } else {
                guard name.firstInvalidUTF8(in: 0..<name.count) == nil else {
                    throw BSONError(.invalidUTF8, at: nameOffset)
                }
                // Not by name, which would look through all members before.
                object.members.append(JSONObject.Member(name: name.string, value: value))
            }
        }
        return isArray ? .array(elements) : .object(object)
    }

    private mutating func readValue(of type: BSONElementType, nesting: Int) throws(BSONError) -> ExactJSON {
        let start = offset
        switch type {
        case .document: return try readDocument(isArray: false, nesting: nesting + 1)
        case .array: return try readDocument(isArray: true, nesting: nesting + 1)
        case .string: return .string(bytes[try readString()].string)
        case .bool: return .bool(try readBool())
        case .null, .undefined: return .null
        case .int32: return .integer(Int64(try readInteger(Int32.self)))
        case .int64: return .integer(try readInteger(Int64.self))
        case .double:
            let number = try readDouble()
            guard number.isFinite else { throw BSONError(.notJSON, at: start) }
            return .double(number)
        case .binary, .objectID, .dateTime, .timestamp: throw BSONError(.notJSON, at: start)
        }
    }
}
