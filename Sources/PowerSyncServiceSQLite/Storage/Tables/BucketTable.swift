import GRDB
import PowerSyncProtocol
import PowerSyncSQLite
import PowerSyncServiceCore

/// The states of the buckets of one stream, inside one transaction.
///
/// Each bucket is read once, and written once by ``store()``.
struct BucketTable {
    /// A row of `buckets`.
    private struct State {
        var lastOp: Int64
        var checksum: Checksum
        var count: Int64
        /// Operations that this transaction has added.
        var added: Int64 = 0

        mutating func append(_ opID: Int64, _ checksum: Checksum) {
            lastOp = opID
            self.checksum += checksum
            count += 1
            added += 1
        }
    }

    private let db: Database
    private let streamID: ReplicationStreamID
    private let find: PreparedStatement
    private let read: PreparedStatement
    private let insert: PreparedStatement
    private let update: PreparedStatement

    private var ids: [BucketName: Int64] = [:]
    private var states: [Int64: State] = [:]

    /// Prepares the statements.
    init(_ db: Database, streamID: ReplicationStreamID) throws {
        self.db = db
        self.streamID = streamID
        func statement(_ sql: String) throws -> PreparedStatement {
            try PreparedStatement(db, sql: sql)
        }
        find = try statement("SELECT last_op, checksum, count, id FROM buckets WHERE stream = ? AND name = ?")
        read = try statement("SELECT last_op, checksum, count FROM buckets WHERE id = ?")
        insert = try statement("INSERT INTO buckets (stream, name) VALUES (?, ?)")
        update = try statement(
            "UPDATE buckets SET last_op = ?1, checksum = ?2, count = ?3, tail = tail + ?4 WHERE id = ?5"
        )
    }

    /// The number of a bucket; a new one when there is none.
    mutating func id(of bucket: BucketName) throws -> Int64 {
        if let id = ids[bucket] { return id }
        find.bind(streamID.rawValue, at: 1)
        find.bind(bucket.rawValue, at: 2)
        var id: Int64?
        while try find.step() {
            let found = find.integer(at: 3)
            if states[found] == nil { states[found] = Self.state(find) }
            id = found
        }
        if id == nil {
            insert.bind(streamID.rawValue, at: 1)
            insert.bind(bucket.rawValue, at: 2)
            try insert.run()
            states[db.lastInsertedRowID] = State(lastOp: 0, checksum: .zero, count: 0)
        }
        let found = id ?? db.lastInsertedRowID
        ids[bucket] = found
        return found
    }

    /// Takes an operation into account that is appended to a bucket.
    mutating func add(_ opID: Int64, checksum: Checksum, to bucket: Int64) throws {
        if states[bucket]?.append(opID, checksum) != nil { return }
        var state = State(lastOp: 0, checksum: .zero, count: 0)
        read.bind(bucket, at: 1)
        while try read.step() { state = Self.state(read) }
        state.append(opID, checksum)
        states[bucket] = state
    }

    /// Writes the states that have changed.
    func store() throws {
        for (id, state) in states where state.added > 0 {
            update.bind(state.lastOp, at: 1)
            update.bind(Int64(state.checksum.rawValue), at: 2)
            update.bind(state.count, at: 3)
            update.bind(state.added, at: 4)
            update.bind(id, at: 5)
            try update.run()
        }
    }

    private static func state(_ row: PreparedStatement) -> State {
        State(
            lastOp: row.integer(at: 0),
            checksum: Checksum(truncating: row.integer(at: 1)),
            count: row.integer(at: 2)
        )
    }
}
