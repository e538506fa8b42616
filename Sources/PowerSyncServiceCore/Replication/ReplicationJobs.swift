/// The jobs of a replicator, and which streams they are for; no tasks.
///
/// ```
/// PROCESSING, ACTIVE ──► replicate ──ends, or is stopped──► STOP ──► delete ──ends──► (none)
/// ```
///
/// A stream has one job at a time, so its data is not deleted before its writer has stopped. A job of replication is stopped, and another
/// one is started, when rows are to be evaluated for other configs.
struct ReplicationJobs {
    /// What a job does.
    enum Kind: Sendable {
        /// Replicates the source into the stream.
        case replicate
        /// Deletes the stream's data.
        case delete
    }

    /// A job to be started.
    struct Job: Sendable {
        var kind: Kind
        var stream: ReplicationStream
        /// Advanced when the job has to end.
        var stop: ChangeSignal
    }

    /// What is to be done.
    struct Changes: Sendable {
        var started: [Job] = []
        /// What to advance.
        var stopped: [ChangeSignal] = []
    }

    private var running: [ReplicationStreamID: (kind: Kind, configs: [Int64], stop: ChangeSignal)] = [:]

    /// Whether a stream is replicated.
    var isReplicating: Bool { running.values.contains { $0.kind == .replicate } }

    /// The streams have been read.
    ///
    /// Deletions run one after the other, and in the order of the streams.
    mutating func update(_ streams: [ReplicationStream]) -> Changes {
        var changes = Changes()
        for stream in streams {
            let job = running[stream.id]
            if stream.state.isReplicated, job == nil {
                changes.started.append(start(.replicate, stream))
            } else if stream.state == .stop, job == nil, !running.values.contains(where: { $0.kind == .delete }) {
                changes.started.append(start(.delete, stream))
            }
        }
        let replicated = Dictionary(
            uniqueKeysWithValues: streams.filter(\.state.isReplicated).map { ($0.id, $0.writtenConfigs) }
        )
        let outdated = running.filter { $0.value.kind == .replicate && replicated[$0.key] != $0.value.configs }
        changes.stopped = outdated.map(\.value.stop)
        return changes
    }

    private mutating func start(_ kind: Kind, _ stream: ReplicationStream) -> Job {
        let stop = ChangeSignal()
        running[stream.id] = (kind, stream.writtenConfigs, stop)
        return Job(kind: kind, stream: stream, stop: stop)
    }

    /// The job of a stream has ended.
    mutating func ended(_ stream: ReplicationStreamID) {
        running[stream] = nil
    }
}
