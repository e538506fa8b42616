import GRDB
import NIOCore
import PowerSyncCoreTestSupport
import PowerSyncProtocol

@testable import PowerSyncCore

/// One thing that happens to a client in a random transcript.
struct TranscriptStep {
    enum Kind {
        /// The engine gets an event, in a transaction with others or not.
        case event(SyncEvent)
        /// A transaction of the app, or of another part of the client.
        case local(LocalChange)
        /// The app applies another schema.
        case schema(TranscriptSchema)
    }

    var kind: Kind
    /// The time that the step happens at; what shares a transaction happens at the same time.
    var now: SyncInstant
    /// Whether the engine ended the iteration at this step.
    var endsIteration = false
    /// What a new process hears of the service if the old one ends after this step, before the next one happens;
    /// `nil` when the service would go on in another way then.
    var resumption: [SyncEvent]?
    /// What the client looks like afterwards; `nil` where nobody looked.
    var state: ClientState?
}

// MARK: - For people

extension TranscriptStep: CustomStringConvertible {
    var description: String {
        switch kind {
        case .event(let event): event.notation + (endsIteration ? "   (ends the iteration)" : "")
        case .local(let change): "    app: \(change)"
        case .schema(let schema): "    app: schema with \(schema)"
        }
    }
}

extension SyncEvent {
    fileprivate var notation: String {
        switch self {
        case .start: "start"
        case .stop: "stop"
        case .streamOpened: "stream opened"
        case .streamEnded: "stream ended"
        case .line(let received): received.line.notation
        case .tokenRefreshed: "token refreshed"
        case .uploadCompleted: "upload completed"
        case .keepaliveAnswered: "keepalive answered"
        case .subscriptionStored(let stream): "subscription stored: \(stream.key)"
        case .subscriptionsChanged: "subscriptions changed"
        }
    }
}

extension SyncLine {
    fileprivate var notation: String {
        switch self {
        case .checkpoint(let line):
            "checkpoint \(line.lastOpID) \(line.buckets.map(\.notation)) write \(line.writeCheckpoint?.description ?? "-")"
                + " streams \(line.streams.map(\.name))"
        case .checkpointDiff(let line):
            "diff \(line.lastOpID) \(line.updatedBuckets.map(\.notation)) removed \(line.removedBuckets)"
                + " write \(line.writeCheckpoint?.description ?? "-")"
        case .data(let line): line.notation
        case .checkpointComplete: "complete"
        case .partialCheckpointComplete(let line): "partially complete \(line.priority)"
        case .keepalive(let seconds): "token expires in \(seconds)"
        case .unknown(let kind): "unknown \(kind)"
        }
    }
}

extension BucketDescription {
    fileprivate var notation: String {
        "\(name) priority \(priority) sum \(checksum.rawValue) count \(count.map(String.init) ?? "-") \(reasons)"
    }
}

extension DataLine {
    fileprivate var notation: String {
        func text(_ range: TextRange?) -> String {
            range.flatMap { self.text.getString(at: self.text.readerIndex + Int($0.offset), length: Int($0.count)) }
                ?? "-"
        }
        let operations = operations.map { operation in
            let row = "\(text(operation.objectType))/\(text(operation.objectID))/\(text(operation.subkey))"
            return switch operation.kind {
            case .put: "\(operation.opID) PUT \(row) \(text(operation.data)) +\(operation.checksum.rawValue)"
            case .remove: "\(operation.opID) REMOVE \(row) +\(operation.checksum.rawValue)"
            case .move: "\(operation.opID) MOVE +\(operation.checksum.rawValue)"
            case .clear: "\(operation.opID) CLEAR +\(operation.checksum.rawValue)"
            }
        }
        return "data \(bucket) \(operations)"
    }
}
