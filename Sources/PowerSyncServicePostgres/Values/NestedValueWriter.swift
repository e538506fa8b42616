import PowerSyncProtocol
import PowerSyncSyncConfig

/// Writes values that are made of others as JSON.
///
/// ```
/// array        {1,NULL,3}             [1,null,3]
///              [2:3]={{a},{"b c"}}    [["a"],["b c"]]
/// composite    (1,"b ""c""",)         {"x":1,"y":"b \"c\"","z":null}
/// range        [1,5)                  {"lower":1,"upper":5,"lower_exclusive":0,"upper_exclusive":1}
///              empty                  "empty"
/// multirange   {[1,3),[5,7)}          [{…},{…}]
/// line         {1,-1,0}               [1.0,-1.0,0.0]
/// ```
///
/// A part is quoted as often as it is deep, so it is unquoted level by level.
struct NestedValueWriter {
    /// Why a value has no JSON.
    enum Failure: Error {
        /// More levels than ``PostgresValueDecoder/maximumNesting``.
        case nestedTooDeep
        /// Not what PostgreSQL prints for the type.
        case unparsed
    }

    /// Whether a date became `null` because of its year.
    private(set) var hasLostYears = false
    private var output: [UInt8] = []
    private let forms: ValueForms
    private let scalars: ScalarDecoder

    init(forms: ValueForms, scalars: ScalarDecoder) {
        self.forms = forms
        self.scalars = scalars
    }

    /// What has been written.
    var json: String { String(decoding: output, as: UTF8.self) }

    /// Writes a value.
    ///
    /// - Parameters:
    ///   - text: Its text, without quotes of what it is a part of.
    ///   - form: Its form.
    ///   - depth: How many values it is inside of.
    /// - Throws: ``Failure``; what has been written is of no use then.
    mutating func write(_ text: ByteView, _ form: ValueForm, depth: Int) throws(Failure) {
        switch form {
        case .array(let element, let delimiter):
            var reader = NestedValueReader(text)
            try reader.skipBounds()
            try writeArray(&reader, of: forms[element], delimiter: delimiter, depth: depth + 1)
            guard reader.isAtEnd else { throw .unparsed }
        case .composite(let members):
            try writeComposite(text, members, depth: depth + 1)
        case .range(let bound):
            var reader = NestedValueReader(text)
            try writeRange(&reader, of: forms[bound], depth: depth + 1)
            guard reader.isAtEnd else { throw .unparsed }
        case .multirange(let range):
            try writeMultirange(text, of: range, depth: depth + 1)
        case .line:
            try writeLine(text, depth: depth + 1)
        case .json:
            text.append(to: &output)
        default:
            switch scalars.value(of: text, form) {
            case .value(let value):
                // Bytes have no form in JSON.
                if !value.appendJSON(to: &output) { append("null") }
            case .yearOutOfRange:
                hasLostYears = true
                append("null")
            case .unreadable: throw .unparsed
            }
        }
    }

    private mutating func write(_ part: NestedValueReader.Part, _ form: ValueForm, depth: Int) throws(Failure) {
        switch part {
        case .null: append("null")
        case .plain(let text): try write(text, form, depth: depth)
        case .unescaped(let bytes):
            try bytes.withByteView { (text) throws(Failure) in try write(text, form, depth: depth) }
        }
    }

    private func enter(_ depth: Int) throws(Failure) {
        guard depth <= PostgresValueDecoder.maximumNesting else { throw .nestedTooDeep }
    }

    private mutating func append(_ text: StaticString) {
        unsafe output.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    // MARK: Kinds

    private mutating func writeArray(
        _ reader: inout NestedValueReader,
        of form: ValueForm,
        delimiter: UInt8,
        depth: Int
    ) throws(Failure) {
        try enter(depth)
        try reader.expect(UInt8(ascii: "{"))
        append("[")
        if !reader.skip(UInt8(ascii: "}")) {
            var isFirst = true
            repeat {
                if !isFirst { append(",") }
                isFirst = false
                if reader.next == UInt8(ascii: "{") {
                    try writeArray(&reader, of: form, delimiter: delimiter, depth: depth + 1)
                } else {
                    try write(try reader.element(delimiter: delimiter), form, depth: depth)
                }
            } while reader.skip(delimiter)
            try reader.expect(UInt8(ascii: "}"))
        }
        append("]")
    }

    private mutating func writeComposite(
        _ text: ByteView,
        _ members: [ValueForm.Member],
        depth: Int
    ) throws(Failure) {
        try enter(depth)
        var reader = NestedValueReader(text)
        try reader.expect(UInt8(ascii: "("))
        append("{")
        var isFirst = true
        for (position, member) in members.enumerated() {
            if position > 0 { try reader.expect(UInt8(ascii: ",")) }
            let part = try reader.field()
            let form = forms[member.form]
            // Bytes are left out, as they are left out of rows.
            if case .bytes = form, !part.isNull { continue }
            if !isFirst { append(",") }
            isFirst = false
            output.append(contentsOf: member.key)
            try write(part, form, depth: depth)
        }
        try reader.expect(UInt8(ascii: ")"))
        guard reader.isAtEnd else { throw .unparsed }
        append("}")
    }

    private mutating func writeRange(
        _ reader: inout NestedValueReader,
        of form: ValueForm,
        depth: Int
    ) throws(Failure) {
        try enter(depth)
        if reader.skip("empty") {
            append("\"empty\"")
            return
        }
        let lowerExclusive = try reader.choose(UInt8(ascii: "["), UInt8(ascii: "("))
        append("{\"lower\":")
        try write(try reader.bound(), form, depth: depth)
        try reader.expect(UInt8(ascii: ","))
        append(",\"upper\":")
        try write(try reader.bound(), form, depth: depth)
        let upperExclusive = try reader.choose(UInt8(ascii: "]"), UInt8(ascii: ")"))
        append(lowerExclusive ? ",\"lower_exclusive\":1" : ",\"lower_exclusive\":0")
        append(upperExclusive ? ",\"upper_exclusive\":1}" : ",\"upper_exclusive\":0}")
    }

    private mutating func writeMultirange(_ text: ByteView, of range: ValueForm.Index, depth: Int) throws(Failure) {
        try enter(depth)
        guard case .range(let bound) = forms[range] else { throw .unparsed }
        var reader = NestedValueReader(text)
        try reader.expect(UInt8(ascii: "{"))
        append("[")
        if !reader.skip(UInt8(ascii: "}")) {
            var isFirst = true
            repeat {
                if !isFirst { append(",") }
                isFirst = false
                try writeRange(&reader, of: forms[bound], depth: depth + 1)
            } while reader.skip(UInt8(ascii: ","))
            try reader.expect(UInt8(ascii: "}"))
        }
        guard reader.isAtEnd else { throw .unparsed }
        append("]")
    }

    private mutating func writeLine(_ text: ByteView, depth: Int) throws(Failure) {
        try enter(depth)
        var reader = NestedValueReader(text)
        try writeArray(&reader, of: .real, delimiter: UInt8(ascii: ","), depth: depth)
        guard reader.isAtEnd else { throw .unparsed }
    }
}

extension ByteView {
    /// Appends the bytes to an array.
    func append(to output: inout [UInt8]) {
        unsafe output.append(contentsOf: pointer(to: 0..<count))
    }
}

extension [UInt8] {
    /// Calls `body` with a view of the bytes.
    func withByteView<Failure: Error>(_ body: (ByteView) throws(Failure) -> Void) throws(Failure) {
        let outcome: Result<Void, Failure> = unsafe withUnsafeBytes { bytes in
            do throws(Failure) {
                return unsafe .success(try body(ByteView(bytes)))
            } catch {
                return .failure(error)
            }
        }
        try outcome.get()
    }
}
