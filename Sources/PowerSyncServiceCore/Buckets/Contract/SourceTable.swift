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

    /// Creates a descriptor.
    package init(name: SourceTableName, relationID: String, identity: [IdentityColumn]) {
        self.name = name
        self.relationID = relationID
        self.identity = identity
    }
}

/// The columns of the identity as storages keep them: JSON.
extension SourceTableDescriptor {
    /// Creates a descriptor from what a storage keeps.
    ///
    /// - Throws: ``BucketStorageError`` with code `corrupted`, which names the table.
    package init(name: SourceTableName, relationID: String, encodedIdentity: String) throws {
        let identity: [IdentityColumn]
        do {
            identity = try JSONDecoder().decode([IdentityColumn].self, from: Data(encodedIdentity.utf8))
        } catch {
            throw BucketStorageError(
                .corrupted,
                "The identity columns of \(name) in the bucket storage cannot be read.",
                underlyingError: error
            )
        }
        self.init(name: name, relationID: relationID, identity: identity)
    }

    /// The identity as ``init(name:relationID:encodedIdentity:)`` reads it.
    package func encodedIdentity() throws -> String {
        String(decoding: try JSONEncoder().encode(identity), as: UTF8.self)
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

    /// Creates a record.
    package init(
        id: String,
        descriptor: SourceTableDescriptor,
        isSnapshotDone: Bool = false,
        lastSnapshotKey: SnapshotKey? = nil
    ) {
        self.id = id
        self.descriptor = descriptor
        self.isSnapshotDone = isSnapshotDone
        self.lastSnapshotKey = lastSnapshotKey
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
