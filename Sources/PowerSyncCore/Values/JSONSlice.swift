import PowerSyncProtocol

/// Comparing and copying JSON values that a ``JSONScanner`` has found well-formed.
enum JSONSlice {
    /// Negative, zero or positive as `lhs` comes before, is, or comes after `rhs`, byte by byte.
    static func order(_ lhs: UnsafeRawBufferPointer, _ rhs: UnsafeRawBufferPointer) -> Int {
        for index in 0..<min(lhs.count, rhs.count) where unsafe lhs[index] != rhs[index] {
            return unsafe lhs[index] < rhs[index] ? -1 : 1
        }
        return lhs.count - rhs.count
    }

    /// Whether two values have the same type and value.
    ///
    /// `1` and `1.0` differ, `1.0` and `1.00` do not. Strings are equal by their bytes, without Unicode normalisation;
    /// objects without regard to the order of members.
    static func areEqual(_ lhs: UnsafeRawBufferPointer, _ rhs: UnsafeRawBufferPointer) -> Bool {
        if unsafe order(lhs, rhs) == 0 {
            return true
        }
        var lhsScanner = unsafe JSONScanner(lhs)
        var rhsScanner = unsafe JSONScanner(rhs)
        // What was scanned once does not throw now.
        guard let kind = try? lhsScanner.nextKind(), let other = try? rhsScanner.nextKind(), kind == other else {
            return false
        }
        switch kind {
        case .null, .bool:
            return false
        case .number:
            guard let lhs = try? lhsScanner.readNumber(), let rhs = try? rhsScanner.readNumber() else { return false }
            // Integers of equal value have equal texts.
            return !lhs.isInteger && !rhs.isInteger && lhs.double == rhs.double
        case .string:
            guard let lhs = try? lhsScanner.readString(), let rhs = try? rhsScanner.readString() else { return false }
            return (lhs.hasEscapes || rhs.hasEscapes) && lhs.unescapedBytes == rhs.unescapedBytes
        case .object, .array:
            guard let lhs = unsafe canonicalText(lhs), let rhs = unsafe canonicalText(rhs) else { return false }
            return lhs.utf8.elementsEqual(rhs.utf8)
        }
    }

    /// Appends a value without white space, with canonical escape sequences.
    ///
    /// Numbers keep their text.
    static func append(_ value: UnsafeRawBufferPointer, to output: inout JSONBytes) {
        var scanner = unsafe JSONScanner(value)
        switch unsafe value.first {
        case UInt8(ascii: "\""):
            guard let string = try? scanner.readString(), string.hasEscapes else { return unsafe output.append(value) }
            unsafe string.unescapedBytes.withUnsafeBytes { unsafe output.appendString($0) }
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            // Triggers write scalars only, so this may be slow.
            guard let text = unsafe canonicalText(value) else { return unsafe output.append(value) }
            output.append(text)
        default:
            unsafe output.append(value)
        }
    }

    private static func canonicalText(_ value: UnsafeRawBufferPointer) -> String? {
        try? unsafe ExactJSON(parsing: String(decoding: value, as: UTF8.self)).canonicalText
    }
}
