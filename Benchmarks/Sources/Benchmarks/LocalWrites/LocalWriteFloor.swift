import GRDB

/// What a C program would do to leave the same rows in the same tables as a write through a view.
///
/// Per row: the data row, `ps_crud`, `ps_updated_rows`. Per transaction: `ps_tx`, and the gate in `ps_kv` unless it is
/// closed. JSON is made by SQLite, once for each place where it is stored.
final class LocalWriteFloor {
    private let begin: PlainStatement
    private let commit: PlainStatement
    private let takeID: PlainStatement
    private let readID: PlainStatement
    private let readGate: PlainStatement
    private let closeGate: PlainStatement
    private let updated: PlainStatement
    private let insert: (data: PlainStatement, queue: PlainStatement)
    private let update: (data: PlainStatement, queue: PlainStatement)
    private let delete: (data: PlainStatement, queue: PlainStatement)

    /// Prepares the statements.
    init(_ db: PlainDatabase) throws {
        begin = try db.prepare("BEGIN IMMEDIATE")
        commit = try db.prepare("COMMIT")
        takeID = try db.prepare("UPDATE ps_tx SET next_tx = next_tx + 1 WHERE id = 1")
        readID = try db.prepare("SELECT next_tx FROM ps_tx WHERE id = 1")
        readGate = try db.prepare(
            """
            SELECT EXISTS (SELECT 1 FROM ps_kv WHERE key = 'target_checkpoint_request_id' AND value IS \(Int64.max))
            AND NOT EXISTS (SELECT 1 FROM ps_kv WHERE key = 'last_seen_checkpoint_request_id')
            AND NOT EXISTS (SELECT 1 FROM ps_kv WHERE key = 'last_applied_checkpoint_request_id')
            """
        )
        closeGate = try db.prepare(
            """
            INSERT INTO ps_kv(key, value) VALUES ('target_checkpoint_request_id', \(Int64.max))
            ON CONFLICT(key) DO UPDATE SET value = excluded.value
            """
        )
        updated = try db.prepare("INSERT OR IGNORE INTO ps_updated_rows(row_type, row_id) VALUES ('lists', ?1)")
        func queue(_ operation: String, _ data: String) throws -> PlainStatement {
            try db.prepare(
                """
                INSERT INTO ps_crud(tx_id, data)
                VALUES (?5, json_object('op', '\(operation)', 'id', ?1, 'type', 'lists'\(data)))
                """
            )
        }
        let object = "json_object('owner', ?2, 'number', ?3, 'title', ?4, 'done', 0)"
        insert = (
            try db.prepare("INSERT INTO ps_data__lists(id, data) VALUES (?1, \(object))"),
            try queue("PUT", ", 'data', \(object)")
        )
        update = (
            try db.prepare("UPDATE ps_data__lists SET data = json_set(data, '$.owner', ?2) WHERE id = ?1"),
            try queue("PATCH", ", 'data', json_object('owner', ?2)")
        )
        delete = (try db.prepare("DELETE FROM ps_data__lists WHERE id = ?1"), try queue("DELETE", ""))
    }

    /// Writes rows in one transaction.
    func write(_ operation: LocalWriteBenchmarks.Operation, _ rows: ArraySlice<Workload.Row>) throws {
        try begin.run()
        var transaction: Int64 = 0
        try takeID.run()
        try readID.run { transaction = $0.integer(at: 0) - 1 }
        let (data, queue) =
            switch operation {
            case .insert: insert
            case .update: update
            case .delete: delete
            }
        for row in rows {
            for statement in [data, queue] {
                statement.bind(row.id, at: 1)
                if operation == .delete { continue }
                statement.bind(operation == .insert ? "user-1" : "user-2", at: 2)
                if operation == .update { continue }
                statement.bind(1, at: 3)
                statement.bind(row.data, at: 4)
            }
            queue.bind(transaction, at: 5)
            updated.bind(row.id, at: 1)
            try data.run()
            try queue.run()
            try updated.run()
        }
        var isClosed = false
        try readGate.run { isClosed = $0.integer(at: 0) == 1 }
        if !isClosed { try closeGate.run() }
        try commit.run()
    }
}
