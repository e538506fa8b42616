import Foundation
import GRDB
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// The `source_tables` of a stream.
extension SourceTable {
    /// The tables of a stream, in no particular order.
    static func all(of stream: ReplicationStreamID, _ db: Database) throws -> [SourceTable] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT id, relation_id, schema_name, table_name, identity_columns, snapshot_done, snapshot_last_key
                FROM source_tables WHERE stream = ?
                """,
            arguments: [stream.rawValue]
        )
        return try rows.map { row in
            let columns: String = row["identity_columns"]
            let name = SourceTableName(schema: row["schema_name"], name: row["table_name"])
            let identity: [SourceTableDescriptor.IdentityColumn]
            do {
                identity = try JSONDecoder().decode(
                    [SourceTableDescriptor.IdentityColumn].self,
                    from: Data(columns.utf8)
                )
            } catch {
                throw BucketStorageError(
                    .corrupted,
                    "The identity columns of \(name) in the bucket storage cannot be read.",
                    underlyingError: error
                )
            }
            return SourceTable(
                id: row["id"],
                descriptor: SourceTableDescriptor(name: name, relationID: row["relation_id"], identity: identity),
                isSnapshotDone: row["snapshot_done"],
                lastSnapshotKey: (row["snapshot_last_key"] as Data?).map { SnapshotKey(rawValue: Array($0)) }
            )
        }
    }

    /// Stores a new record.
    func insert(of stream: ReplicationStreamID, _ db: Database) throws {
        let identity = String(decoding: try JSONEncoder().encode(descriptor.identity), as: UTF8.self)
        try db.execute(
            sql: """
                INSERT INTO source_tables (id, stream, relation_id, schema_name, table_name, identity_columns)
                VALUES (?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                id, stream.rawValue, descriptor.relationID, descriptor.name.schema, descriptor.name.name, identity,
            ]
        )
    }
}
