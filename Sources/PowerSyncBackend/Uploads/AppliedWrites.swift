import Crypto
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
    /// What is known about a write.
    enum Knowledge {
        /// It is in the database.
        case applied
        /// It is not in the database.
        case new
        /// Its number was used, but nobody knows for what.
        case forgotten
    }

    /// The row of the client.
    private let client: Int64
    private let forgottenThrough: Int64
    /// The digests of the applied writes that the request may be about, by number.
    private let digests: [Int64: Data]
    /// From where on numbers are used for the second time.
    private var restartedAt: Int64?

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
        client = seen.integer(at: 0)
        forgottenThrough = seen.integer(at: 1)
        try seen.run()

        var digests: [Int64: Data] = [:]
        if let first = entries.first?.operationID, let last = entries.last?.operationID {
            let rows = try Row.fetchCursor(
                db,
                sql: "SELECT op_id, digest FROM _ps_upload_writes WHERE client = ? AND op_id BETWEEN ? AND ?",
                arguments: [client, first, last]
            )
            while let row = try rows.next() { digests[row[0]] = row[1] }
        }
        self.digests = digests
    }

    /// What is known about a write.
    ///
    /// A number that was used for something else shows that the client counts anew from there, because its file was replaced
    /// by an older copy: everything from that number on is new.
    ///
    /// - Throws: `DatabaseError`.
    mutating func knowledge(of entry: UploadEntry, _ db: Database) throws -> Knowledge {
        let number = entry.operationID
        if let restartedAt, number >= restartedAt { return .new }
        guard let digest = digests[number] else { return number <= forgottenThrough ? .forgotten : .new }
        if digest == Self.digest(of: entry) { return .applied }
        restartedAt = number
        try db.execute(
            sql: "DELETE FROM _ps_upload_writes WHERE client = ? AND op_id >= ?",
            arguments: [client, number]
        )
        return .new
    }

    /// Remembers a write, in the transaction that applies it.
    ///
    /// - Throws: `DatabaseError`.
    func add(_ entry: UploadEntry, _ db: Database) throws {
        try db.cachedStatement(sql: "INSERT INTO _ps_upload_writes(client, op_id, digest) VALUES (?, ?, ?)")
            .execute(arguments: [client, entry.operationID, Self.digest(of: entry)])
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
            arguments: [client, head, max(count, 0)]
        )
        guard let last else { return }
        try db.execute(
            sql: "DELETE FROM _ps_upload_writes WHERE client = ? AND op_id <= ?",
            arguments: [client, last]
        )
        try db.execute(
            sql: "UPDATE _ps_upload_clients SET forgotten_through = max(forgotten_through, ?) WHERE id = ?",
            arguments: [last, client]
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

    private static func digest(of entry: UploadEntry) -> Data {
        Data(SHA256.hash(data: Data(entry.contentText.utf8)).prefix(16))
    }
}
