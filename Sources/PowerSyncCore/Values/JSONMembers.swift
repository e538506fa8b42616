import PowerSyncProtocol

/// The members of one JSON object in the order of the bytes of their names.
///
/// Members are ranges of the text, and the lists are kept for the next object
/// unless they are large.
///
/// `@safe`: each range was found in the text, and what lends the text has a pointer in its interface, which marks its callers.
@safe struct JSONMembers {
    /// What becomes of members that are null.
    enum Nulls {
        case dropped
        case kept
    }

    /// Which of members with equal names counts.
    enum Duplicates {
        case last
        /// The one that the JSON functions of SQLite find.
        case first
    }

    private struct Member {
        /// Bytes of ``text``, or of ``unescapedNames``.
        var name: Range<Int>
        var hasUnescapedName: Bool
        /// Bytes of ``text``.
        var value: Range<Int>
    }

    private var text = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    private var members: [Member] = []
    /// The names that have escape sequences in ``text``, one after the other.
    private var unescapedNames: [UInt8] = []

    /// The size of the memory in bytes.
    var capacity: Int { members.capacity * MemoryLayout<Member>.stride + unescapedNames.capacity }

    /// The number of members.
    var count: Int { members.count }

    /// The text of a member's value.
    func value(_ index: Int) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: text[members[index].value])
    }

    /// Lends the name of a member, without escape sequences.
    func withName<Result>(_ index: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe Self.withName(of: members[index], text, unescapedNames, body)
    }

    /// Reads an object.
    ///
    /// `text` needs to stay in memory as long as the members are used.
    ///
    /// - Throws: `JSONError` when it is not a JSON object.
    mutating func read(
        _ text: UnsafeRawBufferPointer,
        nulls: Nulls,
        duplicates: Duplicates = .last
    ) throws(JSONError) {
        unsafe self.text = text
        members.removeAll(keepingCapacity: true)
        unescapedNames.removeAll(keepingCapacity: true)
        var scanner = unsafe JSONScanner(text)
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
        remove(duplicates, nulls)
    }

    /// Forgets the members.
    mutating func removeAll() {
        members.removeAll(keepingCapacity: true)
    }

    /// The member with a name, without escape sequences.
    ///
    /// - Complexity: O(log `count`).
    func firstIndex(named name: UnsafeRawBufferPointer) -> Int? {
        var (low, high) = (0, members.count)
        while low < high {
            let middle = (low + high) / 2
            let order = unsafe withName(middle) { unsafe JSONSlice.order($0, name) }
            if order == 0 { return middle }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    /// Frees the memory if it is larger than what is kept; there are no members then.
    mutating func giveUpLargeMemory() {
        guard capacity > JSONBytes.keptCapacity else { return }
        members = []
        unescapedNames = []
    }

    private mutating func sort() {
        let (text, names) = unsafe (text, unescapedNames)
        members.sort { lhs, rhs in
            let order = unsafe Self.withName(of: lhs, text, names) { lhsName in
                unsafe Self.withName(of: rhs, text, names) { unsafe JSONSlice.order(lhsName, $0) }
            }
            return order == 0 ? lhs.value.lowerBound < rhs.value.lowerBound : order < 0
        }
    }

    private mutating func remove(_ duplicates: Duplicates, _ nulls: Nulls) {
        var kept = 0
        for index in members.indices {
            switch duplicates {
            case .last where index + 1 < members.count && haveEqualNames(index, index + 1): continue
            case .first where kept > 0 && haveEqualNames(kept - 1, index): continue
            case .last, .first: break
            }
            // No other value starts with an n.
            if nulls == .dropped, unsafe text[members[index].value.lowerBound] == UInt8(ascii: "n") { continue }
            members[kept] = members[index]
            kept += 1
        }
        members.removeLast(members.count - kept)
    }

    private func haveEqualNames(_ lhs: Int, _ rhs: Int) -> Bool {
        unsafe withName(lhs) { name in unsafe withName(rhs) { unsafe JSONSlice.order(name, $0) == 0 } }
    }

    private static func withName<Result>(
        of member: Member,
        _ text: UnsafeRawBufferPointer,
        _ unescapedNames: [UInt8],
        _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        guard member.hasUnescapedName else { return unsafe body(UnsafeRawBufferPointer(rebasing: text[member.name])) }
        return unsafe unescapedNames.withUnsafeBytes { unsafe body(UnsafeRawBufferPointer(rebasing: $0[member.name])) }
    }
}
