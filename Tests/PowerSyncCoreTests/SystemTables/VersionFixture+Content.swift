import GRDB
import PowerSyncCoreTestSupport

@testable import PowerSyncCore

extension VersionFixture {
    /// The time of the last sync: as text, and in microseconds.
    static let lastSyncedAt = (text: "2025-03-05 14:58:09", microseconds: Int64(1_741_186_689_000_000))
    static let clientID = "0f1e2d3c-4b5a-4968-8776-655443322110"
    /// Entries of the upload queue as releases before 0.4.1 wrote them.
    static let entries = [
        #"{"op":"PUT","type":"lists","id":"l9","data":{"name":"new"}}"#,
        #"{"op":"PATCH","type":"lists","id":"l9","data":{"name":"newer"},"old":{"name":"new"},"metadata":"m"}"#,
    ]

    func recordVersions(_ db: Database) throws {
        for version in 1...version {
            try SystemTables.recordVersion(db, version)
        }
    }

    /// Data tables, our views with the triggers of the time, and what an application added.
    func createClientObjects(_ db: Database) throws {
        for table in ["lists", "todos"] {
            try db.execute(
                sql: """
                    CREATE TABLE "ps_data__\(table)"(id TEXT PRIMARY KEY NOT NULL, data TEXT);
                    CREATE VIEW "\(table)"("id", "name") AS SELECT id, CAST(json_extract(data, '$.name') as TEXT) \
                    FROM "ps_data__\(table)" -- powersync-auto-generated
                    """
            )
            try db.execute(
                sql: """
                    CREATE TRIGGER "ps_view_insert_\(table)" INSTEAD OF INSERT ON "\(table)" FOR EACH ROW BEGIN
                      INSERT INTO "ps_data__\(table)" SELECT NEW.id, json_object('name', NEW."name");
                      \(queueStatements(table).joined(separator: ";\n  "));
                    END
                    """
            )
        }
        try db.execute(
            sql: """
                CREATE TABLE "ps_data_local__drafts"(id TEXT PRIMARY KEY NOT NULL, data TEXT);
                CREATE TRIGGER welcome AFTER INSERT ON ps_data__lists WHEN NEW.id = 'parent' BEGIN
                  INSERT INTO lists(id, name) VALUES ('child', 'of ' || NEW.id);
                END;
                -- Left over from a table that is gone: SQLite refuses to rename tables and to drop columns now.
                CREATE VIEW leftover AS SELECT gone FROM missing;
                CREATE TRIGGER dangling AFTER DELETE ON ps_data__todos WHEN OLD.id = 'never' BEGIN
                  INSERT INTO missing VALUES (OLD.id);
                END;
                """
        )
    }

    /// What a trigger for inserts does apart from storing the row.
    private func queueStatements(_ table: String) -> [String] {
        let entry = "json_object('op', 'PUT', 'type', '\(table)', 'id', NEW.id, 'data', json_object('name', NEW.name))"
        let queue = "INSERT INTO powersync_crud_(data) VALUES (\(entry))"
        let pending = "9223372036854775807"
        switch version {
        case 1:
            return ["INSERT INTO ps_crud(data) VALUES (\(entry))"]
        case 2...4:
            return [
                queue,
                """
                INSERT INTO ps_oplog(bucket, op_id, op, row_type, row_id, hash, superseded) \
                SELECT '$local', 1, 'REMOVE', '\(table)', NEW.id, 0, 0
                """,
                """
                INSERT OR REPLACE INTO ps_buckets(name, pending_delete, last_op, target_op) \
                VALUES ('$local', 1, 0, \(pending))
                """,
            ]
        case 5...9:
            return [
                queue,
                "INSERT OR IGNORE INTO ps_updated_rows(row_type, row_id) VALUES ('\(table)', NEW.id)",
                "INSERT OR REPLACE INTO ps_buckets(name, last_op, target_op) VALUES ('$local', 0, \(pending))",
            ]
        default:
            return [
                """
                INSERT INTO powersync_crud(op, id, type, data) \
                VALUES ('PUT', NEW.id, '\(table)', json_object('name', NEW.name))
                """
            ]
        }
    }

    func insertRows(_ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO ps_data__lists VALUES ('l1', '{"name":"one"}'), ('l2', '{"name":"two"}'),
                  ('l9', '{"name":"newer"}'), ('orphan', '{}');
                INSERT INTO ps_data__todos VALUES ('t1', '{"name":"to do"}');
                INSERT INTO ps_data_local__drafts VALUES ('d1', '{}');
                INSERT INTO ps_untyped VALUES ('other', 'o1', '{"a":1}');
                """
        )
        try insertBuckets(db)
        try insertQueue(db)
        if version >= 3 {
            // The targets were left by an earlier way back from version 14.
            try db.execute(
                sql: """
                    INSERT INTO ps_kv VALUES ('foreign key', 'kept'),
                      ('target_checkpoint_request_id', 99), ('last_seen_checkpoint_request_id', 99),
                      ('last_applied_checkpoint_request_id', 99), ('last_requested_checkpoint_request_id', 9)
                    """
            )
        }
        try insertTimes(db)
    }

    private func insertBuckets(_ db: Database) throws {
        if version < 5 {
            try db.execute(
                sql: """
                    INSERT INTO ps_buckets(name, last_applied_op, last_op, add_checksum) VALUES ('b1', 5, 6, 7), ('b2', 0, 9, 1000);
                    INSERT INTO ps_buckets(name, last_applied_op, last_op, target_op, pending_delete) VALUES ('$local', 5, 6, 7, 1);
                    INSERT INTO ps_oplog(bucket, op_id, op, row_type, row_id, key, data, hash, superseded) VALUES
                      ('b2', 9, 4, 'todos', 't2', 'todos/t2/null', NULL, 5, 0),
                      ('b2', 3, 3, 'todos', 't1', 'todos/t1/null', '{"name":"to do"}', 3, 0),
                      ('b1', 6, 3, 'lists', 'l1', 'lists/l1/null', '{"name":"one"}', 11, 0),
                      ('b1', 2, 3, 'lists', 'l2', 'lists/l2/null', '{"name":"two"}', -6, 0),
                      ('b1', 1, 3, 'lists', 'l1', 'lists/l1/null', '{"name":"old"}', 100, 1),
                      ('b1', 5, 2, NULL, NULL, NULL, NULL, 40, 0),
                      ('$local', 1, 'REMOVE', 'lists', 'l9', NULL, NULL, 0, 0);
                    """
            )
            if version == 4 {
                try db.execute(
                    sql: """
                        UPDATE ps_buckets SET op_checksum = 145 WHERE name = 'b1';
                        UPDATE ps_buckets SET op_checksum = 8 WHERE name = 'b2';
                        """
                )
            }
            return
        }
        try db.execute(
            sql: """
                INSERT INTO ps_buckets(id, name, last_applied_op, last_op, add_checksum, op_checksum) VALUES
                  (4, 'b1', 5, 6, 147, 5), (7, 'b2', 0, 9, 1005, 3);
                INSERT INTO ps_buckets(name, last_applied_op, last_op, target_op, pending_delete) VALUES ('$local', 5, 6, 7, 1);
                INSERT INTO ps_oplog(bucket, op_id, row_type, row_id, key, data, hash) VALUES
                  (4, 2, 'lists', 'l2', 'lists/l2/null', '{"name":"two"}', -6),
                  (4, 6, 'lists', 'l1', 'lists/l1/null', '{"name":"one"}', 11),
                  (7, 3, 'todos', 't1', 'todos/t1/null', '{"name":"to do"}', 3);
                INSERT INTO ps_updated_rows VALUES ('todos', 't2'), ('lists', 'l9');
                """
        )
        if version >= 9 {
            try db.execute(sql: "UPDATE ps_buckets SET count_at_last = 2, count_since_last = 1 WHERE name = 'b1'")
        }
        if version >= 12 {
            try db.execute(sql: "UPDATE ps_buckets SET downloaded_size = 321 WHERE name = 'b1'")
        }
    }

    private func insertQueue(_ db: Database) throws {
        if version == 1 {
            try db.execute(
                sql: "INSERT INTO ps_crud(id, data) VALUES (41, ?), (42, ?)",
                arguments: StatementArguments(Self.entries)
            )
        } else {
            try db.execute(
                sql: "INSERT INTO ps_crud(id, tx_id, data) VALUES (41, 4, ?), (42, 4, ?)",
                arguments: StatementArguments(Self.entries)
            )
            try db.execute(sql: "UPDATE ps_tx SET next_tx = 5")
        }
    }

    private func insertTimes(_ db: Database) throws {
        switch version {
        case ...2:
            break
        case 3...6:
            try db.execute(sql: "INSERT INTO ps_kv VALUES ('last_synced_at', ?)", arguments: [Self.lastSyncedAt.text])
        case 7:
            try db.execute(
                sql: "INSERT INTO ps_sync_state VALUES (2147483647, '2025-01-01 00:00:00'), (2147483647, ?)",
                arguments: [Self.lastSyncedAt.text]
            )
        case 8...12:
            try db.execute(sql: "INSERT INTO ps_sync_state VALUES (2147483647, ?)", arguments: [Self.lastSyncedAt.text])
        default:
            try db.execute(
                sql: "INSERT INTO ps_sync_state VALUES (2147483647, ?)",
                arguments: [Self.lastSyncedAt.microseconds]
            )
        }
        if version >= 11 {
            let unit: Int64 = version >= 13 ? 1_000_000 : 1
            try db.execute(
                sql: """
                    INSERT INTO ps_stream_subscriptions(
                      id, stream_name, active, is_default, local_priority, local_params, ttl, expires_at, last_synced_at
                    ) VALUES (3, 's', 1, 0, 2, '{"a":1}', 60, ?, ?), (5, 'd', 1, 1, NULL, 'null', NULL, NULL, NULL)
                    """,
                arguments: [1_800_000_000 * unit, 1_700_000_000 * unit]
            )
        }
    }
}

extension LocalTestDatabase {
    /// A database in memory of an older version, not yet upgraded.
    init(version: Int, content: Bool = true) throws {
        queue = try DatabaseQueue(configuration: Configuration().forPowerSync())
        try queue.write { db in
            let fixture = VersionFixture(version: version)
            try content ? fixture.create(db) : fixture.createTables(db)
        }
    }

    /// A file, empty if it does not exist yet.
    init(path: String) throws {
        queue = try DatabaseQueue(path: path, configuration: Configuration().forPowerSync())
    }

    /// Upgrades the file as opening it does.
    func migrate() throws {
        try queue.write { try SystemTables.migrate($0) }
    }

    /// Takes the file to a version.
    func migrate(to version: Int) throws {
        try queue.write { try SystemTables.migrate($0, to: version) }
    }
}
