import GRDB
import PowerSyncProtocol
import TestSupport

@testable import PowerSyncCore

/// Rows as syncing and local writes leave them, different for every seed.
struct RandomContent {
    static let schema = ClientSchema(
        tables: ["lists", "todos"].map {
            ClientTable(name: $0, columns: [ClientColumn(name: "name", type: .text)])
        }
    )

    private var generator: SeededGenerator

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
    }

    mutating func insert(into database: LocalTestDatabase) throws {
        try database.queue.write { try insertBuckets($0) }
        // Some transactions of local writes, and the head of the queue is uploaded.
        for number in 0..<5 {
            try database.queue.write { try writeLocally($0, transaction: number) }
        }
        try database.queue.write { db in
            try insertGate(db)
            try insertTimes(db)
        }
    }

    private mutating func insertBuckets(_ db: Database) throws {
        var opID: Int64 = 0
        for bucket in 1...4 {
            var checksum = Checksum.zero
            for _ in 0..<generator.number(below: 8) {
                opID += 1
                let table = ["lists", "todos", "unknown"][generator.number(below: 3)]
                let hash = Checksum(UInt32.random(in: 0 ... .max, using: &generator))
                checksum += hash
                let data = #"{"name":"'\#(generator.number(below: 100))' é"}"#
                try db.execute(
                    sql: """
                        INSERT INTO ps_oplog(bucket, op_id, row_type, row_id, key, data, hash) VALUES (?, ?, ?, ?, ?, ?, ?)
                        """,
                    arguments: [bucket, opID, table, "r\(opID)", "\(table)/r\(opID)/null", data, Int64(hash.signed)]
                )
                if table == "unknown" {
                    try db.execute(
                        sql: "INSERT INTO ps_untyped VALUES (?, ?, ?)",
                        arguments: [table, "r\(opID)", data]
                    )
                } else {
                    try db.execute(sql: "INSERT INTO ps_data__\(table) VALUES (?, ?)", arguments: ["r\(opID)", data])
                }
            }
            try db.execute(
                sql: """
                    INSERT INTO ps_buckets(id, name, last_applied_op, last_op, add_checksum, op_checksum, count_at_last,
                      count_since_last, downloaded_size) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                arguments: [
                    bucket, #"\#(5 - bucket)#lists["é'"]"#, generator.number(below: 5), opID,
                    Int64(UInt32.random(in: 0 ... .max, using: &generator)), Int64(checksum.rawValue),
                    generator.number(below: 100), generator.number(below: 100), generator.number(below: 100_000),
                ]
            )
        }
        try db.execute(sql: "INSERT INTO ps_updated_rows VALUES ('lists', 'removed'), ('gone', 'x/y')")
    }

    private mutating func writeLocally(_ db: Database, transaction: Int) throws {
        for write in 0...generator.number(below: 3) {
            let id = "local\(transaction).\(write)"
            try db.execute(sql: "INSERT INTO todos(id, name) VALUES (?, ?)", arguments: [id, "x\(transaction)"])
            if generator.number(below: 2) == 0 {
                try db.execute(sql: "UPDATE todos SET name = NULL WHERE id = ?", arguments: [id])
            }
        }
        if generator.number(below: 3) == 0 {
            try db.execute(sql: "DELETE FROM ps_crud WHERE id = (SELECT min(id) FROM ps_crud)")
        }
    }

    private mutating func insertGate(_ db: Database) throws {
        try db.execute(sql: "INSERT INTO ps_kv VALUES ('last_requested_checkpoint_request_id', 11), ('swift_x', 'y')")
        guard generator.number(below: 2) == 0 else { return }
        try LocalWriteGate.setTarget(db, WriteCheckpoint(Int64(1 + generator.number(below: 20))))
        try LocalWriteGate.setLastSeen(db, WriteCheckpoint(Int64(1 + generator.number(below: 20))))
        try LocalWriteGate.setLastApplied(db, WriteCheckpoint(Int64(1 + generator.number(below: 20))))
    }

    private mutating func insertTimes(_ db: Database) throws {
        func time() -> Int64 { Int64.random(in: 1_600_000_000_000_000...1_900_000_000_000_000, using: &generator) }
        for priority in [0, 1, 2, 3, 2_147_483_647] where priority > 3 || generator.number(below: 2) == 0 {
            try db.execute(sql: "INSERT INTO ps_sync_state VALUES (?, ?)", arguments: [priority, time()])
        }
        for stream in 0..<generator.number(below: 5) {
            let isExplicit = generator.number(below: 2) == 0
            try db.execute(
                sql: """
                    INSERT INTO ps_stream_subscriptions(stream_name, active, is_default, local_priority, local_params, ttl,
                      expires_at, last_synced_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                arguments: [
                    "s\(stream)", generator.number(below: 2), generator.number(below: 2), isExplicit ? 1 : nil,
                    #"{"a":\#(stream)}"#, isExplicit ? 60 : nil, isExplicit ? time() : nil, time(),
                ]
            )
        }
    }
}

/// The rows of a file of the current version, as far as they survive in a file of an older one.
struct Snapshot {
    private(set) var rows: [String: [String]] = [:]

    init(_ database: LocalTestDatabase, keptBy version: Int) throws {
        rows["data"] =
            try database.rows("SELECT 'lists', id, data FROM ps_data__lists ORDER BY id")
            + database.rows("SELECT 'todos', id, data FROM ps_data__todos ORDER BY id")
            + database.rows("SELECT type, id, data FROM ps_untyped ORDER BY type, id")
        rows["ps_crud"] = try database.rows("SELECT id, data\(version >= 2 ? ", tx_id" : "") FROM ps_crud ORDER BY id")
        rows["sqlite_sequence"] = try database.rows("SELECT name, seq FROM sqlite_sequence WHERE name = 'ps_crud'")
        rows["ps_updated_rows"] = try database.rows("SELECT row_type, row_id FROM ps_updated_rows ORDER BY 1, 2")
        rows["ps_oplog"] = try database.rows(
            """
            SELECT ps_buckets.name, op_id, row_type, row_id, key, data, hash
            FROM ps_oplog JOIN ps_buckets ON ps_buckets.id = ps_oplog.bucket ORDER BY 1, 2
            """
        )
        rows["ps_buckets"] = try database.rows(
            """
            SELECT \(version >= 5 ? "id, " : "")name, last_applied_op, last_op, add_checksum, op_checksum, pending_delete
              \(version >= 9 ? ", count_at_last, count_since_last" : "")\(version >= 12 ? ", downloaded_size" : "")
            FROM ps_buckets ORDER BY name
            """
        )
        if version >= 2 { rows["ps_tx"] = try database.rows("SELECT * FROM ps_tx") }
        if version >= 3 {
            rows["ps_kv"] = try database.rows(
                """
                SELECT key, value FROM ps_kv
                WHERE key IN ('client_id', 'swift_x', 'last_requested_checkpoint_request_id') ORDER BY key
                """
            )
        }
        // Versions before 5 cannot tell a known target from a pending one: going there closes the gate.
        rows["gate"] =
            version >= 5
            ? try database.rows(
                """
                SELECT key, value FROM ps_kv WHERE key GLOB '*_checkpoint_request_id' AND key NOT GLOB 'last_requested*'
                ORDER BY key
                """
            )
            : try database.rows("SELECT 'pending', count(*) FROM ps_kv WHERE key = 'target_checkpoint_request_id'")
        // Whole seconds before version 13; the complete sync only before version 7.
        let unit = version >= 13 ? 1 : 1_000_000
        if version >= 3 {
            rows["ps_sync_state"] = try database.rows(
                """
                SELECT priority, last_synced_at / \(unit) FROM ps_sync_state
                WHERE \(version >= 7 ? "true" : "priority = 2147483647") ORDER BY 1
                """
            )
        }
        if version >= 11 {
            rows["ps_stream_subscriptions"] = try database.rows(
                """
                SELECT id, stream_name, active, is_default, local_priority, local_params, ttl, expires_at / \(unit),
                  last_synced_at / \(unit)
                FROM ps_stream_subscriptions ORDER BY id
                """
            )
        }
    }
}
