import Foundation
import GRDB
import PowerSyncSQLite
import PowerSyncUpload

/// Which writes of a client are in the database already (docs/backend.md "Which writes were applied").
///
/// ```sql
/// CREATE TABLE _ps_upload_clients(
///   id INTEGER PRIMARY KEY,
///   user TEXT NOT NULL,                 -- the `sub` claim
///   client TEXT NOT NULL,               -- the id of the client's database
///   forgotten_through INTEGER NOT NULL, -- the greatest number that was removed from _ps_upload_writes
///   seen INTEGER NOT NULL,              -- when it uploaded last, in seconds since 1970
///   UNIQUE (user, client)
/// );
/// CREATE TABLE _ps_upload_writes(
///   client INTEGER NOT NULL,            -- _ps_upload_clients.id
///   op_id INTEGER NOT NULL,
///   digest BLOB NOT NULL,               -- the first half of the SHA-256 of what was written
///   PRIMARY KEY (client, op_id)
/// ) WITHOUT ROWID
/// ```
struct AppliedWrites {
    private var records: ClientRecords

    /// Makes the tables, unless they are there.
    static func createTables(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS _ps_upload_clients(
                  id INTEGER PRIMARY KEY,
                  user TEXT NOT NULL,
                  client TEXT NOT NULL,
                  forgotten_through INTEGER NOT NULL,
                  seen INTEGER NOT NULL,
                  UNIQUE (user, client)
                );
                CREATE TABLE IF NOT EXISTS _ps_upload_writes(
                  client INTEGER NOT NULL,
                  op_id INTEGER NOT NULL,
                  digest BLOB NOT NULL,
                  PRIMARY KEY (client, op_id)
                ) WITHOUT ROWID
                """
        )
    }

    /// Reads what is known about the writes of a request, and notes that the client was here.
    ///
    /// - Parameters:
    ///   - user: The id of the user.
    ///   - clientID: The id of the client's database.
    ///   - entries: The writes, not empty.
    ///   - now: In seconds since 1970.
    ///   - db: The writer, inside a transaction.
    /// - Throws: `DatabaseError`.
    init(user: String, clientID: String, _ entries: [UploadEntry], now: Int64, _ db: Database) throws {
        // Not through GRDB, whose texts end at a NUL: they would be those of another user.
        let seen = try PreparedStatement(
            db,
            sql: """
                INSERT INTO _ps_upload_clients(user, client, forgotten_through, seen) VALUES (?1, ?2, ?3, ?4)
                ON CONFLICT (user, client) DO UPDATE SET seen = excluded.seen
                RETURNING id, forgotten_through
                """
        )
        seen.bind(user, at: 1)
        seen.bind(clientID, at: 2)
        seen.bind(Int64.min, at: 3)
        seen.bind(now, at: 4)
        guard try seen.step() else {
            throw DatabaseError(resultCode: .SQLITE_INTERNAL, message: "a client was not stored")
        }
        let (client, forgottenThrough) = (seen.integer(at: 0), seen.integer(at: 1))
        try seen.run()

        var digests: [Int64: [UInt8]] = [:]
        if let first = entries.first?.operationID, let last = entries.last?.operationID {
            let rows = try Row.fetchCursor(
                db,
                sql: "SELECT op_id, digest FROM _ps_upload_writes WHERE client = ? AND op_id BETWEEN ? AND ?",
                arguments: [client, first, last]
            )
            while let row = try rows.next() {
                let digest: Data = row[1]
                digests[row[0]] = Array(digest)
            }
        }
        records = ClientRecords(client: client, forgottenThrough: forgottenThrough, digests: digests)
    }

    /// The writes of a transaction that are not in the database; the records of a client that counts anew are removed.
    ///
    /// - Throws: ``RejectedTransaction`` when it is not known whether some are; `DatabaseError`.
    mutating func newWrites(of transaction: ArraySlice<UploadEntry>, _ db: Database) throws -> [UploadEntry] {
        let new = try records.newWrites(of: transaction)
        if let number = new.restart {
            try db.execute(
                sql: "DELETE FROM _ps_upload_writes WHERE client = ? AND op_id >= ?",
                arguments: [records.client, number]
            )
        }
        return new.entries
    }

    /// Remembers a write, in the transaction that applies it.
    ///
    /// - Throws: `DatabaseError`.
    func add(_ entry: UploadEntry, _ db: Database) throws {
        let statement = try PreparedStatement(
            db,
            sql: "INSERT INTO _ps_upload_writes(client, op_id, digest) VALUES (?1, ?2, ?3)"
        )
        statement.bind(records.client, at: 1)
        statement.bind(entry.operationID, at: 2)
        statement.bind(blob: ClientRecords.digest(of: entry), at: 3)
        try statement.run()
    }

    /// Forgets writes that will not come again.
    ///
    /// - Parameters:
    ///   - head: The number at the head of the client's queue: what was before it has left the queue.
    ///   - count: How many of the newest are remembered all the same.
    ///   - db: The writer, inside a transaction.
    /// - Throws: `DatabaseError`.
    func forget(before head: Int64, keeping count: Int, _ db: Database) throws {
        let last = try Int64.fetchOne(
            db,
            sql: """
                SELECT max(op_id) FROM _ps_upload_writes WHERE client = ?1 AND op_id < ?2 AND op_id <= (
                  SELECT op_id FROM _ps_upload_writes WHERE client = ?1 ORDER BY op_id DESC LIMIT 1 OFFSET ?3
                )
                """,
            arguments: [records.client, head, max(count, 0)]
        )
        guard let last else { return }
        try db.execute(
            sql: "DELETE FROM _ps_upload_writes WHERE client = ? AND op_id <= ?",
            arguments: [records.client, last]
        )
        try db.execute(
            sql: "UPDATE _ps_upload_clients SET forgotten_through = max(forgotten_through, ?) WHERE id = ?",
            arguments: [last, records.client]
        )
    }

    /// Forgets clients altogether.
    ///
    /// - Parameters:
    ///   - date: Since when they were not seen, in seconds since 1970.
    ///   - db: The writer, inside a transaction.
    /// - Returns: How many there were.
    /// - Throws: `DatabaseError`.
    static func forgetClients(notSeenSince date: Int64, _ db: Database) throws -> Int {
        try createTables(db)
        try db.execute(
            sql: """
                DELETE FROM _ps_upload_writes
                WHERE client IN (SELECT id FROM _ps_upload_clients WHERE seen < ?)
                """,
            arguments: [date]
        )
        try db.execute(sql: "DELETE FROM _ps_upload_clients WHERE seen < ?", arguments: [date])
        return db.changesCount
    }
}
