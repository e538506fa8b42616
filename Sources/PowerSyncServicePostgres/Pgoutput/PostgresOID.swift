/// The number by which a PostgreSQL server knows a relation or a type.
package struct PostgresOID: RawRepresentable, Hashable, Sendable {
    /// The number; 0 stands for none.
    package let rawValue: UInt32

    /// Creates an OID from its number.
    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Creates an OID from the text that a query returns; `nil` when it is not one.
    package init?(_ text: some StringProtocol) {
        guard let number = UInt32(text) else { return nil }
        rawValue = number
    }
}

extension PostgresOID: ExpressibleByIntegerLiteral {
    package init(integerLiteral value: UInt32) { self.init(rawValue: value) }
}

extension PostgresOID: Comparable {
    package static func < (lhs: PostgresOID, rhs: PostgresOID) -> Bool { lhs.rawValue < rhs.rawValue }
}

extension PostgresOID: CustomStringConvertible {
    package var description: String { String(rawValue) }
}
