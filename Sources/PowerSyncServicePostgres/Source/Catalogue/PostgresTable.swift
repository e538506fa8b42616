import Foundation
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// A table that is replicated, as the catalogue describes it.
struct PostgresTable: Sendable, Hashable {
    /// A column that is replicated.
    struct Column: Sendable, Hashable {
        /// The name.
        var name: String
        /// The type.
        var type: PostgresOID
        /// Whether it is part of the identity of rows.
        var isInIdentity: Bool
        /// Whether it is part of the primary key of a table whose rows are named by another index.
        var isInPrimaryKey = false
        /// How a column of a key is compared.
        var equality = Equality()

        /// The name for queries.
        var quotedName: String { PostgresText.identifier(name) }
    }

    /// How a column is compared with values that are asked for.
    struct Equality: Sendable, Hashable {
        /// The operator, with its schema: the connection sees none but those of the system (``PostgresSession``).
        var operation = "="
        /// Whether the column can be compared with an array of values.
        var takesArrays = true
        /// The type that the server has to be told; `nil` when it finds out.
        var cast: String?
    }

    /// A table with partitions.
    struct Whole: Sendable, Hashable {
        /// The number of the relation.
        var oid: PostgresOID
        /// Schema and name.
        var name: SourceTableName

        /// Reads what ``PostgresPublication/wholes`` returns: an array of number, schema and name for each; none of NULL.
        static func all(in text: String?) -> [Whole] {
            guard let text, let found = try? JSONDecoder().decode([[String]].self, from: Data(text.utf8)) else {
                return []
            }
            return found.compactMap { names in
                guard names.count == 3, let oid = PostgresOID(names[0]) else { return nil }
                return Whole(oid: oid, name: SourceTableName(schema: names[1], name: names[2]))
            }
        }
    }

    /// The number of the relation.
    var oid: PostgresOID
    /// Schema and name.
    var name: SourceTableName
    /// The table of which this one is a partition, and under whose name its rows are synced; `nil` for a table of its own.
    var whole: Whole?
    /// Whether it has partitions whose changes are published as its own (`publish_via_partition_root`).
    var hasPartitions = false
    /// The columns, in the order of their numbers.
    var columns: [Column]
    /// Which rows are published; `nil` for all.
    ///
    /// An expression for `WHERE`.
    var rowFilter: String?
    /// Whether all columns together tell rows apart, as with REPLICA IDENTITY FULL and no primary key.
    var isIdentityFull: Bool
    /// Changes whenever rows that have been copied may no longer be what clients should have, whatever columns are read.
    var fingerprint: TableFingerprint
    /// The columns that a stream reads, by name, with their numbers and types.
    var readColumns: [String: String] = [:]
    /// The columns of the key that are not replicated: they are generated, or the publication leaves them out.
    ///
    /// What is left of the key does not tell rows apart: such a table is not replicated.
    var unreplicatedKey: [String] = []
    /// Whether a column of the primary key is not replicated, so that what is left of it tells nothing.
    var lacksPrimaryKey = false

    /// The name under which its rows are synced.
    var syncedName: SourceTableName { whole?.name ?? name }

    /// Whether some columns are a key: never NULL, of types that can be compared.
    var hasKey: Bool { !isIdentityFull && columns.contains(where: \.isInIdentity) }

    /// Whether a column is part of a key: not when all columns are the identity.
    func isKey(_ column: Column) -> Bool { column.isInIdentity && !isIdentityFull }

    /// Adds the next column of the table.
    mutating func add(_ column: Column, isReplicated: Bool) {
        if isReplicated {
            columns.append(column)
        } else {
            if isKey(column) { unreplicatedKey.append(column.name) }
            if column.isInPrimaryKey { lacksPrimaryKey = true }
        }
    }

    /// The columns of the primary key, if the change stream names rows by another index.
    private var primaryKey: [Column] { lacksPrimaryKey ? [] : columns.filter(\.isInPrimaryKey) }

    /// The columns that tell rows apart.
    ///
    /// A table without a key has all columns: its rows are only inserted and truncated.
    var identity: [Column] {
        let identity = columns.filter(\.isInIdentity)
        return identity.isEmpty ? columns : identity
    }

    /// The table as the replicator knows it.
    ///
    /// - Parameter options: How values are written; other ways make other rows.
    /// - Returns: The descriptor.
    func descriptor(_ options: SourceValueOptions) -> SourceTableDescriptor {
        var form = fingerprint.form
        form[SourceTableDescriptor.valuesInForm] = options.code
        form[SourceTableDescriptor.wholeInForm] = whole.map { "\($0.oid)" }
        return SourceTableDescriptor(
            name: syncedName,
            relationID: "\(oid)",
            identity: identity.map { .init(name: $0.name, type: "\($0.type)") },
            primaryKey: primaryKey.map { .init(name: $0.name, type: "\($0.type)") },
            form: form,
            columns: readColumns
        )
    }

    /// The key by which the table is copied in parts, if it has one column of a type with an order that texts keep.
    var copyKey: Column? {
        guard identity.count == 1, columns.contains(where: \.isInIdentity) else { return nil }
        return identity.first { Self.orderedTypes.contains($0.type) }
    }

    /// `int8`, `int2`, `int4`, `text`, `varchar`, `uuid`.
    private static let orderedTypes: Set<PostgresOID> = [20, 21, 23, 25, 1043, 2950]

    // MARK: SQL

    /// The table for `FROM` and `LOCK TABLE`: without tables that inherit from it, and with its partitions.
    var rowSource: String { hasPartitions ? name.quoted : "ONLY \(name.quoted)" }

    /// The columns for queries.
    var columnList: String { columns.map(\.quotedName).joined(separator: ", ") }

    /// The conditions of a query, with those of the publication.
    func conditions(_ others: [String]) -> String {
        let all = others + (rowFilter.map { ["(\($0))"] } ?? [])
        return all.isEmpty ? "" : "WHERE \(all.joined(separator: " AND "))"
    }
}

extension SourceTableName {
    /// The name for queries.
    var quoted: String { "\(PostgresText.identifier(schema)).\(PostgresText.identifier(name))" }
}

extension SourceTableDescriptor {
    /// The number of the relation; `nil` for a table of another source.
    var oid: PostgresOID? { PostgresOID(relationID) }
}
