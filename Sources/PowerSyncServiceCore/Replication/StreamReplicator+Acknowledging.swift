/// What the source hears of what is stored.
extension StreamReplicator {
    /// How long a replicator whose task is cancelled waits for its storage and its source.
    private static let lastPatience = Duration.seconds(2)

    /// Tells the source what is stored.
    func acknowledge(with writer: inout any BucketStorageWriter, progress: inout Progress) async throws {
        progress.isUnacknowledged = false
        guard let durable = try await writer.makeDurable() else { return }
        try await source.acknowledge(durable, of: stream.sourceHandle)
    }

    /// Tells the source of the last checkpoint, after which nothing has come for a while.
    func acknowledgeLast(with writer: inout any BucketStorageWriter, progress: inout Progress) async throws {
        guard progress.isUnacknowledged else { return }
        progress.isUnacknowledged = false
        guard source.wantsLastAcknowledgement(of: progress.position.lsn, by: stream.sourceHandle) else { return }
        try await acknowledge(with: &writer, progress: &progress)
    }

    /// Tells the source of the last checkpoint although the task is cancelled: an upgrade of the source's server may wait for it.
    func acknowledgeAtTheEnd(with writer: any BucketStorageWriter, _ progress: Progress) async {
        guard progress.isUnacknowledged else { return }
        let last = LastUse(writer: writer)
        await Task {
            // Whatever cannot be said now is said after the next start.
            try? await firstOf {
                var writer = last.writer
                guard let durable = try await writer.makeDurable(),
                    source.wantsLastAcknowledgement(of: durable.position.lsn, by: stream.sourceHandle)
                else { return }
                try await source.acknowledge(durable, of: stream.sourceHandle)
            } or: {
                try await Task.sleep(for: Self.lastPatience)
            }
        }.value
    }
}

/// A writer that another task uses while its own one waits.
private struct LastUse: @unchecked Sendable {
    // @unchecked: no other task has the writer meanwhile.
    let writer: any BucketStorageWriter
}
