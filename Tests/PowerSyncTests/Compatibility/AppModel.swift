import Foundation
import PowerSync

/// What the screens of the app talk to.
@MainActor
final class AppModel {
    let connector: SupabaseConnector
    let db: any PowerSyncDatabaseProtocol

    init(connector: SupabaseConnector, db: (any PowerSyncDatabaseProtocol)? = nil) {
        self.connector = connector
        self.db =
            db
            ?? PowerSyncDatabase(
                schema: AppSchema,
                dbFilename: "powersync-swift.sqlite",
                logger: DefaultLogger(minSeverity: .info)
            )
    }

    func connect() async {
        do {
            try await db.connect(
                connector: connector,
                options: ConnectOptions(
                    crudThrottle: 0.5,
                    retryDelay: 3,
                    params: ["tenant": .string("acme"), "beta": .bool(true), "limit": .int(10)],
                    clientConfiguration: SyncClientConfiguration(
                        requestLogger: SyncRequestLoggerConfiguration(requestLevel: .headers) {
                            [logger = db.logger] message in
                            logger.debug(message, tag: "SyncRequest")
                        }
                    ),
                    appMetadata: ["version": "1.2.3"]
                )
            )
        } catch {
            db.logger.error("Unexpected error: \(error.localizedDescription)", tag: "AppModel")
        }
    }

    func version() async -> String {
        do {
            return try await db.getPowerSyncVersion()
        } catch {
            return error.localizedDescription
        }
    }

    func signOut() async throws {
        try await db.disconnectAndClear()
        await connector.client.signOut()
    }

    // MARK: - Lists

    func watchLists(_ callback: @escaping (_ lists: [ListContent]) -> Void) async {
        do {
            for try await lists in try db.watch(
                options: WatchOptions(
                    sql: "SELECT * FROM \(LISTS_TABLE) ORDER BY name",
                    mapper: { cursor in try ListContent.fromCursor(cursor) }
                )
            ) {
                callback(lists)
            }
        } catch {
            db.logger.error("Error in watch: \(error)", tag: nil)
        }
    }

    func insertList(id: UUID = UUID(), name: String) async throws {
        _ = try await db.execute(
            sql: "INSERT INTO \(LISTS_TABLE) (id, created_at, name, owner_id) VALUES (?, datetime(), ?, ?)",
            parameters: [id, name, connector.currentUserID]
        )
    }

    /// - Returns: The ids of photos that are no longer needed.
    @discardableResult
    func deleteList(id: String) async throws -> [String] {
        try await db.writeTransaction(callback: { transaction in
            let photos = try transaction.getAll(
                sql: "SELECT photo_id FROM \(TODOS_TABLE) WHERE list_id = ? AND photo_id IS NOT NULL",
                parameters: [id]
            ) { cursor in
                try cursor.getString(index: 0)
            }
            _ = try transaction.execute(sql: "DELETE FROM \(LISTS_TABLE) WHERE id = ?", parameters: [id])
            try transaction.execute(sql: "DELETE FROM \(TODOS_TABLE) WHERE list_id = ?", parameters: [id])
            return photos
        })
    }

    // MARK: - Todos

    func todos(of listId: String) throws -> AsyncThrowingStream<[Todo], any Error> {
        try db.watch(
            sql: "SELECT * FROM \(TODOS_TABLE) WHERE list_id = ? ORDER BY description",
            parameters: [listId],
            mapper: { try Todo.fromCursor($0) }
        )
    }

    func todo(_ id: String) async throws -> Todo? {
        try await db.getOptional(sql: "SELECT * FROM \(TODOS_TABLE) WHERE id = ?", parameters: [id]) { cursor in
            try Todo.fromCursor(cursor)
        }
    }

    func insertTodo(_ todo: Todo) async throws {
        try await db.execute(
            sql: """
                INSERT INTO \(TODOS_TABLE) (id, list_id, description, completed, estimate, created_at, _metadata)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """,
            parameters: [
                todo.id, todo.listId, todo.description, todo.isComplete, todo.estimate, todo.createdAt,
                "by \(connector.currentUserID ?? "nobody")",
            ]
        )
    }

    func setComplete(_ isComplete: Bool, id: String) async throws {
        _ = try await db.writeTransaction { transaction in
            try transaction.execute(
                sql: "UPDATE \(TODOS_TABLE) SET completed = ?, completed_at = ? WHERE id = ?",
                parameters: [isComplete, isComplete ? Date(timeIntervalSince1970: 1_700_000_000) : nil, id]
            )
        }
    }

    func rename(_ id: String, to description: String) async throws {
        _ = try await db.writeLock { context in
            try context.execute(
                sql: "UPDATE \(TODOS_TABLE) SET description = ? WHERE id = ?",
                parameters: [description, id]
            )
        }
    }

    func openCount() async throws -> Int {
        try await db.readTransaction { transaction in
            try transaction.get(
                sql: "SELECT count(*) FROM \(TODOS_TABLE) WHERE completed = ?",
                parameters: [false]
            ) { try $0.getInt(index: 0) }
        }
    }

    // MARK: - Sync

    func subscribe(toProject project: String) async throws -> any SyncStreamSubscription {
        let stream = db.syncStream(name: "project", params: ["id": .string(project)])
        return try await stream.subscribe(ttl: 3600, priority: BucketPriority(1))
    }

    /// A line for the status bar.
    func statusLine() -> String {
        let status = db.currentStatus
        if let error = status.anyError { return "error: \(error)" }
        if let progress = status.downloadProgress {
            return "\(progress.downloadedOperations)/\(progress.totalOperations) (\(Int(progress.fraction * 100)) %)"
        }
        if status.connecting { return "connecting" }
        guard status.connected else { return "offline" }
        return status.hasSynced == true ? "up to date" : "waiting"
    }
}
