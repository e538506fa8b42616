import Foundation
import PowerSync
import Testing

/// A database of an app's own, with only the requirements of the protocol.
///
/// It forwards to one of ours, or, without one, knows nothing.
private struct ForeignDatabase: PowerSyncDatabaseProtocol {
    struct Unavailable: Error {}

    var wrapped: (any PowerSyncDatabaseProtocol)?

    private func database() throws -> any PowerSyncDatabaseProtocol {
        guard let wrapped else { throw Unavailable() }
        return wrapped
    }

    var currentStatus: any SyncStatus { PowerSyncDatabase(schema: Schema(), dbFilename: ":memory:").currentStatus }
    var logger: any LoggerProtocol { DefaultLogger(writers: []) }

    func watch<RowType>(options: WatchOptions<RowType>) throws -> AsyncThrowingStream<[RowType], any Error> {
        try database().watch(options: options)
    }
    func writeLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R {
        guard let wrapped else { return try callback(ForeignContext()) }
        return try await wrapped.writeLock(callback: callback)
    }
    func readLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R {
        guard let wrapped else { return try callback(ForeignContext()) }
        return try await wrapped.readLock(callback: callback)
    }
    func waitForFirstSync() async throws {}
    func updateSchema(schema: any SchemaProtocol) async throws {}
    func waitForFirstSync(priority: Int32) async throws {}
    func connect(connector: any PowerSyncBackendConnectorProtocol, options: ConnectOptions?) async throws {}
    func getPowerSyncVersion() async throws -> String { "0" }
    func disconnect() async throws {}
    func disconnectAndClear(clearLocal: Bool, soft: Bool) async throws {}
    func syncStream(name: String, params: JsonParam?) -> any SyncStream {
        PowerSyncDatabase(schema: Schema(), dbFilename: ":memory:").syncStream(name: name, params: params)
    }
    func close() async throws {}
    func close(deleteDatabase: Bool) async throws {}
}

private struct ForeignContext: ConnectionContext {
    func execute(sql: String, parameters: [(any Sendable)?]?) throws -> Int64 { 0 }
    func getOptional<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType? { nil }
    func getAll<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> [RowType] { [] }
    func get<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType { throw ForeignDatabase.Unavailable() }
}

/// Databases of the app.
@Suite struct ForeignDatabaseTests {
    @Test func wrapperOfOursHasAnUploadQueue() async throws {
        try await withMemoryDatabase { database in
            let wrapper = ForeignDatabase(wrapped: database)
            try await wrapper.insertUser("Ada")
            let transaction = try #require(try await wrapper.getNextCrudTransaction())
            #expect(transaction.crud.count == 1)
            #expect(try await wrapper.getUploadQueueStats().count == 1)
            try await transaction.complete()
            #expect(try await wrapper.getCrudBatch() == nil)
            try await wrapper.executeBatch(
                sql: "INSERT INTO users (id, name) VALUES (uuid(), ?)",
                parameterSets: [["Bob"], ["Cyd"]]
            )
            var stats = try wrapper.watchUploadQueue().makeAsyncIterator()
            #expect(try await stats.next()?.count == 2)
        }
    }

    @Test func strangerTellsThatItIsNotSupported() async throws {
        let stranger = ForeignDatabase()
        let error = await #expect(throws: PowerSyncError.self) { try await stranger.getClientId() }
        #expect(error?.localizedDescription.contains("not supported") == true)
        await #expect(throws: PowerSyncError.self) { try await stranger.getCrudBatch() }
        var changes = stranger.onChange(tables: ["users"]).makeAsyncIterator()
        let changeError = await #expect(throws: PowerSyncError.self) { try await changes.next() }
        #expect(changeError?.localizedDescription.contains("not supported") == true)
        let diffError = await #expect(throws: PowerSyncError.self) { try await stranger.trackTableDiff(of: "users") }
        #expect(diffError?.localizedDescription.contains("not supported") == true)
    }
}
