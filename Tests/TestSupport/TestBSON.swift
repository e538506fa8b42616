package import NIOCore
package import PowerSyncProtocol

/// Builds BSON documents from JSON values, so that a case written as JSON is tested in both forms, and from raw
/// elements, for documents that no writer makes.
package enum TestBSON {
    /// A document of the members of an object.
    ///
    /// Integers become int32 or int64, other numbers doubles.
    package static func document(_ object: JSONObject) -> ByteBuffer {
        document(of: object.members.map { element($0.name, $0.value) })
    }

    /// A document of elements that have been built before.
    package static func document(of elements: [ByteBuffer]) -> ByteBuffer {
        var content = ByteBuffer()
        for element in elements { content.writeImmutableBuffer(element) }
        var result = ByteBuffer()
        result.writeInteger(Int32(content.readableBytes + 5), endianness: .little)
        result.writeImmutableBuffer(content)
        result.writeInteger(0 as UInt8)
        return result
    }

    /// An element of any type with the bytes of its value.
    package static func element(_ name: String, type: UInt8, _ value: ByteBuffer) -> ByteBuffer {
        var result = ByteBuffer(integer: type)
        result.writeString(name)
        result.writeInteger(0 as UInt8)
        result.writeImmutableBuffer(value)
        return result
    }

    package static func element(_ name: String, _ value: ExactJSON) -> ByteBuffer {
        switch value {
        case .null: return element(name, type: 10, ByteBuffer())
        case .bool(let value): return element(name, type: 8, ByteBuffer(integer: value ? 1 : 0 as UInt8))
        case .integer(let value):
            guard let value = Int32(exactly: value) else {
                return element(name, type: 18, ByteBuffer(integer: value, endianness: .little))
            }
            return element(name, type: 16, ByteBuffer(integer: value, endianness: .little))
        case .double(let value):
            return element(name, type: 1, ByteBuffer(integer: value.bitPattern, endianness: .little))
        case .string(let value): return element(name, type: 2, string(value))
        case .array(let elements):
            let numbered = elements.enumerated().map { element(String($0.offset), $0.element) }
            return element(name, type: 4, document(of: numbered))
        case .object(let object): return element(name, type: 3, document(object))
        }
    }

    /// The value of a string element.
    package static func string(_ text: String) -> ByteBuffer {
        var result = ByteBuffer(integer: Int32(text.utf8.count + 1), endianness: .little)
        result.writeString(text)
        result.writeInteger(0 as UInt8)
        return result
    }
}
