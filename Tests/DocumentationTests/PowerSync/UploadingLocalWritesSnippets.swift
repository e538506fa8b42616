import PowerSync

struct UploadsOneTransaction {
    let backend: any AppBackend

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        guard let transaction = try await database.getNextCrudTransaction() else { return }
        try await backend.apply(transaction.crud)
        try await transaction.complete()
    }
}

func connectToABackendOverHTTP(_ database: any PowerSyncDatabaseProtocol, session: any AppSession) async throws {
    let connector = try HTTPBackendConnector(uploadURL: "https://api.example.com/upload") {
        PowerSyncCredentials(endpoint: "https://sync.example.com", token: try await session.syncToken())
    }
    try await database.connect(connector: connector, options: ConnectOptions(uploadRejectionPolicy: .park))
}

struct RejectsForGood {
    let backend: any AppBackend

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        guard let transaction = try await database.getNextCrudTransaction() else { return }
        do {
            try await backend.apply(transaction.crud)
        } catch let error as BackendError where error.isPermanent {
            throw UploadRejectionError(reason: error.message)
        }
        try await transaction.complete()
    }
}

func parkRejections(
    _ database: any PowerSyncDatabaseProtocol,
    connector: any PowerSyncBackendConnectorProtocol
) async throws {
    try await database.connect(connector: connector, options: ConnectOptions(uploadRejectionPolicy: .park))
}

func showRejectedWrites(_ database: any PowerSyncDatabaseProtocol) async throws {
    for write in try await database.rejectedWrites() where write.kind != .waiting {
        show("\(write.entry.table)/\(write.entry.id): \(write.reason)")
    }
}

/// A backend that says which entries it refuses.
protocol JudgingBackend: Sendable {
    func apply(_ entries: [CrudEntry]) async throws -> [(entry: CrudEntry, message: String)]
}

func rejectInTheConnector(_ transaction: CrudTransaction, backend: any JudgingBackend) async throws {
    let refused = try await backend.apply(transaction.crud)  // [(entry, message)]
    try await transaction.complete(
        rejecting: refused.map { UploadRejection($0.entry, reason: $0.message) }
    )
}

func waitForTheBackend(
    _ database: any PowerSyncDatabaseProtocol,
    connector: any PowerSyncBackendConnectorProtocol,
    backend: any AppBackend
) async throws -> Int {
    try await database.connect(connector: connector, options: ConnectOptions(checkpointMode: .requests()))
    let total = try await backend.recalculate()
    let request = try await database.requestCheckpoint()
    try await request.waitForSync(timeout: 10)
    return total
}
