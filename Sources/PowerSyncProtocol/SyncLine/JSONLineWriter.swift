/// Writes a sync line as JSON text, without the line feed at its end.
struct JSONLineWriter: LineWriter {
    /// The text so far.
    ///
    /// An array, since most pieces are shorter than what a write to a `ByteBuffer` costs.
    private(set) var output: [UInt8]
    /// Whether rows are strings.
    ///
    /// If not, their text becomes part of the line.
    let rawData: Bool
    private var needsComma = false

    init(capacity: Int, rawData: Bool) {
        output = []
        output.reserveCapacity(capacity)
        self.rawData = rawData
    }

    mutating func beginObject(_ name: StaticString?) {
        begin(name)
        open(UInt8(ascii: "{"))
    }

    mutating func beginObject(named name: String) {
        beginItem()
        JSONText.append(string: name, to: &output, lineBreaks: .escaped)
        output.append(UInt8(ascii: ":"))
        open(UInt8(ascii: "{"))
    }

    mutating func endObject() {
        close(UInt8(ascii: "}"))
    }

    mutating func beginArray(_ name: StaticString) {
        begin(name)
        open(UInt8(ascii: "["))
    }

    mutating func endArray() {
        close(UInt8(ascii: "]"))
    }

    mutating func write(_ name: StaticString?, _ value: String) {
        begin(name)
        JSONText.append(string: value, to: &output, lineBreaks: .escaped)
    }

    mutating func write(_ name: StaticString, literal value: StaticString) {
        begin(name)
        output.append(UInt8(ascii: "\""))
        output.append(value)
        output.append(UInt8(ascii: "\""))
    }

    mutating func write(_ name: StaticString, text: ByteView) {
        begin(name)
        JSONText.append(string: text, to: &output, lineBreaks: .escaped)
    }

    mutating func write(_ name: StaticString, row: ByteView) {
        begin(name)
        if rawData {
            JSONText.append(string: row, to: &output, lineBreaks: .escaped)
        } else {
            JSONText.append(json: row, to: &output)
        }
    }

    mutating func write(_ name: StaticString, _ value: Int64) {
        begin(name)
        output.append(String(value))
    }

    mutating func write(_ name: StaticString, checksum value: Int64) {
        write(name, value)
    }

    mutating func write(_ name: StaticString, _ value: Bool) {
        begin(name)
        output.append((value ? "true" : "false") as StaticString)
    }

    mutating func writeNull(_ name: StaticString) {
        begin(name)
        output.append("null" as StaticString)
    }

    private mutating func begin(_ name: StaticString?) {
        beginItem()
        guard let name else { return }
        output.append(UInt8(ascii: "\""))
        output.append(name)
        output.append("\":" as StaticString)
    }

    private mutating func beginItem() {
        if needsComma { output.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    private mutating func open(_ bracket: UInt8) {
        output.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        output.append(bracket)
        needsComma = true
    }
}
