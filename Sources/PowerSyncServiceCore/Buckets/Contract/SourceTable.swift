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
    /// What rows that were copied depend on besides, each fact by the name that the log has for it, such as `publication`.
    ///
    /// The source chooses names and values, and alone reads the values. A table with another value is copied again. Empty for a
    /// source of which ``relationID`` changes with everything that matters.
    package var form: [String: String]

    /// Creates a descriptor.
    package init(
        name: SourceTableName,
        relationID: String,
        identity: [IdentityColumn],
        form: [String: String] = [:]
    ) {
        self.name = name
        self.relationID = relationID
        self.identity = identity
        self.form = form
    }

    /// The name in ``form`` of the table that this one is a part of: a partition, under the name of the whole.
    package static let wholeInForm = "part of"

    /// Whether other tables may have the same name: the parts of one table.
    package var sharesName: Bool { form[Self.wholeInForm] != nil }

    /// What has made a table another one than it was, so that it is copied again.
    ///
    /// - Parameter earlier: A table that is, or was, in the place of this one.
    /// - Returns: Names of ``form`` in their order, or `another table`; none when the source does not tell.
    package func changes(since earlier: SourceTableDescriptor) -> [String] {
        guard !form.isEmpty, !earlier.form.isEmpty else { return [] }
        guard relationID == earlier.relationID else { return ["another table"] }
        return Set(form.keys).union(earlier.form.keys).filter { form[$0] != earlier.form[$0] }.sorted()
    }
}

/// The columns of the identity and the form as storages keep them: JSON.
extension SourceTableDescriptor {
    /// Creates a descriptor from what a storage keeps.
    ///
    /// - Throws: ``BucketStorageError`` with code `corrupted`, which names the table.
    package init(name: SourceTableName, relationID: String, encodedIdentity: String, encodedForm: String) throws {
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
        self.init(
            name: name,
            relationID: relationID,
            identity: try decode(encodedIdentity, "identity columns"),
            form: try decode(encodedForm, "form")
        )
    }

    /// The identity as ``init(name:relationID:encodedIdentity:encodedForm:)`` reads it.
    package func encodedIdentity() throws -> String {
        String(decoding: try JSONEncoder().encode(identity), as: UTF8.self)
    }

    /// The form as ``init(name:relationID:encodedIdentity:encodedForm:)`` reads it, with its names in their order.
    package func encodedForm() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(form), as: UTF8.self)
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
