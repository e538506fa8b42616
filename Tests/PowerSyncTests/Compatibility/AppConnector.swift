import Foundation
import PowerSync

/// PostgreSQL error codes after which trying again does not help.
private enum PostgresFatalCodes {
    /// Data exceptions, integrity constraint violations, and insufficient privilege.
    static let fatalResponseCodes: [String] = ["22...", "23...", "42501"]

    static func isFatalError(_ code: String) -> Bool {
        fatalResponseCodes.contains { pattern in
            code.range(of: pattern, options: [.regularExpression]) != nil
        }
    }

    static func extractErrorCode(from error: any Error) -> String? {
        if let error = error as? PostgrestError { return error.code }
        return nil
    }
}

/// Uploads with the REST client of the backend, and signs in with its session.
@MainActor
final class SupabaseConnector: PowerSyncBackendConnectorProtocol {
    let powerSyncEndpoint = "https://sync.example.com"
    let client: BackendClient
    private(set) var session: BackendClient.Session?

    init(client: BackendClient) {
        self.client = client
    }

    var currentUserID: String? { session?.userID }

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        session = try await client.session
        guard let token = session?.accessToken else { throw AuthError.sessionMissing }
        return PowerSyncCredentials(endpoint: powerSyncEndpoint, token: token)
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        guard let transaction = try await database.getNextCrudTransaction() else { return }

        var lastEntry: CrudEntry?
        do {
            for entry in transaction.crud {
                lastEntry = entry
                let table = client.from(entry.table)

                switch entry.op {
                case .put:
                    var data = entry.opData ?? [:]
                    data["id"] = entry.id
                    try await table.upsert(data)
                case .patch:
                    guard let opData = entry.opData else { continue }
                    try await table.update(opData, id: entry.id)
                case .delete:
                    try await table.delete(id: entry.id)
                }
            }

            try await transaction.complete()
        } catch {
            if let errorCode = PostgresFatalCodes.extractErrorCode(from: error),
                PostgresFatalCodes.isFatalError(errorCode)
            {
                // An error that the user cannot fix: discarding the entry keeps the queue from blocking.
                database.logger.error("Data upload error: \(error)", tag: "SupabaseConnector")
                database.logger.error("Discarding entry: \(String(describing: lastEntry))", tag: nil)
                try await transaction.complete()
                return
            }
            database.logger.warning(
                "Data upload error - retrying: \(String(describing: lastEntry)), \(error)",
                tag: nil
            )
            throw error
        }
    }
}

enum AuthError: Error { case sessionMissing }

struct PostgrestError: Error { let code: String }

/// Uploads batches of mixed transactions, for a backend that takes operations as JSON.
struct BatchConnector: PowerSyncBackendConnectorProtocol {
    let client: BackendClient
    let writeCheckpoint: String?

    func fetchCredentials() async throws -> PowerSyncCredentials? { nil }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        guard let batch = try await database.getCrudBatch(limit: 50) else { return }
        for entry in batch.crud {
            let payload: JsonParam = [
                "op": .string(entry.op.rawValue),
                "table": .string(entry.table),
                "id": .string(entry.id),
                "client_id": .int(Int(entry.clientId)),
                "tx_id": entry.transactionId.map { .int(Int($0)) } ?? .null,
                "data": entry.opDataTyped.map { .object($0) } ?? .null,
                "old": entry.previousValuesTyped.map(JsonValue.object) ?? .null,
                "metadata": entry.metadata.map(JsonValue.string) ?? .null,
            ]
            try await client.post(JSONEncoder().encode(payload))
        }
        // A last page of the queue: with `hasMore` the app would fetch the next one right away.
        try await batch.complete(writeCheckpoint: batch.hasMore ? nil : writeCheckpoint)
    }
}

/// A connector that is an actor, and uploads all transactions in one go.
actor TransactionsConnector: PowerSyncBackendConnectorProtocol {
    private(set) var uploaded: [[String]] = []

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        PowerSyncCredentials(endpoint: "https://sync.example.com", token: "jwt")
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        for try await transaction in database.getCrudTransactions() {
            uploaded.append(transaction.crud.map(\.id))
            try await transaction.complete()
        }
    }
}
