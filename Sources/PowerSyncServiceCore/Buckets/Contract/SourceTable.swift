import Foundation
package import PowerSyncSyncConfig

/// A table as a source describes it at some moment.
package struct SourceTableDescriptor: Sendable, Hashable {
    /// A column of the replica identity.
    package struct IdentityColumn: Sendable, Hashable, Codable {
        /// The name.
        package var name: String
        /// The type, in the source's own words; only compared.
        package var type: String

        /// Creates a column.
        package init(name: String, type: String) {
            self.name = name
            self.type = type
        }
    }

    /// Schema and name.
    package var name: SourceTableName
    /// What the source knows the table by across renames (PostgreSQL: the OID).
    ///
    /// Changes when a table is recreated.
    package var relationID: String
    /// The columns that identify a row, in order: usually those of the primary key.
    package var identity: [IdentityColumn]
    /// The columns of the primary key, in order, if the change stream names rows by other columns (PostgreSQL: `REPLICA IDENTITY
    /// USING INDEX`); empty when ``identity`` is all that tells rows apart.
    ///
    /// A change of ``identity`` alone is one of the same row then, and a change of the primary key makes another row.
    package var primaryKey: [IdentityColumn]
    /// What rows that were copied depend on besides, each fact by the name that the log has for it, such as `publication`.
    ///
    /// The source chooses names and values, and alone reads the values. A table with another value is copied again. Empty for a
    /// source of which ``relationID`` changes with everything that matters.
    package var form: [String: String]
    /// The columns that the sync config reads and the table has, by name, each with what its values depend on, which is only compared
    /// (PostgreSQL: number and type).
    ///
    /// A part of a sync config depends on those that it reads. When one of them is another one, the rows are read again beside the
    /// change stream (``SourceTable/isOutdated``). Empty for a source of which ``relationID`` changes with every column.
    package var columns: [String: String]

    /// Creates a descriptor.
    package init(
        name: SourceTableName,
        relationID: String,
        identity: [IdentityColumn],
        primaryKey: [IdentityColumn] = [],
        form: [String: String] = [:],
        columns: [String: String] = [:]
    ) {
        self.name = name
        self.relationID = relationID
        self.identity = identity
        self.primaryKey = primaryKey
        self.form = form
        self.columns = columns
    }

    /// The name in ``form`` of what says by which columns the change stream names rows.
    package static let identityInForm = "replica identity"

    /// The name in ``form`` of what says with which changes the change stream has the rows.
    package static let optionsInForm = "publication options"

    /// The name in ``form`` of the table that this one is a part of: a partition, under the name of the whole.
    package static let wholeInForm = "part of"

    /// The name in ``form`` of ``references``.
    private static let referencesInForm = "foreign keys"

    /// The columns of foreign keys by which rows have to be found when rows of other tables change (``Cascade``), each list once and in
    /// its order.
    ///
    /// A row is kept under the values that it has in these columns, which rows of the source have; a table with others is copied again.
    package var references: [[String]] {
        get {
            guard let text = form[Self.referencesInForm] else { return [] }
            return (try? JSONDecoder().decode([[String]].self, from: Data(text.utf8))) ?? []
        }
        set {
            let text = newValue.isEmpty ? nil : try? JSONEncoder().encode(newValue)
            form[Self.referencesInForm] = text.map { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// Whether other tables may have the same name: the parts of one table.
    package var sharesName: Bool { form[Self.wholeInForm] != nil }

    /// What has made a table another one than it was, so that it is copied again.
    ///
    /// - Parameter earlier: A table that is, or was, in the place of this one.
    /// - Returns: Names of ``form`` in their order, or `another table`; those of ``columns`` if nothing else is another; none when the source
    ///   does not tell.
    package func changes(since earlier: SourceTableDescriptor) -> [String] {
        guard !form.isEmpty, !earlier.form.isEmpty else { return [] }
        guard relationID == earlier.relationID else { return ["another table"] }
        let facts = Set(form.keys).union(earlier.form.keys).filter { form[$0] != earlier.form[$0] }
        return facts.isEmpty ? changedColumns(since: earlier).sorted() : facts.sorted()
    }

    /// The names of columns that are others than they were, or that only one of the two has.
    func changedColumns(since earlier: SourceTableDescriptor) -> Set<String> {
        Set(columns.keys).union(earlier.columns.keys).filter { columns[$0] != earlier.columns[$0] }
    }

    /// Whether this is another table only in how the change stream tells of it, so that what is stored of its rows can be kept
    /// (``SourceTable/earlier``): it names rows by other columns, and the primary key tells the same ones apart, or the
    /// publication has got other options, by which it may have left out changes for a moment.
    package func hasSameRows(as earlier: SourceTableDescriptor) -> Bool {
        func rowKey(_ table: SourceTableDescriptor) -> [IdentityColumn] {
            table.primaryKey.isEmpty ? table.identity : table.primaryKey
        }
        guard rowKey(self) == rowKey(earlier) else { return false }
        var other = earlier
        // Another form of the same key may have been another key for a while.
        if identity != earlier.identity { other.form[Self.identityInForm] = form[Self.identityInForm] }
        (other.identity, other.primaryKey) = (identity, primaryKey)
        other.form[Self.optionsInForm] = form[Self.optionsInForm]
        return self == other
    }

    /// Whether rows that were copied of the other one are those of this one, but for values of ``columns``.
    package func isSame(as other: SourceTableDescriptor) -> Bool {
        var other = other
        other.columns = columns
        return self == other
    }
}

/// The columns of the identity, the form and the columns as storages keep them: JSON.
extension SourceTableDescriptor {
    /// Creates a descriptor from what a storage keeps.
    ///
    /// - Throws: ``BucketStorageError`` with code `corrupted`, which names the table.
    package init(
        name: SourceTableName,
        relationID: String,
        encodedIdentity: String,
        encodedForm: String,
        encodedColumns: String
    ) throws {
        func decode<Value: Decodable>(_ text: String, _ what: String) throws -> Value {
            do {
                return try JSONDecoder().decode(Value.self, from: Data(text.utf8))
            } catch {
                throw BucketStorageError(
                    .corrupted,
                    "The \(what) of \(name) in the bucket storage cannot be read.",
                    underlyingError: error
                )
            }
        }
        let stored: [StoredIdentityColumn] = try decode(encodedIdentity, "identity columns")
        self.init(
            name: name,
            relationID: relationID,
            identity: stored.filter { $0.isPrimaryKeyOnly != true }.map(\.column),
            primaryKey: stored.filter { $0.isPrimaryKeyOnly == true }.map(\.column),
            form: try decode(encodedForm, "form"),
            columns: try decode(encodedColumns, "columns")
        )
    }

    /// The identity as ``init(name:relationID:encodedIdentity:encodedForm:encodedColumns:)`` reads it.
    package func encodedIdentity() throws -> String {
        let stored =
            identity.map { StoredIdentityColumn(name: $0.name, type: $0.type) }
            + primaryKey.map { StoredIdentityColumn(name: $0.name, type: $0.type, isPrimaryKeyOnly: true) }
        return try Self.encode(stored)
    }

    /// A column of the identity, and after these those of the primary key, as storages keep them.
    private struct StoredIdentityColumn: Codable {
        var name: String
        var type: String
        /// Whether it is one of ``SourceTableDescriptor/primaryKey``.
        var isPrimaryKeyOnly: Bool?

        var column: IdentityColumn { IdentityColumn(name: name, type: type) }
    }

    /// The form as ``init(name:relationID:encodedIdentity:encodedForm:encodedColumns:)`` reads it, with its names in their order.
    package func encodedForm() throws -> String { try Self.encode(form) }

    /// The columns as ``init(name:relationID:encodedIdentity:encodedForm:encodedColumns:)`` reads them, in the order of their names.
    package func encodedColumns() throws -> String { try Self.encode(columns) }

    private static func encode(_ values: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(values), as: UTF8.self)
    }
}

/// The record that ties a source table to a replication stream (docs/service.md "Source tables").
package struct SourceTable: Sendable, Hashable {
    /// A random id.
    ///
    /// It is the first part of the subkey of operations, so a recreated table gets other subkeys.
    package var id: String
    /// The table that the record stands for.
    package var descriptor: SourceTableDescriptor
    /// Whether the table has been copied.
    package var isSnapshotDone: Bool
    /// Where an interrupted copy continues; of a complete copy, what its last chunk said.
    package var lastSnapshotKey: SnapshotKey?
    /// Whether rows that were copied have other values since, because columns that a part of a sync config reads are others now: they
    /// are read again beside the change stream.
    package var isOutdated: Bool
    /// How far the rows have been read beside the change stream, for a new part of a sync config or because they are outdated.
    package var fill: Fill?
    /// The record of the same table with another identity, from which rows are taken as they are met; `nil` when there is none.
    ///
    /// Both records are stored; that they belong together is found again by their descriptors (``ResolvedTable``).
    package var earlier: Earlier?

    /// The record of a table before its change stream named rows by other columns.
    package struct Earlier: Sendable, Hashable {
        /// The id of the record.
        package var id: String
        /// The names of the columns by which its rows are stored.
        package var identity: [String]

        /// Names a record.
        package init(_ table: SourceTable) {
            id = table.id
            identity = table.descriptor.identity.map(\.name)
        }
    }

    /// How far the rows of a table have been read beside the change stream.
    package struct Fill: Sendable, Hashable {
        /// The number of the newest config of the stream when this began: one that comes later needs all rows.
        package var configNumber: Int64
        /// Where reading continues.
        package var lastKey: SnapshotKey

        /// Describes how far rows have been read.
        package init(configNumber: Int64, lastKey: SnapshotKey) {
            self.configNumber = configNumber
            self.lastKey = lastKey
        }
    }

    /// Creates a record.
    package init(
        id: String,
        descriptor: SourceTableDescriptor,
        isSnapshotDone: Bool = false,
        lastSnapshotKey: SnapshotKey? = nil,
        isOutdated: Bool = false,
        fill: Fill? = nil
    ) {
        self.id = id
        self.descriptor = descriptor
        self.isSnapshotDone = isSnapshotDone
        self.lastSnapshotKey = lastSnapshotKey
        self.isOutdated = isOutdated
        self.fill = fill
    }
}

/// A position in the snapshot of a table, encoded by the source.
package struct SnapshotKey: RawRepresentable, Sendable, Hashable {
    /// The encoded key.
    package var rawValue: [UInt8]

    /// Creates a position from its encoding.
    package init(rawValue: [UInt8]) {
        self.rawValue = rawValue
    }
}
