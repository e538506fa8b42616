/// A type of a PostgreSQL server, as its catalogue describes it.
package struct PostgresType: Sendable, Hashable {
    /// What the values of a type are made of.
    package enum Kind: Sendable, Hashable {
        /// A type of its own, with its own text form.
        case base
        /// One of some labels.
        case enumeration
        /// Another type, with conditions.
        case domain(over: PostgresOID)
        /// A list of values.
        ///
        /// - `delimiter`: The byte between elements: `,`, but `;` for `box`.
        case array(of: PostgresOID, delimiter: UInt8)
        /// A row: of `CREATE TYPE … AS`, or of a table.
        case composite([Field])
        /// An interval between two values.
        case range(of: PostgresOID)
        /// A list of ranges of this range type.
        case multirange(of: PostgresOID)
    }

    /// A column of a composite type.
    package struct Field: Sendable, Hashable {
        /// The name.
        package var name: String
        /// The type.
        package var type: PostgresOID

        /// Creates a column.
        package init(name: String, type: PostgresOID) {
            self.name = name
            self.type = type
        }
    }

    /// The number of the type.
    package var oid: PostgresOID
    /// The schema.
    package var schema: String
    /// The name.
    package var name: String
    /// What the values are made of.
    package var kind: Kind

    /// Creates a type.
    package init(oid: PostgresOID, schema: String, name: String, kind: Kind) {
        self.oid = oid
        self.schema = schema
        self.name = name
        self.kind = kind
    }

    /// Whether the server has the type from its first day: then it is the same on every server.
    package var isBuiltIn: Bool { oid < 16384 }
}
