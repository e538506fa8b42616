import Foundation
import Hummingbird
import PowerSyncBackend
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncAuth
import PowerSyncUpload

/// Endpoints that make a back end unnecessary while developing (docs/service.md "The embedded source").
extension ServiceRoutes {
    /// How long development tokens are valid.
    private static let tokenLifetime = Duration.seconds(12 * 3600)

    /// `POST /dev/token` with `user_id`: a token for any user.
    func signToken(_ request: Request, with signer: SyncTokenSigner) async throws -> Response {
        try await apiQueue.withSlot {
            var request = request
            let parameters = try await parameters(
                of: &request,
                bodyLimit: Self.strangerBodyLimit,
                timeLimit: RequestParameters.strangerBodyTimeLimit
            )
            let userID = try parameters.requiredString("user_id")
            let token = try signer.token(
                userID: userID,
                lifetime: Self.tokenLifetime,
                now: Date(timeIntervalSince1970: sessions.timing.seconds)
            )
            let expiresAt = Int64(token.expiresAt.timeIntervalSince1970)
            return Response(
                data: ["token": .string(token.text), "user_id": .string(userID), "expires_at": .integer(expiresAt)])
        }
    }

    /// `POST /dev/write` with an `UploadRequest`: `{"client_id":"…","data":[{"op_id":1,"op":"PUT","type":"lists",…}]}`.
    ///
    /// Without a client, numbers are not needed, and all writes are one transaction: applied as a whole, or refused.
    func write(_ request: Request, to source: any WritableSource) async throws -> Response {
        try await apiQueue.withSlot {
            let token = try await authorize(request)
            var request = request
            let parameters = try await parameters(of: &request, bodyLimit: Self.writeBodyLimit, halfPairs: .replaced)
            do {
                var upload = try UploadRequest(members: parameters.members, readFrom: parameters.body)
                if upload.clientID == nil {
                    for index in upload.entries.indices { upload.entries[index].transactionID = 0 }
                }
                let response = try await whileFilesAreWhole { try await source.apply(upload, for: token.userID) }
                guard upload.clientID == nil else { return Response(json: response.members) }
                let cause = response.rejections.first { $0.code != .transactionRejected }
                if let cause, let index = upload.entries.firstIndex(where: { $0.operationID == cause.operationID }) {
                    throw ErrorEnvelope.validationFailed(["data[\(index)]: \(cause.message)"])
                }
                return Response(data: ["applied": .integer(Int64(upload.entries.count))])
            } catch let error as UploadFormatError {
                throw ErrorEnvelope.validationFailed([error.message])
            }
        }
    }
}
