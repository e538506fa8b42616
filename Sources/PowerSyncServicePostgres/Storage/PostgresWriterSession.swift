import Foundation
import PowerSyncProtocol
import PowerSyncServiceCore

/// Runs the transactions of a writer in the session of its lease.
struct PostgresWriterSession: WriterSession {
    let storage: PostgresBucketStorage
    let lease: WriterLease

    func record() async throws -> StreamRecord {
        // Without a lock: a transaction that locks a row is in the log of the server, which may be the one that is replicated.
        try await lease.statements("reading the record of a stream") { [lease] db in
            try lease.record(locked: false, db)
        }
    }

    func history(_ number: Int64) async throws -> SourceHistory? {
        try await lease.statements("reading a history") { [storage] db in
            try PostgresStreamTables(db, in: storage.schema).history(number)
        }
    }

    func write<Value: Sendable>(
        _ activity: String,
        _ purpose: WritePurpose,
        _ body: @escaping @Sendable (inout PostgresWriterTransaction) throws -> Value
    ) async throws -> Value {
        try await lease.statements(activity) { [storage, lease] db in
            var published: StorageCheckpoint?
            var found: WriterLease.Found?
            let reading = lease.reading(locked: true, db) { found = $0 }
            var isRead = true
            var beginning = [reading]
            switch purpose {
            case .storingChanges: beginning.insert(.init(sql: "SET LOCAL synchronous_commit TO off"), at: 0)
            // The lock comes before those of records.
            case .publishing(mayActivate: true): (beginning, isRead) = ([], false)
            case .recording, .publishing(mayActivate: false): break
            }
            let (value, _) = try db.transaction(beginningWith: beginning) {
                if !isRead {
                    try storage.schema.lockStreams(db)
                    try db.run(together: [reading])
                }
                var transaction = PostgresWriterTransaction(
                    db,
                    storage.schema,
                    try lease.record(found),
                    now: storage.now()
                )
                let value = try body(&transaction)
                published = transaction.stream.published
                return (value, transaction.ending(of: storage.processID))
            } endingWith: {
                $0.1
            }
            // Not after the call: a cancelled task does not come back, even if its transaction was committed.
            if let published { storage.feed.publish(published) }
            return value
        }
    }

    /// Does nothing: a commit that makes a checkpoint has waited for the disk.
    func waitForDisk() {}
}

/// Writes rows with a few statements for all of them.
struct PostgresWriterTransaction: WriterTransaction {
    private let db: PostgresStatements
    private let schema: PostgresStorageSchema
    var streams: PostgresStreamTables
    var stream: StreamChange
    let now: Date

    fileprivate init(_ db: PostgresStatements, _ schema: PostgresStorageSchema, _ record: StreamRecord, now: Date) {
        self.db = db
        self.schema = schema
        self.now = now
        streams = PostgresStreamTables(db, in: schema)
        stream = StreamChange(record)
    }

    /// What stores the record of the stream, and tells other processes what they should look at.
    ///
    /// - Parameter process: This process, which knows of a checkpoint that it has made.
    /// - Returns: The statements.
    fileprivate func ending(of process: String) -> [PostgresStatements.Statement] {
        var statements: [PostgresStatements.Statement] = []
        if stream.published != nil { statements.append(schema.publishing) }
        if stream.isChanged { statements.append(streams.update(stream.record)) }
        if streams.isChanged {
            statements.append(schema.notification())
        } else if stream.published != nil {
            statements.append(schema.notification(.published(process: process)))
        }
        return statements
    }

    func insert(_ table: SourceTable) throws { try streams.insert(table, of: stream.record.id) }

    func delete(_ table: SourceTable) throws {
        try db.run("DELETE FROM \(db.schema).source_tables WHERE id = $1", [.text(table.id)])
    }

    func update(_ table: SourceTable) throws { try streams.update(table) }

    mutating func write(_ records: [PendingRecord]) throws -> OpID? {
        var store = RecordStore(try PostgresRecordTables(db, stream.record, for: records))
        for record in records { try store.write(record) }
        if store.hasUnmatched { stream.hasUnmatched = true }
        return try store.finish()
    }

    func removeRows(of table: SourceTable) throws -> (isFinished: Bool, lastOp: OpID?) {
        var store = RecordStore(try PostgresRecordTables(db, stream.record))
        return (try store.removeRows(of: table.id), try store.finish())
    }
}
