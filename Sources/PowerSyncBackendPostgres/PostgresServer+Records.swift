import PowerSyncBackend

// What is remembered of the writes of clients (docs/backend.md "Which writes were applied").
extension PostgresServer {
    /// The server has not returned the row that a statement stores.
    struct MissingRow: Error {}

    /// Makes the tables, unless they are there.
    func makeRecords() async throws {
        let isThere = try await query("SELECT (to_regclass('_ps_upload_writes') IS NOT NULL)::text")
        guard isThere.first?.first != "true" else { return }
        try await run("BEGIN")
        do {
            // Of two at the same time, one would fail.
            try await run("SELECT pg_advisory_xact_lock(7319004531)")
            try await run(
                """
                CREATE TABLE IF NOT EXISTS _ps_upload_clients(
                  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                  client_key bytea NOT NULL UNIQUE,
                  forgotten_through bigint NOT NULL,
                  seen bigint NOT NULL
                )
                """
            )
            try await run(
                """
                CREATE TABLE IF NOT EXISTS _ps_upload_writes(
                  client bigint NOT NULL,
                  op_id bigint NOT NULL,
                  digest bytea NOT NULL,
                  PRIMARY KEY (client, op_id)
                )
                """
            )
            try await run("COMMIT")
        } catch {
            do { try await run("ROLLBACK") } catch _ { throw error }
            throw error
        }
    }

    func records(ofClient key: [UInt8], _ numbers: ClosedRange<Int64>, now: Int64) async throws -> ClientRecords {
        let client = try await query(
            """
            INSERT INTO _ps_upload_clients(client_key, forgotten_through, seen)
            VALUES (decode($1::text, 'hex'), \(Int64.min), \(now))
            ON CONFLICT (client_key) DO UPDATE SET seen = excluded.seen
            RETURNING id::text, forgotten_through::text
            """,
            [HexText.text(of: key)]
        )
        guard let row = client.first, let id = row[0].flatMap({ Int64($0) }),
            let forgottenThrough = row[1].flatMap({ Int64($0) })
        else { throw MissingRow() }
        var digests: [Int64: [UInt8]] = [:]
        let rows = try await query(
            """
            SELECT op_id::text, encode(digest, 'hex') FROM _ps_upload_writes
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
        try await query(
            """
            INSERT INTO _ps_upload_writes(client, op_id, digest)
            SELECT \(client), u.op_id, decode(u.digest, 'hex')
            FROM unnest($1::text::bigint[], $2::text::text[]) AS u(op_id, digest)
            """,
            [
                ArrayText.text(of: writes.map { String($0.operationID) }),
                ArrayText.text(of: writes.map { HexText.text(of: $0.digest) }),
            ]
        )
    }

    func removeRecords(client: Int64, from number: Int64) async throws {
        try await query("DELETE FROM _ps_upload_writes WHERE client = \(client) AND op_id >= \(number)")
    }

    func forgetRecords(client: Int64, before head: Int64, keeping count: Int) async throws {
        try await query(
            """
            WITH last AS (
              SELECT max(op_id) AS op_id FROM _ps_upload_writes WHERE client = \(client) AND op_id < \(head) AND op_id <= (
                SELECT op_id FROM _ps_upload_writes WHERE client = \(client) ORDER BY op_id DESC LIMIT 1 OFFSET \(count)
              )
            ), gone AS (
              DELETE FROM _ps_upload_writes AS w USING last WHERE w.client = \(client) AND w.op_id <= last.op_id
            )
            UPDATE _ps_upload_clients AS c SET forgotten_through = greatest(c.forgotten_through, last.op_id)
            FROM last WHERE c.id = \(client) AND last.op_id IS NOT NULL
            """
        )
    }

    /// Forgets clients altogether.
    func forgetClients(notSeenSince date: Int64) async throws -> Int {
        let count = try await query(
            """
            WITH gone AS (DELETE FROM _ps_upload_clients WHERE seen < \(date) RETURNING id),
              writes AS (DELETE FROM _ps_upload_writes USING gone WHERE client = gone.id)
            SELECT count(*)::text FROM gone
            """
        )
        return count.first?.first.flatMap { $0.flatMap { Int($0) } } ?? 0
    }
}
