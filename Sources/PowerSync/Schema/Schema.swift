import PowerSyncCore

/// The tables of an app.
public protocol SchemaProtocol: Sendable {
    /// The tables that the SDK manages.
    var tables: [Table] { get }
    /// Checks the tables.
    func validate() throws
}

/// The tables of an app.
///
/// ```swift
/// let schema = Schema(
///     Table(name: "lists", columns: [.text("name"), .text("owner_id")]),
///     Table(name: "todos", columns: [.text("list_id"), .text("description")])
/// )
/// ```
public struct Schema: SchemaProtocol {
    /// The tables that the SDK manages.
    public let tables: [Table]

    /// Creates a schema of a list of tables.
    public init(tables: [Table]) {
        self.tables = tables
    }

    /// Creates a schema of tables.
    ///
    /// Without arguments the schema is empty.
    ///
    /// - Precondition: Each argument is a ``Table``.
    public init(_ tables: any BaseTableProtocol...) {
        self.init(
            tables: tables.map { table in
                guard let table = table as? Table else {
                    preconditionFailure("A schema cannot hold \(table.name), a table of type \(type(of: table)).")
                }
                return table
            }
        )
    }

    /// Checks that no two tables share a name, then each table on its own.
    ///
    /// - Throws: ``SchemaError`` or ``TableError`` with the first problem found.
    public func validate() throws {
        var names: Set<ExactText> = []
        for table in tables {
            guard names.insert(ExactText(table.name)).inserted else {
                throw SchemaError.duplicateTableName(table.name)
            }
        }
        for table in tables {
            try table.validate()
        }
    }
}

extension Schema: Encodable {
    private enum CodingKeys: String, CodingKey {
        case tables
        case rawTables = "raw_tables"
    }

    /// Encodes `{"tables":[…],"raw_tables":[]}`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(tables, forKey: .tables)
        _ = container.nestedUnkeyedContainer(forKey: .rawTables)
    }
}
