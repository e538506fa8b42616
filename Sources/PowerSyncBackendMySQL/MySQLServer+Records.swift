import PowerSyncBackend

// What is remembered of the writes of clients (docs/backend.md "Which writes were applied").
extension MySQLServer {
    /// The server has not returned the row that a statement stores.
    struct MissingRow: Error {}

    /// Makes the tables, unless they are there.
    func makeRecords() async throws {
        let isThere = try await query(
            """
            SELECT COUNT(*) FROM information_schema.TABLES
            WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ('_ps_upload_clients', '_ps_upload_writes')
            """
        )
        guard isThere.first?.first != "2" else { return }
        try await run(
            """
            CREATE TABLE IF NOT EXISTS _ps_upload_clients(
              id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
              client_key BINARY(32) NOT NULL UNIQUE,
              forgotten_through BIGINT NOT NULL,
              seen BIGINT NOT NULL
            ) ENGINE = InnoDB
            """
        )
        try await run(
            """
            CREATE TABLE IF NOT EXISTS _ps_upload_writes(
              client BIGINT NOT NULL,
              op_id BIGINT NOT NULL,
              digest BINARY(16) NOT NULL,
              PRIMARY KEY (client, op_id)
            ) ENGINE = InnoDB
            """
        )
    }

    func records(ofClient key: [UInt8], _ numbers: ClosedRange<Int64>, now: Int64) async throws -> ClientRecords {
        let key = "X'\(HexText.text(of: key))'"
        try await run(
            """
            INSERT INTO _ps_upload_clients(client_key, forgotten_through, seen) VALUES (\(key), \(Int64.min), \(now))
            ON DUPLICATE KEY UPDATE seen = \(now)
            """
        )
        let client = try await query(
            "SELECT id, forgotten_through FROM _ps_upload_clients WHERE client_key = \(key) FOR UPDATE"
        )
        guard let row = client.first, let id = row[0].flatMap({ Int64($0) }),
            let forgottenThrough = row[1].flatMap({ Int64($0) })
        else { throw MissingRow() }
        var digests: [Int64: [UInt8]] = [:]
        let rows = try await query(
            """
            SELECT op_id, HEX(digest) FROM _ps_upload_writes
            WHERE client = \(id) AND op_id BETWEEN \(numbers.lowerBound) AND \(numbers.upperBound)
            """
        )
        for row in rows {
            guard let number = row[0].flatMap({ Int64($0) }), let digest = row[1] else { continue }
            digests[number] = HexText.bytes(of: digest)
        }
        return ClientRecords(client: id, forgottenThrough: forgottenThrough, digests: digests)
    }

    func add(_ writes: [AppliedWrite], client: Int64) async throws {
        let rows = writes.map { "(\(client), \($0.operationID), X'\(HexText.text(of: $0.digest))')" }
        try await run(
            "INSERT INTO _ps_upload_writes(client, op_id, digest) VALUES \(rows.joined(separator: ", "))"
        )
    }

    func removeRecords(client: Int64, from number: Int64) async throws {
        try await run("DELETE FROM _ps_upload_writes WHERE client = \(client) AND op_id >= \(number)")
    }

    func forgetRecords(client: Int64, before head: Int64, keeping count: Int) async throws {
        let last = try await query(
            """
            SELECT MAX(w.op_id) FROM _ps_upload_writes AS w
            JOIN (SELECT op_id FROM _ps_upload_writes WHERE client = \(client) ORDER BY op_id DESC LIMIT 1 OFFSET \(count)) AS kept
              ON w.op_id <= kept.op_id
            WHERE w.client = \(client) AND w.op_id < \(head)
            """
        )
        guard let number = last.first?.first.flatMap({ $0.flatMap { Int64($0) } }) else { return }
        try await run("DELETE FROM _ps_upload_writes WHERE client = \(client) AND op_id <= \(number)")
        try await run(
            """
            UPDATE _ps_upload_clients SET forgotten_through = GREATEST(forgotten_through, \(number)) WHERE id = \(client)
            """
        )
    }

    /// Forgets clients altogether.
    func forgetClients(notSeenSince date: Int64) async throws -> Int {
        try await run("BEGIN")
        do {
            let clients = try await query("SELECT id FROM _ps_upload_clients WHERE seen < \(date) FOR UPDATE")
            let ids = clients.compactMap { $0[0] }.joined(separator: ", ")
            if !ids.isEmpty {
                try await run("DELETE FROM _ps_upload_writes WHERE client IN (\(ids))")
                try await run("DELETE FROM _ps_upload_clients WHERE id IN (\(ids))")
            }
            try await run("COMMIT")
            return clients.count
        } catch {
            do { try await run("ROLLBACK") } catch _ { throw error }
            throw error
        }
    }
}
