import Foundation
import NIOConcurrencyHelpers
import PowerSync
import PowerSyncBackend
import PowerSyncProtocol
import PowerSyncServiceCore

/// Connects databases to a ``FakeService`` as a user.
final class InProcessConnector: EnvironmentConnector {
    /// The shortest delay after a failure, in seconds: longer than what ends at once, also when it is varied.
    private static let shortestRetryDelay = 0.1

    private let service: FakeService
    private let user: String
    private let claims: JsonParam
    private let tokenLifetime: Duration
    private let uploader: (any PowerSyncBackendConnectorProtocol)?

    init(
        service: FakeService,
        user: String,
        claims: JsonParam,
        tokenLifetime: Duration,
        uploader: (any PowerSyncBackendConnectorProtocol)?
    ) {
        self.service = service
        self.user = user
        self.claims = claims
        self.tokenLifetime = tokenLifetime
        self.uploader = uploader
    }

    func adapt(_ environment: SyncEnvironment, _ options: ConnectOptions) -> (SyncEnvironment, ConnectOptions) {
        let connection = InProcessConnection(to: service, user: user)
        var options = options
        // Tests are not to wait for it.
        options.crudThrottle = 0
        // A delay that ends at once would make attempts without end.
        if !(options.retryDelay >= Self.shortestRetryDelay) { options.retryDelay = Self.shortestRetryDelay }
        let environment = SyncEnvironment(
            transport: InProcessTransport(connection: connection),
            clock: ServiceClock(base: service.clock),
            now: service.now,
            random: { 0.5 },
            retries: connection,
            pausesReopening: false
        )
        return (environment, options)
    }

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        let token = try service.signer.token(
            userID: user,
            lifetime: tokenLifetime,
            claims: claims.filter { !SyncTokenSigner.ownClaims.contains($0.key) },
            now: service.now()
        )
        return PowerSyncCredentials(endpoint: "https://fake-service.invalid", token: token.text)
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        // What is under way when the network goes is lost, however soon that is back.
        let outages = service.state.withLockedValue { $0.outages(of: user) }
        func checkOnline() throws { try self.checkOnline(since: outages) }
        try checkOnline()
        if let uploader { return try await uploader.uploadData(database: database) }
        guard let transaction = try await database.getNextCrudTransaction() else { return }
        let answer = try await service.uploads.receive(
            from: user,
            clientID: try await database.getClientId(),
            transaction.crud,
            checkOnline: checkOnline
        )
        switch answer.kind {
        case .apply:
            try service.rows.apply(transaction.crud.map(RowChange.init), isFromClient: true)
            service.changes.fire()
        case .acknowledge: break
        case .reject(let reason): throw UploadRejectionError(reason: reason)
        case .rejectEntries(let rejections): throw UploadRejectionError(rejections)
        case .fail(let error): throw error
        case .hold: preconditionFailure("an upload was answered with a hold")
        }
        try await transaction.complete()
    }

    /// - Throws: `SyncTransportError` when the user is offline, or has been since there were so many outages.
    private func checkOnline(since outages: Int) throws {
        let isOffline = service.state.withLockedValue { state in
            state.fault(of: user, .offline) != nil || state.outages(of: user) != outages
        }
        guard isOffline else { return }
        throw SyncTransportError(.connection, message: "The upload failed: the test has begun the fault offline.")
    }
}

extension RowChange {
    /// What an uploaded write does.
    fileprivate init(_ entry: CrudEntry) {
        let values = FakeService.Row(entry.opDataTyped ?? [:])
        switch entry.op {
        case .put: self = .upsert(entry.table, entry.id, values)
        case .patch: self = .update(entry.table, entry.id, values)
        case .delete: self = .delete(entry.table, entry.id)
        }
    }
}
