import PowerSync

/// A connector whose back end writes to the database itself.
final class DatabaseConnector: PowerSyncBackendConnectorProtocol {
    private let credentials: @Sendable () async throws -> PowerSyncCredentials?
    private let write: @Sendable (String) throws -> Void

    init(
        credentials: @escaping @Sendable () async throws -> PowerSyncCredentials?,
        write: @escaping @Sendable (String) throws -> Void
    ) {
        self.credentials = credentials
        self.write = write
    }

    func fetchCredentials() async throws -> PowerSyncCredentials? { try await credentials() }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        guard let transaction = try await database.getNextCrudTransaction() else { return }
        for entry in transaction.crud { try write(entry.id) }
        try await transaction.complete()
    }
}
