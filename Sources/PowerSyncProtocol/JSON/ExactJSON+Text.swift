extension ExactJSON {
    /// The value as JSON text without white space, object members in their order.
    ///
    /// See ``JSONText`` for the form.
    package var text: String { written(.asStored) }

    /// The value as JSON text without white space, members of all objects sorted by the UTF-8 bytes of their names.
    ///
    /// Two values with equal canonical texts are the same value; duplicate names are left out except for the last.
    package var canonicalText: String { written(.sorted) }

    private func written(_ order: MemberOrder) -> String {
        var bytes: [UInt8] = []
        write(to: &bytes, order: order)
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension JSONObject {
    /// The object as JSON text without white space, members in their order.
    ///
    /// See ``JSONText`` for the form.
    package var text: String { ExactJSON.object(self).text }

    /// The object as JSON text without white space, members at all levels sorted by the UTF-8 bytes of their names.
    package var canonicalText: String { ExactJSON.object(self).canonicalText }

    /// The members sorted by the bytes of their names, of each name the last one.
    fileprivate var canonicalMembers: [Member] {
        // The sort is stable, so the last of equal names is the one that counts.
        let sorted = members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        return sorted.enumerated().compactMap { index, member in
            let isOverwritten =
                index + 1 < sorted.count && sorted[index + 1].name.utf8.elementsEqual(member.name.utf8)
            return isOverwritten ? nil : member
        }
    }
}

extension ExactJSON {
    enum MemberOrder {
        case asStored
        case sorted
    }

    /// Appends the value as JSON text.
    func write(to sink: inout some ByteSink, order: MemberOrder = .asStored) {
        switch self {
        case .null: sink.append("null" as StaticString)
        case .bool(let value): sink.append((value ? "true" : "false") as StaticString)
        case .integer(let value): sink.append(String(value))
        case .double(let value): sink.append(JSONText.number(value))
        case .string(let value): JSONText.append(string: value, to: &sink)
        case .array(let elements):
            sink.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { sink.append(UInt8(ascii: ",")) }
                element.write(to: &sink, order: order)
            }
            sink.append(UInt8(ascii: "]"))
        case .object(let object):
            sink.append(UInt8(ascii: "{"))
            for (index, member) in (order == .sorted ? object.canonicalMembers : object.members).enumerated() {
                if index > 0 { sink.append(UInt8(ascii: ",")) }
                JSONText.append(string: member.name, to: &sink)
                sink.append(UInt8(ascii: ":"))
                member.value.write(to: &sink, order: order)
            }
            sink.append(UInt8(ascii: "}"))
        }
    }
}
