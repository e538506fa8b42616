import GRDB
import PowerSyncCore
import PowerSyncProtocol

/// The rows that a database in memory begins with.
struct InitialRows: Sendable {
    /// Writes them through the views, as an app would.
    let body: @Sendable (any Transaction) throws -> Void

    /// Writes the rows, and takes them out of the upload queue.
    ///
    /// - Throws: What the app throws; then nothing is written.
    func write(_ db: Database, logger: any LoggerProtocol, kinds: ColumnKinds) throws {
        try LocalConnection.use(db, logger: logger, kinds: kinds) { connection in
            try TransactionContext.write(on: connection) { transaction in
                try body(transaction)
                // They are what the service would have sent, and nothing to wait for.
                guard let last = try UploadQueue.sequence(db) else { return }
                try UploadQueue.complete(db, through: last, writeCheckpoint: nil)
                try LocalWriteGate.setTarget(db, WriteCheckpoint(0))
            }
        }
    }
}
