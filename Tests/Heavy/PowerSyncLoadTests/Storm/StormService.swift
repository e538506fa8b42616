import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncTesting

@testable import PowerSyncClient

/// A service that answers everything at once: one bucket with one row, and a checkpoint for each write checkpoint.
final class StormService: Sendable {
    let transport = ScriptedTransport()
    private let state = NIOLockedValueBox<(writeCheckpoint: Int64, streams: [ScriptedStream])>((0, []))

    /// Serves until the task is cancelled.
    func run() async {
        await withTaskGroup { tasks in
            tasks.addTask {
                while let stream = try? await self.transport.nextStream() {
                    stream.accept()
                    var lines: [SyncLine] = stream.request.buckets.isEmpty ? [self.row] : []
                    lines.append(self.completion)
                    let writeCheckpoint = self.state.withLockedValue { state in
                        state.streams.removeAll(where: \.isClosed)
                        state.streams.append(stream)
                        return state.writeCheckpoint
                    }
                    stream.send([self.checkpoint(writeCheckpoint)] + lines)
                }
            }
            tasks.addTask {
                while let request = try? await self.transport.nextWriteCheckpoint() {
                    let (writeCheckpoint, streams) = self.state.withLockedValue { state in
                        state.writeCheckpoint += 1
                        return (state.writeCheckpoint, state.streams)
                    }
                    request.respond(writeCheckpoint)
                    for stream in streams { stream.send(self.checkpoint(writeCheckpoint), self.completion) }
                }
            }
        }
    }

    private func checkpoint(_ writeCheckpoint: Int64) -> SyncLine {
        let bucket = BucketDescription(name: BucketName("a"), checksum: .zero, priority: Priority(3), count: 1)
        return .checkpoint(
            Checkpoint(lastOpID: OpID(1), writeCheckpoint: WriteCheckpoint(writeCheckpoint), buckets: [bucket])
        )
    }

    private var row: SyncLine {
        var line = DataLine(bucket: BucketName("a"))
        line.append(
            .put,
            opID: OpID(1),
            checksum: .zero,
            objectType: "lists",
            objectID: "a1",
            data: #"{"name":"remote"}"#
        )
        return .data(line)
    }

    private let completion = SyncLine.checkpointComplete(CheckpointComplete(lastOpID: nil))
}
