import PowerSyncProtocol

/// The members of an output row while it is put together from a column list in which names come twice.
///
/// A member that is set again keeps its first place. Bytes, and what the row lacks, are left out; the name is taken all
/// the same, so that what stood there before is not synced in their place.
struct OutputMembers {
    private var names: [String] = []
    /// The values; `nil` for what is left out.
    private var values: [SQLValue?] = []
    /// Positions by name, once there are too many names to look through.
    private var positions: [SQLValue: Int] = [:]

    /// How many names are looked through one by one.
    private static let scannedNames = 32

    /// Sets a member; without a value, or with bytes, it is left out.
    mutating func set(_ name: String, to value: SQLValue?) {
        let value: SQLValue? = if case .blob? = value { nil } else { value }
        if let index = position(of: name) {
            values[index] = value
        } else {
            remember(name)
            names.append(name)
            values.append(value)
        }
    }

    /// Sets a member, unless this name was set before.
    mutating func setIfMissing(_ name: String, to value: SQLValue?) {
        guard position(of: name) == nil else { return }
        set(name, to: value)
    }

    private func position(of name: String) -> Int? {
        guard names.count > Self.scannedNames else { return names.firstIndex { $0.hasSameBytes(as: name) } }
        return positions[.text(name)]
    }

    /// Prepares finding a name that is added next.
    private mutating func remember(_ name: String) {
        if names.count == Self.scannedNames {
            for (position, name) in names.enumerated() { positions[.text(name)] = position }
        }
        if names.count >= Self.scannedNames { positions[.text(name)] = names.count }
    }

    /// The row id: the member `id` as text.
    var id: String {
        guard let index = names.firstIndex(where: { $0.hasSameBytes(as: "id") }) else { return "" }
        return values[index]?.idText ?? ""
    }

    /// The JSON object.
    var json: String {
        var text: [UInt8] = []
        text.reserveCapacity(names.count * 24)
        text.append(UInt8(ascii: "{"))
        for (name, value) in zip(names, values) {
            guard let value else { continue }
            if text.count > 1 { text.append(UInt8(ascii: ",")) }
            JSONText.appendString(name, to: &text)
            text.append(UInt8(ascii: ":"))
            _ = value.appendJSON(to: &text)
        }
        text.append(UInt8(ascii: "}"))
        return String(decoding: text, as: UTF8.self)
    }
}
