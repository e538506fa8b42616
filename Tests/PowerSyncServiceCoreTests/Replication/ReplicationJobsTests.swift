import PowerSyncSyncConfig
import Testing

@testable import PowerSyncServiceCore

/// Which jobs a replicator has for which streams.
@Suite struct ReplicationJobsTests {
    private func stream(_ id: Int64, _ state: ReplicationStream.State) -> ReplicationStream {
        ReplicationStream(
            id: ReplicationStreamID(rawValue: id),
            state: state,
            sourceHandle: "slot\(id)",
            content: "",
            plan: .empty,
            isSnapshotDone: false
        )
    }

    private func summary(_ changes: ReplicationJobs.Changes) -> [String] {
        changes.started.map { "\($0.kind) \($0.stream.id)" }
    }

    @Test func replicatedStreamsHaveAJobEach() {
        var jobs = ReplicationJobs()
        #expect(!jobs.isReplicating)
        #expect(summary(jobs.update([stream(1, .active), stream(2, .processing)])) == ["replicate 1", "replicate 2"])
        #expect(jobs.isReplicating)
        #expect(summary(jobs.update([stream(1, .active), stream(2, .active)])).isEmpty)
        // A stream whose job has ended although it is replicated gets another one.
        jobs.ended(ReplicationStreamID(rawValue: 2))
        #expect(summary(jobs.update([stream(1, .active), stream(2, .active)])) == ["replicate 2"])
    }

    @Test func whatIsOnlyServedHasNoJob() {
        var jobs = ReplicationJobs()
        #expect(summary(jobs.update([stream(1, .errored), stream(2, .terminated)])).isEmpty)
        #expect(!jobs.isReplicating)
    }

    /// Rows have to be evaluated for other configs: another job begins when the one before has ended.
    @Test func anotherConfigGetsAnotherJob() throws {
        var jobs = ReplicationJobs()
        let first = try #require(jobs.update([stream(1, .active)]).started.first)
        var filling = stream(1, .active)
        filling.next = ReplicationStream.NextConfig(
            number: 2,
            content: "",
            versionLabel: nil,
            plan: .empty,
            filledTables: [],
            isFilled: false
        )
        let changes = jobs.update([filling])
        #expect(changes.stopped.count == 1 && changes.stopped.first === first.stop)
        #expect(changes.started.isEmpty)
        jobs.ended(filling.id)
        let second = try #require(jobs.update([filling]).started.first)
        filling.next?.filledTables = ["t"]
        #expect(jobs.update([filling]).stopped.isEmpty)
        var switched = stream(1, .active)
        switched.configNumber = 2
        #expect(jobs.update([switched]).stopped.first === second.stop)
    }

    @Test func dataIsDeletedAfterTheWriterHasStopped() throws {
        var jobs = ReplicationJobs()
        let stop = try #require(jobs.update([stream(1, .processing)]).started.first).stop
        let changes = jobs.update([stream(1, .stop)])
        #expect(summary(changes).isEmpty)
        #expect(changes.stopped.count == 1)
        #expect(changes.stopped.first === stop)
        jobs.ended(ReplicationStreamID(rawValue: 1))
        #expect(summary(jobs.update([stream(1, .stop)])) == ["delete 1"])
        #expect(jobs.update([stream(1, .stop)]).stopped.isEmpty)
    }

    @Test func oneStreamIsDeletedAfterTheOther() {
        var jobs = ReplicationJobs()
        let streams = [stream(1, .stop), stream(2, .stop), stream(3, .active)]
        #expect(summary(jobs.update(streams)) == ["delete 1", "replicate 3"])
        #expect(summary(jobs.update(streams)).isEmpty)
        jobs.ended(ReplicationStreamID(rawValue: 1))
        #expect(summary(jobs.update([stream(2, .stop), stream(3, .active)])) == ["delete 2"])
    }
}
