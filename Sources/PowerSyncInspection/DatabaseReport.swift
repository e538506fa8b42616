import Foundation
import PowerSyncCore
import PowerSyncTerminal

/// What `powersync inspect` says about a client's database file, for tools as JSON (docs/inspect.md "Output for tools").
///
/// What a file's version does not have is `nil`, and absent in JSON.
struct DatabaseReport: Encodable, Sendable {
    /// Where the file is and how large.
    struct File: Encodable, Sendable {
        /// The absolute path, without symbolic links.
        var path: String
        /// The size in bytes.
        var bytes: Int64
        /// The size of the write-ahead log in bytes.
        var logBytes: Int64
    }

    /// When a priority was published last.
    struct SyncTime: Encodable, Sendable {
        /// `nil` for everything.
        var priority: Int64?
        /// When.
        var at: Date
    }

    /// What a file is of a seed.
    enum SeedState: String, Encodable {
        /// The seed itself, which nobody has opened.
        case unopened
        /// The file of a database that has begun with it, and that was not connected since.
        case unclaimed
    }

    /// What keeps downloaded checkpoints from being published (docs/client-sync.md "Local write gate").
    struct Gate: Encodable, Sendable {
        /// What is waited for.
        enum State: String, Encodable, Sendable {
            /// Nothing.
            case open
            /// Writes in the upload queue.
            case uploads
            /// The service's write checkpoint for writes that are uploaded, which is asked for while connected.
            case writeCheckpoint
            /// A checkpoint with at least `target`.
            case acknowledgement
        }

        /// What is waited for.
        var state: State
        /// The write checkpoint that a checkpoint has to report; `nil` when there is none, or when it is not known yet.
        var target: Int64?
        /// The newest write checkpoint that was reported since the last local write.
        var seen: Int64?
    }

    /// A bucket.
    struct Bucket: Encodable, Sendable {
        /// The name.
        var name: String
        /// How many rows it has in the operation log.
        var operations = 0
        /// Operations up to here are accounted for.
        var lastOp: Int64
        /// Operations up to here are published.
        var lastAppliedOp: Int64
        /// The checksum of operations that are not in the log.
        var addChecksum: UInt32
        /// The checksum of those that are, as it is stored; from version 4 on.
        var opChecksum: UInt32?
        /// The same, computed from the log.
        var computedChecksum: UInt32 = 0
        /// The size of everything that was downloaded, in bytes; from version 12 on.
        var downloadedBytes: Int64?
        /// Whether the bucket is marked for deletion.
        var isPendingDelete: Bool
    }

    /// A write in the upload queue, or taken out of it.
    struct Write: Encodable, Sendable {
        /// The position in the queue.
        var id: Int64
        /// The transaction that made it.
        var transaction: Int64?
        /// `PUT`, `PATCH` or `DELETE`.
        var operation: String
        /// The table in the client schema.
        var table: String
        /// The row.
        var row: String
        /// What of the entry cannot be read.
        var damage: String?
        /// The entry as it is stored, if that was asked for.
        var entry: String?
    }

    /// The upload queue.
    struct Queue: Encodable, Sendable {
        /// How many writes wait.
        var writes = 0
        /// The size of their entries in bytes.
        var bytes: Int64 = 0
        /// The first ones, oldest first; at most ``Inspection/shownWrites``.
        var first: [Write] = []
        /// The newest one.
        var newest: Write?
        /// How many cannot be read as a whole.
        var damaged = 0
        /// The first of those.
        var firstDamaged: Write?
    }

    /// A write that the backend does not accept, or that waits behind one (docs/database.md "Rejected and parked writes").
    struct RejectedWrite: Encodable, Sendable {
        /// Why it is not in the queue.
        enum Kind: String, Encodable, Sendable {
            case skipped, parked, waiting
        }

        /// The write.
        var write: Write
        /// Why it is not in the queue.
        var kind: Kind
        /// What the app or the backend said.
        var reason: String
        /// When.
        var at: Date?
    }

    /// A stream subscription; from version 11 on.
    struct Subscription: Encodable, Sendable {
        /// The name of the stream.
        var stream: String
        /// The parameters as JSON text; `nil` for none.
        var parameters: String?
        /// Whether the service listed the stream in the last checkpoint.
        var isActive: Bool
        /// Whether clients get the stream without subscribing.
        var isDefault: Bool
        /// The priority that the app wants instead of the stream's.
        var priority: Int64?
        /// How long data stays after the last handle is gone, in seconds; `nil` without an explicit subscription.
        var secondsToLive: Int64?
        /// When the subscription ends unless it is renewed.
        var expiresAt: Date?
        /// When it was published last.
        var lastSyncedAt: Date?
    }

    /// A table of the client schema.
    struct Table: Encodable, Sendable {
        /// The name.
        var name: String
        /// Whether it is neither synced nor uploaded.
        var isLocalOnly: Bool
        /// Whether it is a table with columns of its own, and not a view over JSON.
        var isDirect = false
        /// How many rows it has.
        var rows = 0
        /// How many of them are not JSON.
        var unreadableRows = 0
        /// How many published rows are in the operation log and not in the table.
        var missingRows: Int?
        /// How many rows no operation and no local write explains.
        var unexplainedRows: Int?

        /// The name of the SQLite table with the rows.
        var nameInSQLite: String {
            isDirect ? name : DataTable(name: name, isLocalOnly: isLocalOnly).internalName
        }
    }

    /// Synced rows of a table that is not in the client schema.
    struct UntypedRows: Encodable, Sendable {
        /// The name of the table.
        var table: String
        /// How many rows there are.
        var rows: Int
    }

    /// Something that is wrong, or that explains what a client does.
    struct Finding: Encodable, Sendable, Equatable {
        /// How bad it is.
        enum Level: String, Encodable, Sendable {
            /// What is in the file cannot be right.
            case damage
            /// Nothing is wrong with the file.
            case notice
        }

        /// How bad it is.
        var level: Level
        /// A word for tools.
        var code: String
        /// What it is, and what to do.
        var message: String
    }

    /// The version of this form.
    var format = 1
    /// When the file was read.
    var inspectedAt: Date
    /// The file.
    var file: File
    /// The version of the internal tables.
    var schemaVersion: Int
    /// What names the client towards the service; from version 3 on.
    var clientID: String?
    /// What the file is of a seed; `nil` for one that has none, or whose user has connected.
    var seedState: SeedState?
    /// When was synced: a priority each, and everything.
    var lastSynced: [SyncTime] = []
    /// What keeps checkpoints from being published.
    var gate = Gate(state: .open)
    /// The buckets in the order of the file.
    var buckets: [Bucket] = []
    /// Operations of no bucket.
    var strayOperations = 0
    /// Keys that more than one operation of a bucket has; from version 5 on.
    var repeatedKeys = 0
    /// Rows that the next complete checkpoint looks at again; from version 5 on.
    var updatedRows: Int?
    /// The upload queue.
    var uploadQueue = Queue()
    /// Writes that were taken out of the queue.
    var rejectedWrites: [RejectedWrite] = []
    /// The stream subscriptions.
    var subscriptions: [Subscription] = []
    /// The tables of the client schema.
    var tables: [Table] = []
    /// Synced rows without a table.
    var untypedRows: [UntypedRows] = []
    /// Tables, columns and indexes that the version has, and the file has not.
    var missingObjects: [String] = []
    /// Values and tables that cannot be read.
    var unreadable: [String] = []
    /// What SQLite's own check found; `nil` when it could not be run.
    var sqliteProblems: [String]?
    /// Tables that the check left out, each with the reason: they need what only the app's connections have.
    var uncheckedTables: [String] = []
    /// What all of that means.
    var findings: [Finding] = []

    /// Whether something is damaged.
    var isDamaged: Bool { findings.contains { $0.level == .damage } }
}

extension DatabaseReport.Bucket {
    /// Whether the log has what its checksum says; `nil` when the version has no such checksum.
    var isIntact: Bool? { opChecksum.map { $0 == computedChecksum } }
}

extension DatabaseReport {
    /// The report for tools: one JSON document.
    ///
    /// - Throws: `EncodingError`, which would be a mistake of this type.
    func json() throws -> String {
        String(decoding: try JSONEncoder.forReports.encode(self), as: UTF8.self)
    }
}
