import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// What checkpoints do to rows whose writes were parked.
@Suite struct ParkedRowsScenarioTests {
    /// A client with a parked insertion of `x` and nothing in its queue.
    private func parked(_ delivery: Delivery = .oneByOne) throws -> SyncScenario {
        let scenario = try SyncScenario(delivery: delivery)
        try scenario.start()
        try scenario.database.write("INSERT INTO items (id, col) VALUES ('x', 'mine')")
        try scenario.write { db in
            _ = try RejectedWrites.setAside(db, .head(reason: "no"), .park, at: scenario.now)
            try LocalWriteGate.setTarget(db, WriteCheckpoint(1))
        }
        return scenario
    }

    private func items(_ scenario: SyncScenario) throws -> [String] {
        try scenario.database.rows("SELECT id, col FROM items ORDER BY id")
    }

    /// Forgets all parked writes, and expects a write checkpoint.
    private func removeParkedWrites(_ scenario: SyncScenario, target: Int64) throws {
        try scenario.write { db in
            #expect(try RejectedWrites.remove(db, RejectedWrites.all(db).map(\.write.id)) == 1)
            try LocalWriteGate.setTarget(db, WriteCheckpoint(target))
        }
    }

    private let remote = SyncLine.ops(
        "a",
        .put(1, "x", data: #"{"col":"theirs"}"#),
        .put(2, "y", data: #"{"col":"theirs"}"#)
    )

    @Test(arguments: Delivery.allCases) func parkedRowKeepsItsLocalState(delivery: Delivery) throws {
        let scenario = try parked(delivery)
        try scenario.receive(.checkpoint(2, [.bucket("a", count: 2)], writeCheckpoint: 1), remote, .done)
        #expect(try items(scenario) == ["x|mine", "y|theirs"])
        // Incremental checkpoints as well, and deletions.
        try scenario.receive(.diff(3, [.bucket("a", count: 2)]), .ops("a", .remove(3, "x")), .done)
        #expect(try items(scenario) == ["x|mine", "y|theirs"])
    }

    @Test func priorityZeroLeavesItAlone() throws {
        let scenario = try parked()
        try scenario.receive(.checkpoint(2, [.bucket("a", priority: 0), .bucket("b")]), remote, .done(0))
        #expect(try items(scenario) == ["x|mine", "y|theirs"])
        try removeParkedWrites(scenario, target: 0)
        try scenario.receive(.done)
        #expect(try items(scenario) == ["x|theirs", "y|theirs"])
    }

    @Test func removedWriteGivesWayToTheServicesState() throws {
        let scenario = try parked()
        try scenario.receive(.checkpoint(2, [.bucket("a", count: 2)], writeCheckpoint: 1), remote, .done)
        scenario.restart()
        try removeParkedWrites(scenario, target: 2)
        try scenario.start()
        // Nothing has changed for the service.
        try scenario.receive(.checkpoint(2, [.bucket("a", count: 2)], writeCheckpoint: 2), .done)
        #expect(try items(scenario) == ["x|theirs", "y|theirs"])
    }

    @Test func restoredWriteIsPublishedOnceItWasAcknowledged() throws {
        let scenario = try parked()
        try scenario.receive(.checkpoint(2, [.bucket("a", count: 2)], writeCheckpoint: 1), remote, .done)
        try scenario.write { try RejectedWrites.restoreParked($0) }
        try scenario.receive(.diff(2, [.bucket("a", count: 2)], writeCheckpoint: 1), .done)
        #expect(try items(scenario) == ["x|mine", "y|theirs"])
        try scenario.write { db in
            let last = try #require(try UploadQueue.sequence(db))
            try UploadQueue.complete(db, through: last, writeCheckpoint: WriteCheckpoint(2))
        }
        let row = SyncLine.ops("a", .put(3, "x", data: #"{"col":"mine, accepted"}"#))
        try scenario.receive(.diff(3, [.bucket("a", count: 3)], writeCheckpoint: 2), row, .done)
        #expect(try items(scenario) == ["x|mine, accepted", "y|theirs"])
    }

    @Test func rowThatTheServiceDoesNotKnowGoesWhenItsWritesAreRemoved() throws {
        let scenario = try parked()
        try scenario.receive(.checkpoint(1, [.bucket("a")], writeCheckpoint: 1), .done)
        #expect(try items(scenario) == ["x|mine"])
        try removeParkedWrites(scenario, target: 2)
        try scenario.receive(.diff(1, [.bucket("a")], writeCheckpoint: 2), .done)
        #expect(try items(scenario).isEmpty)
    }

    @Test func writesThatTheAppDeletesBySQLGiveWayToTheServicesState() throws {
        let scenario = try parked()
        try scenario.receive(.checkpoint(2, [.bucket("a")], writeCheckpoint: 1), remote, .done)
        #expect(try items(scenario) == ["x|mine", "y|theirs"])
        try scenario.database.write("DELETE FROM \(RejectedWrites.table)")
        try scenario.receive(.diff(3, writeCheckpoint: 1), .done)
        #expect(try items(scenario) == ["x|theirs", "y|theirs"])
    }
}
