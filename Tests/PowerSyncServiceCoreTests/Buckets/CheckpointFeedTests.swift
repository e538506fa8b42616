import PowerSyncProtocol
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Watching checkpoints.
@Suite(.timeLimit(.minutes(1))) struct CheckpointFeedTests {
    private let streamID = ServedConfigID(stream: ReplicationStreamID(rawValue: 1), config: 1)

    private func checkpoint(_ opID: Int64, _ lsn: Int64, stream: Int64 = 1) -> StorageCheckpoint {
        StorageCheckpoint(streamID: ReplicationStreamID(rawValue: stream), opID: OpID(opID), lsn: .at(lsn))
    }

    @Test func firstElementIsTheCurrentCheckpoint() async throws {
        let feed = CheckpointFeed(checkpoint(1, 1))
        var checkpoints = feed.checkpoints(of: streamID).makeAsyncIterator()
        #expect(try await checkpoints.next() == checkpoint(1, 1))
    }

    @Test func slowReaderGetsTheLatestCheckpointOnly() async throws {
        let feed = CheckpointFeed(checkpoint(1, 1))
        var checkpoints = feed.checkpoints(of: streamID).makeAsyncIterator()
        _ = try await checkpoints.next()
        for opID in 2...10 as ClosedRange<Int64> { feed.publish(checkpoint(opID, opID)) }
        #expect(try await checkpoints.next() == checkpoint(10, 10))
    }

    /// Another config of the stream ends the sequence, as another stream does; what the writer has published before comes too late.
    @Test func anotherConfigOfTheStreamEndsTheSequence() async throws {
        let feed = CheckpointFeed(checkpoint(5, 5))
        var checkpoints = feed.checkpoints(of: streamID).makeAsyncIterator()
        _ = try await checkpoints.next()
        var switched = checkpoint(5, 5)
        switched.configNumber = 2
        feed.publish(switched)
        feed.publish(checkpoint(6, 6))
        #expect(feed.current == switched)
        #expect(try await checkpoints.next() == nil)
        var late = feed.checkpoints(of: switched.serving).makeAsyncIterator()
        #expect(try await late.next() == switched)
    }

    @Test func olderCheckpointsAreIgnored() async throws {
        let feed = CheckpointFeed(checkpoint(5, 5))
        feed.publish(checkpoint(4, 6))
        feed.publish(checkpoint(6, 4))
        feed.publish(checkpoint(5, 5))
        #expect(feed.current == checkpoint(5, 5))
        feed.publish(checkpoint(5, 6))
        #expect(feed.current == checkpoint(5, 6))
    }

    @Test func waitingReadersAreWoken() async throws {
        let feed = CheckpointFeed(checkpoint(1, 1))
        try await withThrowingTaskGroup(of: StorageCheckpoint?.self) { group in
            for _ in 0..<50 {
                var checkpoints = feed.checkpoints(of: streamID).makeAsyncIterator()
                _ = try await checkpoints.next()
                group.addTask { [checkpoints] in
                    var checkpoints = checkpoints
                    return try await checkpoints.next()
                }
            }
            feed.publish(checkpoint(2, 2))
            for try await next in group { #expect(next == checkpoint(2, 2)) }
        }
    }

    @Test func sequenceEndsWhenAnotherStreamBecomesActive() async throws {
        let feed = CheckpointFeed(checkpoint(1, 1))
        var checkpoints = feed.checkpoints(of: streamID).makeAsyncIterator()
        _ = try await checkpoints.next()
        async let next = { [checkpoints] in
            var checkpoints = checkpoints
            return try await checkpoints.next()
        }()
        feed.publish(checkpoint(0, 1, stream: 2))
        #expect(try await next == nil)
        var late = feed.checkpoints(of: streamID).makeAsyncIterator()
        #expect(try await late.next() == nil)
    }

    @Test func waitingEndsWithTheTask() async throws {
        let feed = CheckpointFeed(checkpoint(1, 1))
        let task = Task {
            var checkpoints = feed.checkpoints(of: streamID).makeAsyncIterator()
            _ = try await checkpoints.next()
            return try await checkpoints.next()
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test(
        arguments: [
            ("00000000/9FFFFFFF", "00000000/A0000000", true), ("00ff-01", "0100-00", true), ("", "", true),
            // A mark behind; a number that is not padded; digits of two cases at one place; another separator.
            ("00/9F", "00/9F-2A", true), ("9", "10", false), ("00-2A", "00/2A", false), ("0a", "0A", false),
            ("0F", "0f", false), ("0A", "0f", false), ("00/9", "0009", false), ("1.", "1", true), ("0a", "05", true),
        ]
    )
    func positionsOfOneFormHaveAnOrder(one: String, two: String, isSame: Bool) {
        #expect(LSN(one).hasForm(of: LSN(two)) == isSame)
        #expect(LSN(two).hasForm(of: LSN(one)) == isSame)
    }

    @Test func positionsCompareByBytes() {
        #expect(LSN("00000000/9FFFFFFF") < LSN("00000000/A0000000"))
        #expect(LSN("00000000/A0000000") < LSN("00000001/00000000"))
        #expect(LSN.at(255) < LSN.at(256))
        #expect(LSN.at(255).rawValue == "00000000000000ff-0000000000000000")
        #expect(EmbeddedPosition(.at(.max))?.sequence == .max)
        #expect(EmbeddedPosition(LSN("00000000/9FFFFFFF")) == nil)
    }
}
