/// The types of a server that are known.
///
/// It begins with the built-in types that values are converted from. Others are asked for when a table that has them is seen
/// first:
///
/// ```swift
/// var types = PostgresTypeRegistry()
/// let unknown = types.missing(among: columns.map(\.type))
/// if !unknown.isEmpty {
///     let rows = try await connection.query(PostgresTypeRegistry.discoveryQuery(serverVersion: 150_000), [unknown as oid[]])
///     try types.add(rows)
/// }
/// ```
///
/// A type that changes keeps its old description until the process starts again.
package struct PostgresTypeRegistry: Sendable {
    private var types: [PostgresOID: PostgresType]

    /// Creates a registry with the built-in types.
    package init() {
        types = Self.builtIn
    }

    /// The description of a type; `nil` for an unknown one, whose values are passed on as printed.
    package subscript(oid: PostgresOID) -> PostgresType? { types[oid] }

    /// The types that are to be asked for, each once and in order.
    package func missing(among oids: some Sequence<PostgresOID>) -> [PostgresOID] {
        Set(oids.filter { $0 != 0 && types[$0] == nil }).sorted()
    }

    /// Adds a type, or replaces its description.
    package mutating func add(_ type: PostgresType) {
        types[type.oid] = type
    }
}
