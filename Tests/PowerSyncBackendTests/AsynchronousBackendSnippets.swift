import Foundation
import GRDB
import PowerSync
import PowerSyncBackend
import PowerSyncUpload

// What the page "Asynchronous back ends" shows, so that it compiles.

/// The tables of the queue, and the one that the sync service reads.
let queueTables = """
    CREATE TABLE queued_uploads (
        number INTEGER PRIMARY KEY AUTOINCREMENT, user_id TEXT NOT NULL, request BLOB NOT NULL
    );
    CREATE TABLE checkpoints (
        user_id TEXT NOT NULL, client_id TEXT NOT NULL, checkpoint INTEGER NOT NULL, PRIMARY KEY (user_id, client_id)
    );
    CREATE TABLE refused_writes (user_id TEXT, type TEXT, row_id TEXT, reason TEXT);
    """

/// Takes uploads into the queue, and gives each a number.
struct QueuedUploads: UploadApplier {
    let database: DatabasePool

    func apply(_ request: UploadRequest, for user: BackendUser) async throws -> UploadResponse {
        guard request.clientID != nil, let last = request.entries.last else {
            return UploadResponse(appliedThrough: nil, rejections: request.rejections)
        }
        // What nobody can apply is refused at once. It is not queued, but the number is its number, too.
        var queued = request
        let refused = Set(request.rejections.map(\.operationID))
        queued.entries.removeAll { refused.contains($0.operationID) }
        let json = Data(queued.json)
        let number = try await database.write { db in
            // One that comes again, because its answer was lost, is queued again: the worker applies nothing twice.
            try db.execute(
                sql: "INSERT INTO queued_uploads (user_id, request) VALUES (?, ?)",
                arguments: [user.id, json]
            )
            return db.lastInsertedRowID
        }
        return UploadResponse(
            appliedThrough: last.operationID,
            rejections: request.rejections,
            writeCheckpoint: "\(number)"
        )
    }
}

extension QueuedUploads {
    /// Takes a place in the queue for a client that asks when everything in front of it is through.
    func checkpoint(of client: String, for user: BackendUser) async throws -> Int64 {
        try await database.write { db in
            let last = try Row.fetchOne(
                db,
                sql: "SELECT number, request FROM queued_uploads WHERE user_id = ? ORDER BY number DESC LIMIT 1",
                arguments: [user.id]
            )
            if let last {
                // A place that waits will do: what is in the database now is there before its number is told.
                let waiting = try UploadRequest(json: last["request"] as Data)
                if waiting.entries.isEmpty, waiting.clientID == client { return last["number"] }
            }
            try db.execute(
                sql: "INSERT INTO queued_uploads (user_id, request) VALUES (?, ?)",
                arguments: [user.id, Data(UploadRequest(clientID: client, entries: []).json)]
            )
            return db.lastInsertedRowID
        }
    }
}

/// An answer that is about no write of its request.
struct NothingApplied: Error {}

/// Applies the oldest upload of the queue; the worker calls it until there is none.
func applyNext(of database: DatabasePool, with applier: any UploadApplier) async throws -> Bool {
    let next = try await database.read { db in
        try Row.fetchOne(db, sql: "SELECT * FROM queued_uploads ORDER BY number LIMIT 1").map { row in
            (number: row["number"] as Int64, user: row["user_id"] as String, request: row["request"] as Data)
        }
    }
    guard let next else { return false }
    let user = BackendUser(id: next.user)
    var upload = try UploadRequest(json: next.request)
    let client = upload.clientID
    while !upload.entries.isEmpty {
        let response = try await applier.apply(upload, for: user)
        let count = upload.entries.count
        let refused = Dictionary(response.rejections.map { ($0.operationID, $0.message) }) { first, _ in first }
        try await database.write { [upload] db in
            for entry in upload.entries where refused[entry.operationID] != nil {
                try db.execute(
                    sql: "INSERT INTO refused_writes (user_id, type, row_id, reason) VALUES (?, ?, ?, ?)",
                    arguments: [user.id, entry.table, entry.id, refused[entry.operationID]]
                )
            }
        }
        let through = response.appliedThrough ?? 0
        upload.entries.removeAll { $0.operationID <= through || refused[$0.operationID] != nil }
        guard upload.entries.count < count else { throw NothingApplied() }
    }
    try await database.write { db in
        // The client shows what the service has from this transaction on.
        try db.execute(
            sql: """
                INSERT INTO checkpoints (user_id, client_id, checkpoint) VALUES (?, ?, ?)
                ON CONFLICT (user_id, client_id) DO UPDATE SET checkpoint = max(checkpoint, excluded.checkpoint)
                """,
            arguments: [user.id, client, next.number]
        )
        try db.execute(sql: "DELETE FROM queued_uploads WHERE number = ?", arguments: [next.number])
    }
    return true
}

/// A connector of an app's own, to a back end that gives numbers.
struct NumberedConnector: PowerSyncBackendConnectorProtocol {
    /// What the back end answers.
    struct Answer {
        var isRefused = false
        var message = ""
        var refusals: [(entry: CrudEntry, message: String)] = []
        var writeCheckpoint: String?
    }

    let send: @Sendable ([CrudEntry]) async throws -> Answer

    func fetchCredentials() async throws -> PowerSyncCredentials? { nil }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        guard let transaction = try await database.getNextCrudTransaction() else { return }
        let answer = try await send(transaction.crud)
        if answer.isRefused {
            throw UploadRejectionError(reason: answer.message, writeCheckpoint: answer.writeCheckpoint)
        }
        let refused = answer.refusals.map { UploadRejection($0.entry, reason: $0.message) }
        try await transaction.complete(rejecting: refused, writeCheckpoint: answer.writeCheckpoint)
    }
}

/// Uploads, and asks the back end for checkpoints in the place of the service.
struct QueueConnector: CustomCheckpointRequestConnector {
    let uploads: HTTPBackendConnector
    /// Posts the id of the client to a route of the app's own, which answers with its place in the queue.
    let checkpoint: @Sendable (_ clientID: String) async throws -> Int64

    func fetchCredentials() async throws -> PowerSyncCredentials? { try await uploads.fetchCredentials() }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        try await uploads.uploadData(database: database)
    }

    func postCheckpointRequest(_ checkpointRequestId: Int64, clientId: String) async throws -> Int64 {
        try await checkpoint(clientId)
    }
}
