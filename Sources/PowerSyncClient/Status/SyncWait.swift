public import Foundation
import PowerSyncProtocol

/// Something that a connected database waits for.
public struct SyncWait: Sendable {
    /// What a database can wait for.
    ///
    /// More cases may come: give a `switch` a `default`.
    public enum Reason: Sendable {
        /// The app's `fetchCredentials`, which has not returned yet.
        case credentials
        /// The head of the service's response.
        case service
        /// The service's response: this many local writes are uploaded when its first line has come.
        ///
        /// With 0 entries, everything is uploaded, and a write checkpoint is to be requested.
        case stream(entries: Int)
        /// A connection that uploads, since this one has ``ConnectionMode/downloadOnly``; this many local writes are queued.
        case downloadOnly(entries: Int)
        /// The app's `uploadData`, which has not returned yet; this many local writes are queued.
        case upload(entries: Int)
        /// The app's method with this name, `uploadData`, which was cancelled after its limit and has not returned: local writes wait
        /// for it, see ``ConnectOptions/uploadLimit``.
        case overdueCall(String)
        /// The service's answer to the request for a write checkpoint: everything is uploaded.
        case writeCheckpointRequest
        /// A checkpoint that contains this write checkpoint, and thereby everything that was uploaded.
        case writeCheckpoint(Int64)
        /// Lines of the service's response, which has begun, but is collected on the way: by a proxy that buffers responses.
        ///
        /// Lines arrive late, or not at all before the connection is given up and opened again. The log says what was
        /// noticed. Switch response buffering off for `/sync/stream` in the proxy, or use
        /// ``SyncTransportMethod/webSocket``. With the value of the response's `Via` header, if there is one.
        case bufferedStream(via: String?)
        /// The acknowledgement of local writes, before which the checkpoint with this number is not shown.
        case localWrites(checkpoint: Int64)
        /// The next attempt, after a failure.
        ///
        /// Without an error the stream has ended normally, or the app's own code was cancelled.
        case retry(at: Date, error: (any Error)?)
        /// The next attempt to reach the service, which does not answer.
        case serviceUnreachable(retryAt: Date, error: any Error)
    }

    /// What is being waited for.
    public let reason: Reason
    /// Since when there is no progress.
    ///
    /// Attempts that fail are no progress: while the service cannot be reached, this is when the first one began.
    public let since: Date
}

extension SyncWait.Reason: CustomStringConvertible {
    /// What is being waited for, for a log.
    public var description: String {
        switch self {
        case .credentials: "the app's credentials"
        case .service: "the sync service to answer"
        case .stream(let entries): "the connection to be open, to upload \(SyncWait.Reason.writes(entries))"
        case .downloadOnly(let entries):
            "a connection that uploads \(SyncWait.Reason.writes(entries)): this one does not"
        case .upload(let entries): "the app to upload \(SyncWait.Reason.writes(entries))"
        case .overdueCall(let call): "the app's \(call) to return, which was cancelled"
        case .writeCheckpointRequest: "the sync service to make a write checkpoint"
        case .writeCheckpoint(let id): "a checkpoint that contains write checkpoint \(id)"
        case .bufferedStream(nil): "the lines of the sync service, which a proxy seems to buffer"
        case .bufferedStream(let via?): "the lines of the sync service, which a proxy seems to buffer (\(via))"
        case .localWrites(let checkpoint): "local writes to be acknowledged, to show checkpoint \(checkpoint)"
        case .retry(let date, nil): "the next attempt at \(date)"
        case .retry(let date, let error?): "the next attempt at \(date), after \(error.lineOfText)"
        case .serviceUnreachable(let date, let error):
            "the sync service to be reachable at \(date), after \(error.lineOfText)"
        }
    }
}

extension SyncWait.Reason {
    private static func writes(_ count: Int) -> String {
        count.counted("local write")
    }

    /// What the reasons of different cases differ in, for messages that are told once.
    enum Kind: Hashable, Sendable {
        case credentials, service, stream, downloadOnly, bufferedStream, upload, overdueCall, writeCheckpointRequest,
            writeCheckpoint
        case localWrites, retry
    }

    /// The case.
    var kind: Kind {
        switch self {
        case .credentials: .credentials
        case .service: .service
        case .stream: .stream
        case .downloadOnly: .downloadOnly
        case .upload: .upload
        case .overdueCall: .overdueCall
        case .writeCheckpointRequest: .writeCheckpointRequest
        case .writeCheckpoint: .writeCheckpoint
        case .bufferedStream: .bufferedStream
        case .localWrites: .localWrites
        case .retry, .serviceUnreachable: .retry
        }
    }

    /// The wait after a failure.
    ///
    /// - Parameters:
    ///   - date: When the next attempt begins.
    ///   - error: Why the last one ended, if not normally.
    /// - Returns: Says whether the service could not be reached.
    static func retry(at date: Date, after error: (any Error)?) -> SyncWait.Reason {
        if let error = error as? SyncTransportError, error.code == .connection || error.code == .idle {
            return .serviceUnreachable(retryAt: date, error: error)
        }
        return .retry(at: date, error: error)
    }
}

extension SyncWait: CustomStringConvertible {
    /// What is being waited for and since when, for a log.
    public var description: String { "waiting for \(reason), since \(since)" }
}
