/// A parameter index together with a key, as one unambiguous text.
///
/// The text is the scope of the index and the JSON array of the key, for example `0["u1",5]`. Numbers are normalised:
/// keys that are equal by `=` have the same text. It is unique inside one sync plan, not across plans.
package struct ParameterLookup: RawRepresentable, Sendable {
    /// The text; storage uses it as the key.
    package let rawValue: String

    /// Creates a lookup from its text.
    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Creates a lookup from an index and values that are already normalised.
    init(scope: ParameterIndex.ID, key: [SQLValue]) {
        var text = [UInt8](String(scope.rawValue).utf8)
        SQLValue.appendKeyArray(key, to: &text)
        self.init(rawValue: String(decoding: text, as: UTF8.self))
    }
}

extension ParameterLookup: Hashable {
    package static func == (lhs: ParameterLookup, rhs: ParameterLookup) -> Bool {
        lhs.rawValue.utf8.elementsEqual(rhs.rawValue.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        SQLValue.hash(rawValue, into: &hasher)
    }
}

extension ParameterLookup: CustomStringConvertible {
    package var description: String { rawValue }
}
