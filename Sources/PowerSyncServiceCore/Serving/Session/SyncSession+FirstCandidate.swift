package import PowerSyncAuth
package import PowerSyncProtocol
import PowerSyncSyncConfig

extension SyncSession {
    /// Finds the buckets of a client that connects for the first time, without a session.
    ///
    /// - Parameters:
    ///   - request: What the client asks for; what it has does not count.
    ///   - token: Who it is.
    ///   - environment: What sessions share.
    /// - Returns: The buckets at the newest checkpoint, with their checksums.
    /// - Throws: ``BucketStorageError`` with code `noActiveStream`, `checkpointInvalidated` or `unknownStream`, `BucketLimitError`, or
    ///   another error of the storage.
    package static func firstCandidate(
        for request: StreamingSyncRequest,
        token: VerifiedToken,
        _ environment: Environment
    ) async throws -> Candidate {
        let storage = environment.storage
        guard let stream = try await storage.activeStream() else { throw BucketStorageError.noActiveStream }
        var checkpoints = storage.checkpoints(of: stream).makeAsyncIterator()
        guard let checkpoint = try await checkpoints.next() else { throw BucketStorageError.noActiveStream }
        let querier = stream.plan.querier(
            for: SyncPlanRequest(
                tokenPayload: token.payload,
                parameters: request.parameters,
                streams: request.streams
            ),
            bucketPrefix: stream.bucketPrefix
        )
        var resolver = BucketResolver(
            storage: storage,
            querier: querier,
            limits: environment.limits,
            writeCheckpoints: WriteCheckpointOrigin(stream.plan, token, clientID: request.clientID)
        )
        return try await resolver.candidate(for: CheckpointNews(checkpoint: checkpoint, scope: .unknown))
    }
}
