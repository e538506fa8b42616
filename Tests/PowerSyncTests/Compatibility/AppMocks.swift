import Foundation
import PowerSync

// Apps fake the SDK's protocols in their own tests, with the official requirements and nothing more.

/// Rows by column name, for every query.
struct MockRow: Sendable {
    var values: [(name: String, value: String?)]
}

struct MockCursor: SqlCursor {
    let row: MockRow

    var columnCount: Int { row.values.count }
    var columnNames: [String: Int] {
        Dictionary(row.values.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { $1 })
    }

    private func required<Value>(_ index: Int, _ value: Value?) throws(SqlCursorError) -> Value {
        guard let value else { throw .nullValueFound(String(index)) }
        return value
    }

    func getStringOptional(index: Int) -> String? {
        row.values.indices.contains(index) ? row.values[index].value : nil
    }
    func getBooleanOptional(index: Int) -> Bool? { getIntOptional(index: index).map { $0 != 0 } }
    func getDoubleOptional(index: Int) -> Double? { getStringOptional(index: index).flatMap(Double.init) }
    func getIntOptional(index: Int) -> Int? { getStringOptional(index: index).flatMap { Int($0) } }
    func getInt64Optional(index: Int) -> Int64? { getStringOptional(index: index).flatMap { Int64($0) } }
    func getString(index: Int) throws(SqlCursorError) -> String { try required(index, getStringOptional(index: index)) }
    func getBoolean(index: Int) throws(SqlCursorError) -> Bool { try required(index, getBooleanOptional(index: index)) }
    func getDouble(index: Int) throws(SqlCursorError) -> Double { try required(index, getDoubleOptional(index: index)) }
    func getInt(index: Int) throws(SqlCursorError) -> Int { try required(index, getIntOptional(index: index)) }
    func getInt64(index: Int) throws(SqlCursorError) -> Int64 { try required(index, getInt64Optional(index: index)) }
}

/// Answers every query with the same rows and remembers statements.
final class MockTransaction: Transaction, @unchecked Sendable {
    private let lock = NSLock()
    private let rows: [MockRow]
    private var statements: [String] = []

    init(rows: [MockRow] = []) { self.rows = rows }

    var executed: [String] { lock.withLock { statements } }

    func execute(sql: String, parameters: [(any Sendable)?]?) throws -> Int64 {
        lock.withLock { statements.append(sql) }
        return 1
    }

    func getOptional<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType? {
        try rows.first.map { try mapper(MockCursor(row: $0)) }
    }

    func getAll<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> [RowType] {
        try rows.map { try mapper(MockCursor(row: $0)) }
    }

    func get<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType {
        guard let row = try getOptional(sql: sql, parameters: parameters, mapper: mapper) else {
            throw PowerSyncError.operationFailed(message: "no row")
        }
        return row
    }
}

/// Only reads and writes, for code that takes `any Queries`.
struct MockQueries: Queries {
    let context: MockTransaction

    func watch<RowType>(options: WatchOptions<RowType>) throws -> AsyncThrowingStream<[RowType], any Error> {
        nonisolated(unsafe) let rows = try context.getAll(
            sql: options.sql,
            parameters: options.parameters,
            mapper: options.mapper
        )
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: [RowType].self)
        continuation.yield(rows)
        continuation.finish()
        return stream
    }
    func writeLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R {
        try callback(context)
    }
    func readLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R {
        try callback(context)
    }
}

/// A status that a preview shows.
struct MockStatusData: SyncStatusData {
    struct Progress: SyncDownloadProgress {
        var totalOperations: Int32
        var downloadedOperations: Int32
        func untilPriority(priority: BucketPriority) -> any ProgressWithOperations { self }
    }

    var connected = false
    var connecting = false
    var downloading: Bool { downloadProgress != nil }
    var downloadProgress: (any SyncDownloadProgress)?
    var uploading = false
    var lastSyncedAt: Date?
    var hasSynced: Bool?
    var uploadMessage: String?
    var uploadError: Any? { uploadMessage }
    var downloadError: Any? { nil }
    var anyError: Any? { downloadError ?? uploadError }
    var entries: [PriorityStatusEntry] = []
    var priorityStatusEntries: [PriorityStatusEntry] { entries }
    func statusForPriority(_ priority: BucketPriority) -> PriorityStatusEntry {
        entries.first { $0.priority <= priority } ?? entries[0]
    }
    var syncStreams: [SyncStreamStatus]? { nil }
    func forStream(stream: any SyncStreamDescription) -> SyncStreamStatus? { nil }
}

/// A live status that never changes.
struct MockStatus: SyncStatus {
    var data: MockStatusData

    var connected: Bool { data.connected }
    var connecting: Bool { data.connecting }
    var downloading: Bool { data.downloading }
    var downloadProgress: (any SyncDownloadProgress)? { data.downloadProgress }
    var uploading: Bool { data.uploading }
    var lastSyncedAt: Date? { data.lastSyncedAt }
    var hasSynced: Bool? { data.hasSynced }
    var uploadError: Any? { data.uploadError }
    var downloadError: Any? { data.downloadError }
    var anyError: Any? { data.anyError }
    var priorityStatusEntries: [PriorityStatusEntry] { data.priorityStatusEntries }
    func statusForPriority(_ priority: BucketPriority) -> PriorityStatusEntry { data.statusForPriority(priority) }
    var syncStreams: [SyncStreamStatus]? { data.syncStreams }
    func forStream(stream: any SyncStreamDescription) -> SyncStreamStatus? { data.forStream(stream: stream) }
    func asFlow() -> AsyncStream<any SyncStatusData> {
        AsyncStream { continuation in
            continuation.yield(data)
            continuation.finish()
        }
    }
    @MainActor var observable: ObservableSyncStatus {
        PowerSyncDatabase(schema: Schema(), dbFilename: ":memory:").currentStatus.observable
    }
}

struct MockSyncStream: SyncStream {
    struct Subscription: SyncStreamSubscription {
        let name: String
        let parameters: JsonParam?
        func waitForFirstSync() async throws {}
        func unsubscribe() async throws {}
    }

    let name: String
    let parameters: JsonParam?

    func subscribe(ttl: TimeInterval?, priority: BucketPriority?) async throws -> any SyncStreamSubscription {
        Subscription(name: name, parameters: parameters)
    }
    func unsubscribeAll() async throws {}
}

/// A database for view models under test.
final class MockDatabase: PowerSyncDatabaseProtocol {
    let queries: MockQueries
    let currentStatus: any SyncStatus
    let logger: any LoggerProtocol = DefaultLogger(minSeverity: .fault)

    init(rows: [MockRow] = [], status: MockStatusData = MockStatusData()) {
        queries = MockQueries(context: MockTransaction(rows: rows))
        currentStatus = MockStatus(data: status)
    }

    func watch<RowType>(options: WatchOptions<RowType>) throws -> AsyncThrowingStream<[RowType], any Error> {
        try queries.watch(options: options)
    }
    func writeLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R {
        try await queries.writeLock(callback: callback)
    }
    func readLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R {
        try await queries.readLock(callback: callback)
    }
    func waitForFirstSync() async throws {}
    func updateSchema(schema: any SchemaProtocol) async throws {}
    func waitForFirstSync(priority: Int32) async throws {}
    func connect(connector: any PowerSyncBackendConnectorProtocol, options: ConnectOptions?) async throws {}
    func getPowerSyncVersion() async throws -> String { "0.0.0" }
    func disconnect() async throws {}
    func disconnectAndClear(clearLocal: Bool, soft: Bool) async throws {}
    func syncStream(name: String, params: JsonParam?) -> any SyncStream {
        MockSyncStream(name: name, parameters: params)
    }
    func close() async throws {}
    func close(deleteDatabase: Bool) async throws {}
}
