import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncCore

/// Clearing takes away what a running iteration builds on.
@Suite struct ClearingWhileSyncingTests {
    private let buckets: [BucketDescription] = [.bucket("a", checksum: 3), .bucket("b", checksum: 4)]

    /// A client that has published rows of two buckets, one of which is in both.
    private func synced(_ database: LocalTestDatabase? = nil) throws -> SyncScenario {
        let scenario = try database.map { SyncScenario(database: $0) } ?? SyncScenario()
        try scenario.start()
        try scenario.receive(.checkpoint(3, buckets))
        try receiveOperations(scenario)
        try scenario.receive(.done)
        #expect(try scenario.itemIDs == ["x", "y"])
        return scenario
    }

    private func receiveOperations(_ scenario: SyncScenario) throws {
        try scenario.receive(.ops("a", .put(1, "x", 1), .put(2, "y", 2)), .ops("b", .put(3, "x", 4)))
    }

    /// What every iteration after clearing has to do.
    private func expectNewDownload(_ scenario: SyncScenario) throws {
        #expect(!scenario.engine.isActive)
        #expect(try scenario.write { try SyncActivity.isActive($0) } == false)
        #expect(try scenario.start().buckets.isEmpty)
        #expect(scenario.status.hasSynced == false)
        try scenario.receive(.checkpoint(3, buckets))
        // Other ids than before, so that operations of dead buckets would show.
        try scenario.receive(.ops("b", .put(3, "x", 4)), .ops("a", .put(1, "x", 1), .put(2, "y", 2)))
        try scenario.receive(.done)
        #expect(scenario.status.hasSynced == true)
        #expect(try scenario.itemIDs == ["x", "y"])
        try scenario.receive(
            .diff(5, [.bucket("a", checksum: 7), .bucket("b", checksum: 5)]),
            .ops("a", .remove(4, "x", 4)),
            .ops("b", .remove(5, "x", 1)),
            .done
        )
        #expect(try scenario.itemIDs == ["y"])
        #expect(try scenario.database.integer("SELECT count(*) FROM ps_oplog") == 1)
    }

    private static let events: [SyncEvent] = [
        .line(.ops("a", .put(4, "z"))), .line(.done), .line(.done(0)), .line(.diff(4)), .line(.checkpoint(4, [])),
        .line(.tokenExpires(in: 4000)), .uploadCompleted, .keepaliveAnswered, .subscriptionsChanged,
        .streamEnded,
    ]

    @Test(
        arguments: ["powersync_clear(0)", "powersync_clear(1)"],
        events.indices
    )
    func iterationEndsBeforeItsNextEventAndTheOneAfterItDownloadsEverything(_ call: String, _ index: Int) throws {
        let scenario = try synced()
        try scenario.database.write("SELECT \(call)")
        let actions = try scenario.send(Self.events[index], .line(.done))
        #expect(actions.kinds == ["log info", "close(true)"])
        #expect(try scenario.database.rows("SELECT * FROM ps_buckets").isEmpty)
        #expect(try scenario.database.rows("SELECT * FROM ps_oplog").isEmpty)
        try expectNewDownload(scenario)
    }

    @Test(arguments: [ClearOptions(), .localTables])
    func sameWhenAnotherConnectionClears(_ options: ClearOptions) throws {
        let folder = try TemporaryFolder()
        let database = try LocalTestDatabase(itemsIn: folder.path("shared.db"))
        let other = try LocalTestDatabase(itemsIn: folder.path("shared.db"))
        let scenario = try synced(database)
        try other.queue.write { try LocalData.clear($0, options) }
        #expect(try scenario.receive(.tokenExpires(in: 4000)).kinds == ["log info", "close(true)"])
        try expectNewDownload(scenario)
    }

    @Test
    func whatAnotherConnectionHasClearedSoftlyIsPublishedByTheNextIteration() throws {
        let folder = try TemporaryFolder()
        let scenario = try synced(LocalTestDatabase(itemsIn: folder.path("shared.db")))
        let other = try LocalTestDatabase(itemsIn: folder.path("shared.db"))
        try other.queue.write { try LocalData.clear($0, .soft) }
        #expect(try scenario.receive(.tokenExpires(in: 4000)).kinds == ["log info", "close(true)"])
        #expect(try scenario.start().buckets.count == 2)
        #expect(scenario.status.hasSynced == false)
        try scenario.receive(.checkpoint(3, buckets), .done)
        #expect(try scenario.itemIDs == ["x", "y"])
        #expect(scenario.status.hasSynced == true)
    }

    @Test
    func whatAnotherConnectionWritesBesideTheSyncStateDoesNotEndTheIteration() throws {
        let folder = try TemporaryFolder()
        let scenario = try synced(LocalTestDatabase(itemsIn: folder.path("shared.db")))
        let other = try LocalTestDatabase(itemsIn: folder.path("shared.db"))
        try other.write("CREATE TABLE own (x)")
        #expect(try scenario.receive(.tokenExpires(in: 4000)).kinds.isEmpty)
        #expect(scenario.engine.isActive)
    }

    @Test
    func whatAnotherConnectionWritesBeforeThereIsAnyDataDoesNotEndItEither() throws {
        let folder = try TemporaryFolder()
        let scenario = SyncScenario(database: try LocalTestDatabase(itemsIn: folder.path("shared.db")))
        let other = try LocalTestDatabase(itemsIn: folder.path("shared.db"))
        try scenario.start()
        try scenario.receive(.checkpoint(3, buckets))
        try other.write("CREATE TABLE own (x)")
        try receiveOperations(scenario)
        try scenario.receive(.done)
        #expect(try scenario.itemIDs == ["x", "y"])
    }

    @Test
    func downloadThatHasJustBegunStartsOver() throws {
        let scenario = try SyncScenario(bulkLoadThreshold: 1)
        try scenario.start()
        try scenario.receive(
            .checkpoint(3, [.bucket("a", checksum: 3, count: 2), .bucket("b", checksum: 4, count: 1)])
        )
        try scenario.receive(.ops("a", .put(1, "x", 1)))
        try scenario.database.write("SELECT powersync_clear(0)")
        #expect(try scenario.receive(.ops("a", .put(2, "y", 2))).kinds == ["log info", "close(true)"])
        try expectNewDownload(scenario)
    }

    @Test
    func downloadOfWhichNothingIsStoredYetStartsOverToo() throws {
        let scenario = try SyncScenario()
        try scenario.start()
        try scenario.receive(.checkpoint(3, buckets))
        try scenario.database.write("SELECT powersync_clear(0)")
        #expect(try scenario.receive(.ops("a", .put(1, "x", 1))).kinds == ["log info", "close(true)"])
        try expectNewDownload(scenario)
    }

    @Test
    func newIterationOrTheEndOfOneIsNotAnIterationToBeEnded() throws {
        let scenario = try synced()
        try scenario.database.write("SELECT powersync_clear(0)")
        #expect(try scenario.start().buckets.isEmpty)
        try scenario.receive(.checkpoint(3, buckets))
        #expect(scenario.engine.isActive)
        try scenario.database.write("SELECT powersync_clear(0)")
        #expect(try scenario.send(.stop).last == .closeStream(hideDisconnect: false))
        #expect(scenario.status.isConnected == false)
        try expectNewDownload(scenario)
    }

    @Test
    func clearingThatIsRolledBackChangesNothing() throws {
        struct Refusal: Error {}
        let scenario = try synced()
        #expect(throws: Refusal.self) {
            try scenario.write { db in
                try LocalData.clear(db, [])
                throw Refusal()
            }
        }
        let next = SyncLine.diff(4, [.bucket("a", checksum: 4)])
        try scenario.receive(next, .ops("a", .put(4, "z", 1)), .done)
        #expect(try scenario.itemIDs == ["x", "y", "z"])
    }
}
