import Hummingbird
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncAuth

/// Write checkpoints, whose numbers the service or the client chooses (docs/protocol.md "Write checkpoints").
extension ServiceRoutes {
    /// `GET /write-checkpoint2.json?client_id=…`.
    func createWriteCheckpoint(_ request: Request) async throws -> Response {
        let (token, parameters) = try await received(request)
        let key = token.writeCheckpointKey(clientID: try parameters.clientID())
        let checkpoint = try await acknowledging { try await writeCheckpoints.create(userKey: key) }
        return Response(data: ["write_checkpoint": .string(checkpoint.description)])
    }

    /// `POST /sync/checkpoint-request` with `{"client_id":"c1","checkpoint_request_id":"42"}`.
    func requestCheckpoint(_ request: Request) async throws -> Response {
        let (token, parameters) = try await received(request)
        _ = try parameters.requiredString("client_id")
        let key = token.writeCheckpointKey(clientID: try parameters.clientID())
        let id = try parameters.requiredWriteCheckpoint("checkpoint_request_id")
        let recorded = try await acknowledging { try await writeCheckpoints.request(id, userKey: key) }
        return Response(data: ["checkpoint_request_id": .string(recorded.description)])
    }

    /// Records a write checkpoint with a slot, as ``whileFilesAreWhole(_:)``.
    private func acknowledging(_ record: () async throws -> WriteCheckpoint) async throws -> WriteCheckpoint {
        try checkFiles()
        return try await checkpointQueue.withSlot { try await whileFilesAreWhole(record) }
    }

    /// Runs an operation whose success clients rely on, unless database files are gone or damaged.
    ///
    /// ``DataFileWatch`` looks at the files each second. If the operation fails, they are looked at once more, because
    /// an error of a database whose files have just gone says nothing of the kind.
    ///
    /// - Throws: ``ErrorEnvelope`` with status 503, or what `body` throws.
    func whileFilesAreWhole<Result>(_ body: () async throws -> Result) async throws -> Result {
        try checkFiles()
        do {
            return try await body()
        } catch {
            if error is CancellationError || Task.isCancelled { throw CancellationError() }
            try await files?.lookNow()
            try checkFiles()
            throw error
        }
    }

    private func checkFiles() throws {
        if probes.has(.files) { throw ErrorEnvelope.unhealthy(Probes.Problem.files.rawValue) }
    }

    /// Checks the token of a request and reads its parameters, before it takes a slot of those that are served.
    private func received(_ request: Request) async throws -> (VerifiedToken, RequestParameters) {
        try await checkpointArrivals.withSlot {
            let token = try await authorize(request)
            // Refused as if there were too many requests of all users.
            guard let reservation = try? checkpointArrivalsOfUsers.reserve(token.userID) else {
                throw ConcurrencyQueue.Failure.overflow
            }
            defer { reservation.release() }
            var request = request
            // Two short texts.
            let parameters = try await parameters(
                of: &request,
                bodyLimit: Self.strangerBodyLimit,
                timeLimit: RequestParameters.strangerBodyTimeLimit
            )
            return (token, parameters)
        }
    }
}

extension RequestParameters {
    /// The id of the client, if it sends one.
    ///
    /// - Throws: ``ErrorEnvelope`` with status 400 when it is not a text, or too long for a key.
    fileprivate func clientID() throws -> String? {
        let id = try string("client_id")
        let limit = StreamingSyncRequest.maximumClientIDLength
        guard let id, id.utf8.count > limit else { return id }
        throw ErrorEnvelope.validationFailed(["client_id must have at most \(limit) bytes"])
    }

    /// Integers up to this magnitude survive JSON implementations that have only doubles: 2^53 − 1.
    private static let safeIntegers = 1...((Int64(1) << 53) - 1)

    /// A number that must be there: decimal digits as text, or a JSON integer that is exact everywhere.
    ///
    /// - Throws: ``ErrorEnvelope`` with status 400 when it is missing, something else, or not positive.
    fileprivate func requiredWriteCheckpoint(_ name: String) throws -> WriteCheckpoint {
        switch members[name] {
        case nil:
            throw ErrorEnvelope.validationFailed(["\(name) is required"])
        case .string(let text):
            if let checkpoint = WriteCheckpoint(decimal: text), checkpoint.rawValue > 0 { return checkpoint }
        case .integer(let number) where Self.safeIntegers.contains(number):
            return WriteCheckpoint(number)
        default: break
        }
        throw ErrorEnvelope.validationFailed([
            "\(name) must be a string with a number from 1 to 9223372036854775807, or an integer up to 9007199254740991"
        ])
    }
}
