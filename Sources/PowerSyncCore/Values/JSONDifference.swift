import PowerSyncProtocol

/// The difference of two JSON objects: `powersync_diff` (docs/database.md "JSON functions").
///
/// Members that are null count as missing. The result has the members of the new object that are missing or different
/// in the old one, and null for those that are only in the old one, ordered by the bytes of their names:
///
/// ```
/// {"a":0,"b":1}, {"a":null,"b":2}  →  {"a":null,"b":2}
/// ```
///
/// Every write through a view calls this. Members are therefore ranges of the arguments, all lists are kept between
/// calls unless they are large, and values are copied byte by byte.
final class JSONDifference {
    private(set) var old = JSONMembers()
    private(set) var new = JSONMembers()
    private(set) var output = JSONBytes()

    /// Computes the difference and lends its bytes.
    ///
    /// - Throws: `JSONError` when an argument is not a JSON object.
    func withDifference(
        from oldText: UnsafeRawBufferPointer,
        to newText: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(JSONError) {
        defer {
            old.giveUpLargeMemory()
            new.giveUpLargeMemory()
            output.giveUpLargeMemory()
        }
        try unsafe old.read(oldText, nulls: .dropped)
        try unsafe new.read(newText, nulls: .dropped)
        output.removeAll()
        output.append("{")
        var isFirst = true
        var oldIndex = 0
        var newIndex = 0
        while oldIndex < old.count || newIndex < new.count {
            let order = orderOfNames(oldIndex, newIndex)
            if order < 0 {
                try unsafe append(old, oldIndex, value: nil, &isFirst)
                oldIndex += 1
                continue
            }
            let value = unsafe new.value(newIndex)
            if unsafe order > 0 || !JSONSlice.areEqual(old.value(oldIndex), value) {
                try unsafe append(new, newIndex, value: value, &isFirst)
            }
            newIndex += 1
            oldIndex += order == 0 ? 1 : 0
        }
        output.append("}")
        unsafe output.withUnsafeBytes(body)
    }

    /// Whether these are the bytes of the last difference, which is remembered unless it is large.
    func wroteLast(_ bytes: UnsafeRawBufferPointer) -> Bool {
        unsafe !output.isEmpty && output.equals(bytes)
    }

    /// Which name comes first, where the end of a list comes after everything.
    private func orderOfNames(_ oldIndex: Int, _ newIndex: Int) -> Int {
        guard newIndex < new.count else { return -1 }
        guard oldIndex < old.count else { return 1 }
        return unsafe old.withName(oldIndex) { oldName in
            unsafe new.withName(newIndex) { unsafe JSONSlice.order(oldName, $0) }
        }
    }

    private func append(
        _ members: borrowing JSONMembers,
        _ index: Int,
        value: UnsafeRawBufferPointer?,
        _ isFirst: inout Bool
    ) throws(JSONError) {
        if !isFirst {
            output.append(",")
        }
        isFirst = false
        unsafe members.withName(index) { unsafe output.appendString($0) }
        output.append(":")
        if let value = unsafe value {
            // No other value starts with a digit or a sign.
            if unsafe value[0] < UInt8(ascii: ":") && value[0] > UInt8(ascii: "\"") {
                var scanner = unsafe JSONScanner(value)
                try scanner.readNumber().checkRange()
            }
            unsafe JSONSlice.append(value, to: &output)
        } else {
            output.append("null")
        }
    }
}
