import Hummingbird
import PowerSyncProtocol
import PowerSyncServiceCore

/// Endpoints that make a back end unnecessary while developing (docs/service.md "The embedded source").
extension ServiceRoutes {
    /// How long development tokens are valid, in seconds.
    private static let tokenLifetime: Int64 = 12 * 3600

    /// `POST /dev/token` with `user_id`: a token for any user.
    func signToken(_ request: Request, with signer: DevelopmentTokenSigner) async throws -> Response {
        try await apiQueue.withSlot {
            var request = request
            let parameters = try await parameters(
                of: &request,
                bodyLimit: Self.strangerBodyLimit,
                timeLimit: RequestParameters.strangerBodyTimeLimit
            )
            let userID = try parameters.requiredString("user_id")
            let (token, expiresAt) = signer.token(
                userID: userID,
                lifetime: Self.tokenLifetime,
                now: sessions.timing.seconds
            )
            return Response(
                data: ["token": .string(token), "user_id": .string(userID), "expires_at": .integer(expiresAt)])
        }
    }

    /// `POST /dev/write` with `{"data":[{"op":"PUT","type":"lists","id":"l1","data":{…}}]}`: all writes or none.
    func write(_ request: Request, to source: any WritableSource) async throws -> Response {
        try await apiQueue.withSlot {
            _ = try await authorize(request)
            var request = request
            let parameters = try await parameters(of: &request, bodyLimit: Self.writeBodyLimit)
            guard case .array(let entries) = parameters.members["data"] else {
                throw ErrorEnvelope.validationFailed(["data must be an array of writes"])
            }
            if probes.has(.files) { throw ErrorEnvelope.unhealthy(Probes.Problem.files.rawValue) }
            let writes = try entries.enumerated().map { try Self.write($1, at: $0) }
            do {
                try await source.apply(writes)
            } catch let error as SourceWriteError {
                throw ErrorEnvelope.validationFailed(["data[\(error.index)]: \(error.message)"])
            }
            return Response(data: ["applied": .integer(Int64(writes.count))])
        }
    }

    private static func write(_ entry: JSONValue, at index: Int) throws -> SourceWrite {
        func fail(_ message: String) -> ErrorEnvelope { .validationFailed(["data[\(index)]: \(message)"]) }
        guard case .object(let entry) = entry else { throw fail("must be an object") }
        guard case .string(let op) = entry["op"] else { throw fail("op must be PUT, PATCH or DELETE") }
        guard case .string(let table) = entry["type"] else { throw fail("type must be the name of a table") }
        guard case .string(let id) = entry["id"] else { throw fail("id must be a string") }
        let values: JSONObject
        switch entry["data"] {
        case nil, .null: values = JSONObject()
        case .object(let object): values = object
        default: throw fail("data must be an object of columns")
        }
        switch op {
        case "PUT": return SourceWrite(.put, table: table, id: id, values: values)
        case "PATCH": return SourceWrite(.patch, table: table, id: id, values: values)
        case "DELETE": return SourceWrite(.delete, table: table, id: id)
        default: throw fail("op must be PUT, PATCH or DELETE, not \"\(op)\"")
        }
    }
}
