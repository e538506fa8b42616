import Foundation
import Hummingbird
import Logging
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
    func write(_ request: Request, to source: any WritableSource, _ logger: Logger) async throws -> Response {
        try await apiQueue.withSlot {
            let token = try await authorize(request)
            var request = request
            let parameters = try await parameters(of: &request, bodyLimit: Self.writeBodyLimit, halfPairs: .replaced)
            do {
                var upload = try UploadRequest(members: parameters.members, readFrom: parameters.body)
                if upload.clientID == nil {
                    for index in upload.entries.indices { upload.entries[index].transactionID = 0 }
                }
                let response = try await whileFilesAreWhole { [upload] in
                    try await findColumns(of: upload, in: source, logger)
                    return try await source.apply(upload, for: token.userID)
                }
                await findUnreturned(upload, in: source, of: token.userID, logger)
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

    /// Adds the columns that an upload writes and its tables lack, or says how.
    private func findColumns(of upload: UploadRequest, in source: any WritableSource, _ logger: Logger) async throws {
        let missing = try await source.missingColumns(for: upload)
        guard !missing.isEmpty else { return }
        if addsColumns { try await source.add(missing) }
        for column in missing {
            let metadata: Logger.Metadata = [LogKey.table: "\(column.table)", LogKey.statement: "\(column.statement)"]
            if addsColumns {
                logger.notice("A client writes a column that its table has lacked: it was added", metadata: metadata)
            } else {
                logger.warning(
                    "A client writes a column that its table lacks",
                    metadata: metadata.merging(
                        [LogKey.remedy: "Run the statement, or let powersync dev --add-columns do it."]
                    ) { $1 }
                )
            }
        }
    }

    /// Says which rows of an upload no stream gives back.
    ///
    /// The upload is through: when the storage or the source cannot be asked, nothing is said.
    private func findUnreturned(
        _ upload: UploadRequest,
        in source: any WritableSource,
        of userID: String,
        _ logger: Logger
    ) async {
        let findings: [UnreturnedWrites.Finding]
        do {
            guard let stream = try await sessions.storage.activeStream() else { return }
            findings = try await UnreturnedWrites.find(in: upload, source, stream.plan)
        } catch {
            logger.debug(
                "It could not be looked which rows no stream gives back",
                metadata: [LogKey.error: "\(error)"]
            )
            return
        }
        for finding in findings {
            logger.warning(
                "A row was written that no stream gives back",
                metadata: [
                    LogKey.table: "\(finding.table)", LogKey.rowKey: "id=\(finding.id)", LogKey.userID: "\(userID)",
                    LogKey.reason: "\(finding.reason)",
                    LogKey.remedy: """
                    Write a value there, or add a query that takes the row: its own device loses it with the next checkpoint.
                    """,
                ]
            )
        }
    }
}
