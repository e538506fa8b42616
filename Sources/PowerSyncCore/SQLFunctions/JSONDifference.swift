import PowerSyncProtocol

/// The difference of two JSON objects: `powersync_diff` (`database.md` 14).
///
/// Members that are null count as missing. The result has the members of the new object that are missing or different
/// in the old one, and null for those that are only in the old one, ordered by the bytes of their names:
///
/// ```
/// {"a":0,"b":1}, {"a":null,"b":2}  →  {"a":null,"b":2}
/// ```
///
/// Every write through a view calls this. Members are therefore ranges of the arguments, all lists are kept between
/// calls, and values are copied byte by byte.
final class JSONDifference {
    private var old = JSONMembers()
    private var new = JSONMembers()
    private var output = JSONBytes()

    /// Computes the difference and lends its bytes.
    ///
    /// - Throws: `JSONError` when an argument is not a JSON object.
    func withDifference(
        from oldText: UnsafeRawBufferPointer,
        to newText: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(JSONError) {
        try old.read(oldText)
        try new.read(newText)
        output.removeAll()
        output.append("{")
        var isFirst = true
        var oldIndex = 0
        var newIndex = 0
        while oldIndex < old.count || newIndex < new.count {
            let order = orderOfNames(oldIndex, newIndex)
            if order < 0 {
                append(old, oldIndex, value: nil, &isFirst)
                oldIndex += 1
                continue
            }
            let value = new.value(newIndex)
            if order > 0 || !JSONSlice.areEqual(old.value(oldIndex), value) {
                append(new, newIndex, value: value, &isFirst)
            }
            newIndex += 1
            oldIndex += order == 0 ? 1 : 0
        }
        output.append("}")
        output.withUnsafeBytes(body)
    }

    /// Which name comes first, where the end of a list comes after everything.
    private func orderOfNames(_ oldIndex: Int, _ newIndex: Int) -> Int {
        guard newIndex < new.count else { return -1 }
        guard oldIndex < old.count else { return 1 }
        return old.withName(oldIndex) { oldName in
            new.withName(newIndex) { JSONSlice.order(oldName, $0) }
        }
    }

    private func append(
        _ members: borrowing JSONMembers,
        _ index: Int,
        value: UnsafeRawBufferPointer?,
        _ isFirst: inout Bool
    ) {
        if !isFirst {
            output.append(",")
        }
        isFirst = false
        members.withName(index) { output.appendString($0) }
        output.append(":")
        if let value {
            JSONSlice.append(value, to: &output)
        } else {
            output.append("null")
        }
    }
}

/// The members of one JSON object by the bytes of their names, without nulls.
///
/// Of equal names the last one counts.
private struct JSONMembers {
    private struct Member {
        /// Bytes of ``text``, or of ``unescapedNames``.
        var name: Range<Int>
        var hasUnescapedName: Bool
        /// Bytes of ``text``.
        var value: Range<Int>
    }

    private var text = UnsafeRawBufferPointer(start: nil, count: 0)
    private var members: [Member] = []
    /// The names that have escape sequences in ``text``, one after the other.
    private var unescapedNames: [UInt8] = []

    var count: Int { members.count }

    func value(_ index: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: text[members[index].value])
    }

    func withName<Result>(_ index: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        Self.withName(of: members[index], text, unescapedNames, body)
    }

    /// Reads an object.
    ///
    /// `text` needs to stay in memory as long as the members are used.
    mutating func read(_ text: UnsafeRawBufferPointer) throws(JSONError) {
        self.text = text
        members.removeAll(keepingCapacity: true)
        unescapedNames.removeAll(keepingCapacity: true)
        var scanner = JSONScanner(text)
        try scanner.beginObject()
        while let name = try scanner.nextMember() {
            var range = name.offset..<name.offset + name.bytes.count
            if name.hasEscapes {
                let start = unescapedNames.count
                unescapedNames.append(contentsOf: name.unescapedBytes)
                range = start..<unescapedNames.count
            }
            let value = try scanner.skipValue()
            members.append(Member(name: range, hasUnescapedName: name.hasEscapes, value: value))
        }
        try scanner.finish()
        sort()
        removeDuplicatesAndNulls()
    }

    private mutating func sort() {
        let (text, names) = (text, unescapedNames)
        members.sort { lhs, rhs in
            let order = Self.withName(of: lhs, text, names) { lhsName in
                Self.withName(of: rhs, text, names) { JSONSlice.order(lhsName, $0) }
            }
            return order == 0 ? lhs.value.lowerBound < rhs.value.lowerBound : order < 0
        }
    }

    private mutating func removeDuplicatesAndNulls() {
        var kept = 0
        for index in members.indices {
            let isLast = index + 1 == members.count
            if !isLast, withName(index, { name in withName(index + 1) { JSONSlice.order(name, $0) == 0 } }) { continue }
            // No other value starts with an n.
            guard text[members[index].value.lowerBound] != UInt8(ascii: "n") else { continue }
            members[kept] = members[index]
            kept += 1
        }
        members.removeLast(members.count - kept)
    }

    private static func withName<Result>(
        of member: Member,
        _ text: UnsafeRawBufferPointer,
        _ unescapedNames: [UInt8],
        _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        guard member.hasUnescapedName else { return body(UnsafeRawBufferPointer(rebasing: text[member.name])) }
        return unescapedNames.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[member.name])) }
    }
}
