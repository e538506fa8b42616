/// Writes a sync line as a BSON document, with the element types that other clients expect (docs/protocol.md "BSON").
///
/// Integers are int32 where they fit. Otherwise checksums are doubles, which is how services written in JavaScript send
/// them, and everything else is int64.
struct BSONLineWriter: LineWriter {
    /// A document or an array that is open.
    private struct Container {
        /// The index of its length, which is written when it is closed.
        let start: Int
        /// The name of the next element of an array.
        var nextIndex = 0
    }

    /// The document so far.
    ///
    /// An array, since most pieces are shorter than what a write to a `ByteBuffer` costs.
    private(set) var output: [UInt8]
    private var containers: [Container] = []

    init(capacity: Int) {
        output = []
        output.reserveCapacity(capacity)
    }

    mutating func beginObject(_ name: StaticString?) {
        // The line itself has neither type nor name.
        if !containers.isEmpty { beginElement(.document, name) }
        open()
    }

    mutating func beginObject(named name: String) {
        output.append(BSONElementType.document.rawValue)
        // A name ends at its first zero, whatever follows.
        output.append(String(name.prefix { $0 != "\0" }))
        output.append(0 as UInt8)
        open()
    }

    mutating func endObject() {
        close()
    }

    mutating func beginArray(_ name: StaticString) {
        beginElement(.array, name)
        open()
    }

    mutating func endArray() {
        close()
    }

    mutating func write(_ name: StaticString?, _ value: String) {
        ByteView.of(value) { writeString(name, $0) }
    }

    mutating func write(_ name: StaticString, literal value: StaticString) {
        unsafe writeString(
            name,
            ByteView(UnsafeRawBufferPointer(start: value.utf8Start, count: value.utf8CodeUnitCount))
        )
    }

    mutating func write(_ name: StaticString, text: ByteView) {
        writeString(name, text)
    }

    mutating func write(_ name: StaticString, row: ByteView) {
        writeString(name, row)
    }

    mutating func write(_ name: StaticString, _ value: Int64) {
        if let value = Int32(exactly: value) {
            beginElement(.int32, name)
            append(value)
        } else {
            beginElement(.int64, name)
            append(value)
        }
    }

    mutating func write(_ name: StaticString, checksum value: Int64) {
        if Int32(exactly: value) != nil {
            write(name, value)
        } else {
            beginElement(.double, name)
            append(Double(value).bitPattern)
        }
    }

    mutating func write(_ name: StaticString, _ value: Bool) {
        beginElement(.bool, name)
        output.append(value ? 1 : 0)
    }

    mutating func writeNull(_ name: StaticString) {
        beginElement(.null, name)
    }

    private mutating func writeString(_ name: StaticString?, _ value: ByteView) {
        beginElement(.string, name)
        // Storage limits rows to 15 MB, so that lengths fit by far; clamping keeps a mistake from stopping a service.
        append(Int32(clamping: value.count + 1))
        output.append(value)
        output.append(0 as UInt8)
    }

    private mutating func beginElement(_ type: BSONElementType, _ name: StaticString?) {
        output.append(type.rawValue)
        if let name {
            output.append(name)
        } else if let last = containers.indices.last {
            output.append(String(containers[last].nextIndex))
            containers[last].nextIndex += 1
        }
        output.append(0 as UInt8)
    }

    private mutating func open() {
        containers.append(Container(start: output.count))
        append(0 as Int32)
    }

    private mutating func close() {
        output.append(0 as UInt8)
        guard let container = containers.popLast() else { return }
        let length = Int32(clamping: output.count - container.start)
        for index in 0..<4 {
            output[container.start + index] = UInt8(truncatingIfNeeded: length >> (8 * Int32(index)))
        }
    }

    private mutating func append(_ integer: some FixedWidthInteger) {
        var rest = integer
        for _ in 0..<integer.bitWidth / 8 {
            output.append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
    }
}
