package import NIOCore

extension ExactJSON {
    /// Reads JSON text.
    ///
    /// Integers that fit 64 bits stay integers; any other number becomes the nearest double. When a name appears twice
    /// in an object, the last value counts, at the place of the first.
    ///
    /// - Throws: ``JSONError`` with the offset of what is wrong.
    package init(parsing text: String) throws(JSONError) {
        self = try ByteView.of(text) { bytes throws(JSONError) in try ExactJSON(parsing: bytes) }
    }

    /// Reads the readable bytes of a buffer as JSON text; see ``init(parsing:)-(String)``.
    package init(
        parsing bytes: ByteBuffer,
        hugeNumbers: JSONScanner.HugeNumbers = .refused,
        halfPairs: JSONScanner.HalfPairs = .refused
    ) throws(JSONError) {
        self = try bytes.withByteView { bytes throws(JSONError) in
            try ExactJSON(parsing: bytes, hugeNumbers: hugeNumbers, halfPairs: halfPairs)
        }
    }

    /// Reads JSON text from bytes.
    package init(
        parsing bytes: ByteView,
        hugeNumbers: JSONScanner.HugeNumbers = .refused,
        halfPairs: JSONScanner.HalfPairs = .refused
    ) throws(JSONError) {
        var scanner = JSONScanner(bytes)
        scanner.hugeNumbers = hugeNumbers
        scanner.halfPairs = halfPairs
        self = try scanner.readValue()
        try scanner.finish()
    }
}

extension JSONObject {
    /// Reads the JSON text of an object; see ``ExactJSON/init(parsing:)-(String)``.
    ///
    /// - Throws: ``JSONError``, also when the text is a value of another kind.
    package init(
        parsing text: String,
        hugeNumbers: JSONScanner.HugeNumbers = .refused,
        halfPairs: JSONScanner.HalfPairs = .refused
    ) throws(JSONError) {
        self = try ByteView.of(text) { bytes throws(JSONError) in
            try JSONObject(parsing: bytes, hugeNumbers: hugeNumbers, halfPairs: halfPairs)
        }
    }

    /// Reads the readable bytes of a buffer as the JSON text of an object.
    package init(parsing bytes: ByteBuffer) throws(JSONError) {
        self = try bytes.withByteView { bytes throws(JSONError) in try JSONObject(parsing: bytes) }
    }

    /// Reads the JSON text of an object from bytes.
    package init(
        parsing bytes: ByteView,
        hugeNumbers: JSONScanner.HugeNumbers = .refused,
        halfPairs: JSONScanner.HalfPairs = .refused
    ) throws(JSONError) {
        var scanner = JSONScanner(bytes)
        scanner.hugeNumbers = hugeNumbers
        scanner.halfPairs = halfPairs
        self = try scanner.readObject()
        try scanner.finish()
    }
}

extension JSONScanner {
    /// Reads a value of any kind.
    package mutating func readValue() throws(JSONError) -> ExactJSON {
        switch try nextKind() {
        case .object: return .object(try readObject())
        case .array:
            var elements: [ExactJSON] = []
            try beginArray()
            while try nextElement() { elements.append(try readValue()) }
            return .array(elements)
        case .string: return .string(try readString().string)
        case .number:
            let token = try readNumber()
            return hugeNumbers == .infinite && token.integer == nil ? .double(token.double) : try token.value()
        case .bool: return .bool(try readBool())
        case .null:
            try readNull()
            return .null
        }
    }

    /// Reads an object.
    package mutating func readObject() throws(JSONError) -> JSONObject {
        var collector = MemberCollector()
        let replaces = replacesHalfPairs
        try beginObject()
        while let name = try nextMember(in: replaces) {
            collector.set(JSONObject.Member(name: name, value: try readValue()))
        }
        return JSONObject(members: collector.members)
    }
}
