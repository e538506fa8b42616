import Foundation
import GRDB
import PowerSyncProtocol
import PowerSyncSQLite
import PowerSyncServiceCore

/// Runs the transactions of a writer in the serial writer of the file.
struct SQLiteWriterSession: WriterSession {
    let storage: SQLiteBucketStorage
    let streamID: ReplicationStreamID

    func record() async throws -> StreamRecord {
        try await storage.read { [streamID] db in try Self.record(streamID, db) }
    }

    private static func record(_ streamID: ReplicationStreamID, _ db: Database) throws -> StreamRecord {
        let record = try SQLiteStreamTables(db).record(of: streamID)
        guard record.state.isReplicated else { throw BucketStorageError.replaced(streamID) }
        return record
    }

    func history(_ number: Int64) async throws -> SourceHistory? {
        try await storage.read { db in try SQLiteStreamTables(db).history(number) }
    }

    func write<Value: Sendable>(
        _ activity: String,
        _ purpose: WritePurpose,
        _ body: @escaping @Sendable (inout SQLiteWriterTransaction) throws -> Value
    ) async throws -> Value {
        // A client that was shown what a power failure takes back would keep it: the numbers of operations are given again.
        let isPublishing = if case .publishing = purpose { true } else { false }
        return try await storage.write(onDisk: isPublishing) { [storage, streamID] db in
            var transaction = SQLiteWriterTransaction(db, try Self.record(streamID, db), now: storage.now())
            let value = try body(&transaction)
            let stream = transaction.stream
            if stream.isChanged { try transaction.streams.update(stream.record) }
            if let checkpoint = stream.published {
                // Not after the call, which throws behind the commit when the task is cancelled while it waits for the WAL.
                db.afterNextTransaction { _ in storage.feed.publish(checkpoint) }
            }
            return value
        }
    }

    func waitForDisk() async throws { try await storage.waitForDisk() }
}

/// Writes rows and records, a statement for each.
struct SQLiteWriterTransaction: WriterTransaction {
    private let db: Database
    var streams: SQLiteStreamTables
    var stream: StreamChange
    let now: Date

    fileprivate init(_ db: Database, _ record: StreamRecord, now: Date) {
        self.db = db
        self.now = now
        streams = SQLiteStreamTables(db)
        stream = StreamChange(record)
    }

    func insert(_ table: SourceTable) throws { try streams.insert(table, of: stream.record.id) }

    func delete(_ table: SourceTable) throws {
        try db.execute(sql: "DELETE FROM source_tables WHERE id = ?", arguments: [table.id])
    }

    func update(_ table: SourceTable) throws { try streams.update(table) }

    mutating func write(_ records: [PendingRecord]) throws -> OpID? {
        var store = RecordStore(try SQLiteRecordTables(db, streamID: stream.record.id))
        for record in records { try store.write(record) }
        if store.hasUnmatched { stream.hasUnmatched = true }
        return try store.finish()
    }

    func removeRows(of table: SourceTable) throws -> (isFinished: Bool, lastOp: OpID?) {
        var store = RecordStore(try SQLiteRecordTables(db, streamID: stream.record.id))
        return (try store.removeRows(of: table.id), try store.finish())
    }
}
