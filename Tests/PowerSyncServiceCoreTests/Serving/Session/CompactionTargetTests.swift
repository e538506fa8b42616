import PowerSyncProtocol
import Testing

@testable import PowerSyncServiceCore

/// Rows that a client gets with a later checkpoint only, because compaction has taken away what they were before
/// (docs/service.md "Sync sessions").
@Suite struct CompactionTargetTests {
    typealias Fixture = SyncSessionStateMachineTests

    /// A candidate with another version of one bucket at each checkpoint.
    private static func candidate(_ opID: Int64, write: Int64? = nil) -> SyncSession.Candidate {
        Fixture.candidate(opID, write: write, [.init(name: "a", checksum: UInt32(opID), count: opID)])
    }

    /// A connection that has announced checkpoint 2 and reads for it.
    private static func reading() throws -> SyncSession.StateMachine {
        var machine = Fixture.machine()
        try Fixture.announce(candidate(2), &machine)
        #expect(machine.next() == Fixture.read([("a", 0)], at: 2))
        return machine
    }

    /// Expects that checkpoint 5 is the first one that is announced, and that it is completed.
    private static func expectNothingBefore5(_ waiting: SyncSession.StateMachine) throws {
        var machine = waiting
        #expect(machine.next() == .waitForCheckpoint(after: Fixture.checkpoint(2)))
        for opID in [3, 4] as [Int64] {
            #expect(machine.prepareLine(for: candidate(opID))?.line == nil)
            machine.skip(CheckpointNews(checkpoint: Fixture.checkpoint(opID), scope: .unknown))
            #expect(machine.next() == .waitForCheckpoint(after: Fixture.checkpoint(opID)))
        }
        try Fixture.announce(candidate(5), &machine)
        #expect(machine.next() == Fixture.read([("a", 2)], at: 5))
        machine.didFinishRead(hasMore: false)
        #expect(machine.next() == Fixture.complete(5))
        #expect(machine.next() == .waitForCheckpoint(after: nil))
    }

    @Test(arguments: [[3, 5], [5, 3]] as [[Int64]])
    func noCheckpointIsAnnouncedBeforeTheLargestTargetIsThere(_ targets: [Int64]) throws {
        var machine = try Self.reading()
        machine.didSend(Fixture.chunk("a", 1...1, hasMore: true, target: targets[0]))
        machine.didSend(Fixture.chunk("a", 2...2, target: targets[1]))
        machine.didFinishRead(hasMore: false)
        try Self.expectNothingBefore5(machine)
    }

    @Test func aTargetCountsTooWhenCompactionHasTakenAwayTheRestOfADownload() throws {
        var machine = try Self.reading()
        machine.didSend(Fixture.chunk("a", 1...2, hasMore: true, target: 5))
        machine.abandonDownload()
        try Self.expectNothingBefore5(machine)
    }

    @Test func aWriteCheckpointWaitsForTheTarget() throws {
        var machine = try Self.reading()
        machine.didSend(Fixture.chunk("a", 1...2, target: 5))
        machine.didFinishRead(hasMore: false)
        #expect(machine.next() == .waitForCheckpoint(after: Fixture.checkpoint(2)))
        #expect(machine.prepareLine(for: Self.candidate(2, write: 1))?.line == nil)
        guard case .checkpointDiff(let diff) = try Fixture.announce(Self.candidate(5, write: 1), &machine) else {
            Issue.record("not a diff")
            return
        }
        #expect(diff.writeCheckpoint == WriteCheckpoint(1))
    }

    @Test func aCheckpointBeforeTheTargetDoesNotInterruptADownload() throws {
        var machine = Fixture.machine()
        try Fixture.announce(Self.candidate(1500), &machine)
        _ = machine.next()
        machine.didSend(Fixture.chunk("a", 1...1000, hasMore: true, target: 2000))
        #expect(machine.isInterruptible)
        #expect(machine.prepareLine(for: Self.candidate(1999))?.line == nil)
        try Fixture.announce(Self.candidate(2000), &machine)
        #expect(machine.next() == Fixture.read([("a", 1000)], at: 2000))
        machine.didFinishRead(hasMore: false)
        #expect(machine.next() == Fixture.complete(2000))
    }
}
