import NIOCore
import PowerSync
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServiceCore
import PowerSyncAuth

/// Reaches a ``FakeService`` without a network: sessions of the real service make real lines, which the client reads.
struct InProcessTransport: SyncTransport {
    let connection: InProcessConnection

    private var service: FakeService { connection.service }

    func openStream(
        _ request: StreamingSyncRequest,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> any SyncLineStream {
        try await answering("POST", "/sync/stream", credentials, log, body: request.encodedJSON()) { token in
            // What the service reads is what the client would have sent.
            let request = try StreamingSyncRequest(json: request.encodedJSON())
            service.startDispatching()
            let opened = try await OpenedSyncStream(
                request,
                token: token,
                schedule: KeepaliveSchedule(expiresAt: token.expiresAt),
                format: .bson,
                transport: .http,
                userAgent: "in-process",
                environment: service.sessions,
                logger: FakeService.logger
            )
            return try InProcessLineStream(
                opened,
                connection: connection,
                clientID: request.clientID,
                userKey: token.writeCheckpointKey(clientID: request.clientID)
            )
        }
    }

    func writeCheckpoint(
        clientID: String,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> WriteCheckpoint {
        try await answering("GET", "/write-checkpoint2.json", credentials, log) { token in
            try service.makeWriteCheckpoint(userKey: token.writeCheckpointKey(clientID: clientID))
        }
    }

    func requestCheckpoint(
        _ id: WriteCheckpoint,
        clientID: String,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> WriteCheckpoint {
        try await answering("POST", "/sync/checkpoint-request", credentials, log) { token in
            try service.makeWriteCheckpoint(id, userKey: token.writeCheckpointKey(clientID: clientID))
        }
    }

    /// Answers a request as the service does.
    private func answering<Answer>(
        _ method: String,
        _ path: String,
        _ credentials: ServiceCredentials,
        _ log: SyncRequestLog,
        body: ByteBuffer? = nil,
        _ answer: (VerifiedToken) async throws -> Answer
    ) async throws -> Answer {
        let url = credentials.endpoint.url(path: path)
        let target = "\(method) \(url)"
        log.requestWillStart(method, url: url, headers: [], body: body.map { String(buffer: $0) })
        do {
            try connection.checkOnline(target)
            try await connection.delay()
            try connection.checkOnline(target)
            try connection.checkTokens()
            let token = try await service.verifier.verify(
                authorization: "Token \(credentials.token)",
                now: service.sessions.timing.seconds
            )
            let result = try await answer(token)
            log.responseStarted(status: 200, url: url, headers: [])
            return result
        } catch {
            try Task.checkCancellation()
            let error = SyncTransportError(target, error)
            log.failed(error)
            throw error
        }
    }
}

extension SyncTransportError {
    /// What a client is told about a request that failed.
    fileprivate init(_ target: String, _ error: any Error) {
        if let error = error as? SyncTransportError {
            self = error
            return
        }
        let envelope =
            switch error {
            case is TokenRefusal:
                ErrorEnvelope(
                    code: .authentication,
                    description: "The test has begun the fault refuseToken",
                    name: "AuthorizationError"
                )
            case let error as AuthorizationError:
                ErrorEnvelope(code: error.code, description: error.description, name: "AuthorizationError")
            case let error as BucketLimitError:
                ErrorEnvelope(
                    code: .bucketLimit,
                    description: error.message,
                    name: "ServiceError",
                    details: error.details
                )
            case let error as ManagedWriteCheckpointError:
                ErrorEnvelope(
                    code: .generic,
                    status: 400,
                    description: error.description,
                    name: "ValidationError",
                    details: error.remedy
                )
            case let error as RequestValidationError:
                ErrorEnvelope.validationFailed(error.messages)
            default:
                ErrorEnvelope.internalError(details: "\(error)")
            }
        self.init(
            .status,
            message: "\(target) failed with status \(envelope.httpStatus): \(String(buffer: envelope.encodedJSON()))",
            httpStatus: envelope.httpStatus,
            serviceCode: envelope.code
        )
    }
}
