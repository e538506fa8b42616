extension JSONObject {
    /// Sets members one after the other, each as the subscript does: one whose name is there already keeps its place.
    ///
    /// - Complexity: O(number of members of both), where the subscript would look through all members for each one.
    package mutating func merge(_ others: some Sequence<Member>) {
        var collector = MemberCollector(members)
        for member in others { collector.set(member) }
        members = collector.members
    }
}

/// Collects the members of an object: a name that comes again gets the new value at its old place.
///
/// Small objects are searched. Large ones have an index of their names, because looking through all members for each member
/// takes seconds for what fits into a request.
struct MemberCollector {
    /// From how many members on there is an index.
    private static let indexedFrom = 16

    private(set) var members: [JSONObject.Member]
    /// Where a name is, by its bytes; empty while the object is small.
    private var places: [[UInt8]: Int] = [:]

    /// Begins with members of which some may have the same name; the last of them is then the one that is replaced.
    init(_ members: [JSONObject.Member] = []) {
        self.members = members
        if members.count >= Self.indexedFrom { index() }
    }

    mutating func set(_ member: JSONObject.Member) {
        if let place = place(of: member.name) {
            members[place].value = member.value
            return
        }
        members.append(member)
        if members.count == Self.indexedFrom {
            index()
        } else if members.count > Self.indexedFrom {
            places[Array(member.name.utf8)] = members.count - 1
        }
    }

    private func place(of name: String) -> Int? {
        if members.count >= Self.indexedFrom { return places[Array(name.utf8)] }
        return members.lastIndex { $0.name.utf8.elementsEqual(name.utf8) }
    }

    private mutating func index() {
        for (place, member) in members.enumerated() { places[Array(member.name.utf8)] = place }
    }
}
