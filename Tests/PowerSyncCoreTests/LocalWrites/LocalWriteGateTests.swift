import GRDB
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

@Suite struct LocalWriteGateTests {
    private let database: LocalTestDatabase

    init() throws {
        database = try LocalTestDatabase()
    }

    private func isOpen() throws -> Bool {
        try database.queue.read { try LocalWriteGate.isOpen($0) }
    }

    private func acknowledge(_ checkpoint: Int64, ifSequenceIs sequence: Int64) throws -> Bool {
        try database.queue.write {
            try LocalWriteGate.acknowledge($0, WriteCheckpoint(checkpoint), ifSequenceIs: sequence)
        }
    }

    /// The states of the gate.
    @Test(arguments: [
        (nil, nil, true), (nil, 3, true), ("5", nil, false), ("5", 4, false), ("5", 5, true), ("5", 6, true),
        ("9223372036854775807", 6, false),
    ])
    func targetMustHaveBeenSeen(target: String?, seen: Int64?, expected: Bool) throws {
        // Text, as a foreign writer may have stored it.
        if let target {
            try database.write("INSERT INTO ps_kv VALUES ('target_checkpoint_request_id', ?)", [target])
        }
        if let seen {
            try database.queue.write { try LocalWriteGate.setLastSeen($0, WriteCheckpoint(seen)) }
        }
        #expect(try isOpen() == expected)
        try database.write("INSERT INTO ps_crud(data) VALUES ('{}')")
        #expect(try !isOpen())
    }

    @Test func oneRoundOfUploading() throws {
        #expect(try isOpen())
        #expect(try database.queue.read { try LocalWriteGate.sequenceAwaitingCheckpoint($0) } == nil)
        try database.write("INSERT INTO items(id) VALUES ('a')")
        #expect(try !isOpen())
        #expect(try database.queue.read { try LocalWriteGate.sequenceAwaitingCheckpoint($0) } == nil)
        #expect(try !acknowledge(3, ifSequenceIs: 1), "the queue is not empty")
        try database.queue.write { try UploadQueue.complete($0, through: 1, writeCheckpoint: nil) }

        let sequence = try #require(try database.queue.read { try LocalWriteGate.sequenceAwaitingCheckpoint($0) })
        try database.write("INSERT INTO items(id) VALUES ('b')")
        try database.queue.write { try UploadQueue.complete($0, through: 2, writeCheckpoint: nil) }
        #expect(try !acknowledge(3, ifSequenceIs: sequence), "something was written and uploaded in between")
        #expect(try acknowledge(4, ifSequenceIs: 2))
        #expect(try database.queue.read { try LocalWriteGate.sequenceAwaitingCheckpoint($0) } == nil)
        #expect(try !acknowledge(5, ifSequenceIs: 2), "the target is known")

        #expect(try !isOpen())
        try database.queue.write { try LocalWriteGate.setLastSeen($0, WriteCheckpoint(4)) }
        #expect(try isOpen())
    }

    @Test func writesForgetWhatWasSeen() throws {
        try database.queue.write { db in
            try LocalWriteGate.setLastSeen(db, WriteCheckpoint(9))
            try LocalWriteGate.setLastApplied(db, WriteCheckpoint(8))
        }
        try database.write("INSERT INTO items(id) VALUES ('a')")
        let state = try database.queue.read { db in
            try [LocalWriteGate.lastSeen(db), LocalWriteGate.lastApplied(db), LocalWriteGate.target(db)]
        }
        #expect(state == [nil, nil, LocalWriteGate.pendingTarget])
    }

    /// The target is pending already, so that the gate looks closed.
    @Test(arguments: [(9, nil), (nil, 8), (9, 8)] as [(Int64?, Int64?)])
    func writesForgetWhatWasSeenWhileTheyWaited(seen: Int64?, applied: Int64?) throws {
        try database.queue.write { db in
            try LocalWriteGate.close(db)
            if let seen { try LocalWriteGate.setLastSeen(db, WriteCheckpoint(seen)) }
            if let applied { try LocalWriteGate.setLastApplied(db, WriteCheckpoint(applied)) }
        }
        try database.write("INSERT INTO items(id) VALUES ('a')")
        let state = try database.queue.read { db in
            try [LocalWriteGate.lastSeen(db), LocalWriteGate.lastApplied(db), LocalWriteGate.target(db)]
        }
        #expect(state == [nil, nil, LocalWriteGate.pendingTarget])
    }

    @Test(
        arguments: [
            (nil, nil, nil), (nil, 3, nil), (5, nil, 5), (5, 4, 5), (5, 5, nil), (5, 6, nil), (.max, nil, nil),
            (.max, 9, nil),
        ] as [(Int64?, Int64?, Int64?)]
    )
    func aKnownTargetIsAwaitedUntilItWasSeen(target: Int64?, seen: Int64?, awaited: Int64?) throws {
        try database.queue.write { db in
            if let target { try LocalWriteGate.setTarget(db, WriteCheckpoint(target)) }
            if let seen { try LocalWriteGate.setLastSeen(db, WriteCheckpoint(seen)) }
            #expect(try LocalWriteGate.awaited(db)?.rawValue == awaited)
        }
    }

    @Test func aTargetIsReplacedByWhatTheServiceSaysLater() throws {
        try database.write("INSERT INTO items(id) VALUES ('a')")
        try database.queue.write { try UploadQueue.complete($0, through: 1, writeCheckpoint: nil) }
        #expect(try acknowledge(9, ifSequenceIs: 1))
        try database.queue.write { db throws in
            #expect(try LocalWriteGate.awaitedOfService(db)?.rawValue == 9)
            #expect(try !LocalWriteGate.replace(db, WriteCheckpoint(9), by: WriteCheckpoint(10)))
            #expect(try LocalWriteGate.replace(db, WriteCheckpoint(9), by: WriteCheckpoint(3)))
            #expect(try LocalWriteGate.awaitedOfService(db)?.rawValue == 3)
            #expect(try LocalWriteGate.replace(db, WriteCheckpoint(3), by: WriteCheckpoint(3)))
            #expect(
                try !LocalWriteGate.replace(db, WriteCheckpoint(9), by: WriteCheckpoint(2)),
                "it is not awaited any more"
            )
        }
    }

    /// What was seen before was counted in the old way, in which it is more than enough.
    @Test func aTargetThatReplacesAnotherWasNotSeen() throws {
        try database.write("INSERT INTO items(id) VALUES ('a')")
        try database.queue.write { try UploadQueue.complete($0, through: 1, writeCheckpoint: nil) }
        #expect(try acknowledge(9, ifSequenceIs: 1))
        try database.queue.write { db in
            try LocalWriteGate.setLastSeen(db, WriteCheckpoint(8))
            #expect(try LocalWriteGate.replace(db, WriteCheckpoint(9), by: WriteCheckpoint(3)))
            #expect(try LocalWriteGate.awaited(db)?.rawValue == 3)
        }
        #expect(try !isOpen())
    }

    @Test func theServiceIsAskedOnlyAboutItsOwnTargetAndWhenEverythingIsUploaded() throws {
        func awaitedOfService() throws -> Int64? {
            try database.queue.read { try LocalWriteGate.awaitedOfService($0)?.rawValue }
        }
        try database.write("INSERT INTO items(id) VALUES ('a')")
        try database.queue.write { try UploadQueue.complete($0, through: 1, writeCheckpoint: nil) }
        #expect(try acknowledge(9, ifSequenceIs: 1))
        #expect(try awaitedOfService() == 9)
        // As an insert-only write, which leaves the target as it is.
        try database.write("INSERT INTO ps_crud(data) VALUES ('{}')")
        #expect(try awaitedOfService() == nil)
        // A number of the app, of which the service knows nothing.
        try database.queue.write { try UploadQueue.complete($0, through: 2, writeCheckpoint: WriteCheckpoint(12)) }
        #expect(try database.queue.read { try LocalWriteGate.awaited($0)?.rawValue } == 12)
        #expect(try awaitedOfService() == nil)
    }

    @Test func zeroRemovesTheTargetAndNegativeOnesAreRefused() throws {
        try database.queue.write { db in
            try LocalWriteGate.close(db)
            try LocalWriteGate.setTarget(db, WriteCheckpoint(0))
            #expect(try LocalWriteGate.target(db) == nil)
            #expect {
                try LocalWriteGate.setTarget(db, WriteCheckpoint(-1))
            } throws: {
                ($0 as? LocalDatabaseError)?.resultCode == 3091
            }
        }
    }
}
