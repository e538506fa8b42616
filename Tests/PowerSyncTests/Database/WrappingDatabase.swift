import PowerSync

/// An app's database around another one: it forwards the requirements of the established SDK.
protocol ForwardingDatabase: PowerSyncDatabaseProtocol {
    var inner: any PowerSyncDatabaseProtocol { get }
}

extension ForwardingDatabase {
    var currentStatus: any SyncStatus { inner.currentStatus }
    var logger: any LoggerProtocol { inner.logger }

    func watch<RowType>(options: WatchOptions<RowType>) throws -> AsyncThrowingStream<[RowType], any Error> {
        try inner.watch(options: options)
    }
    func writeLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R {
        try await inner.writeLock(callback: callback)
    }
    func readLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R {
        try await inner.readLock(callback: callback)
    }
    func waitForFirstSync() async throws { try await inner.waitForFirstSync() }
    func waitForFirstSync(priority: Int32) async throws { try await inner.waitForFirstSync(priority: priority) }
    func updateSchema(schema: any SchemaProtocol) async throws { try await inner.updateSchema(schema: schema) }
    func connect(connector: any PowerSyncBackendConnectorProtocol, options: ConnectOptions?) async throws {
        try await inner.connect(connector: connector, options: options)
    }
    func getPowerSyncVersion() async throws -> String { try await inner.getPowerSyncVersion() }
    func disconnect() async throws { try await inner.disconnect() }
    func disconnectAndClear(clearLocal: Bool, soft: Bool) async throws {
        try await inner.disconnectAndClear(clearLocal: clearLocal, soft: soft)
    }
    func syncStream(name: String, params: JsonParam?) -> any SyncStream { inner.syncStream(name: name, params: params) }
    func close() async throws { try await inner.close() }
    func close(deleteDatabase: Bool) async throws { try await inner.close(deleteDatabase: deleteDatabase) }
}

/// An app's database that is written for the established SDK, and knows nothing else.
struct WrappingDatabase: ForwardingDatabase {
    let inner: any PowerSyncDatabaseProtocol
}
