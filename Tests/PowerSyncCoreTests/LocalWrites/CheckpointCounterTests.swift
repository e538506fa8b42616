import GRDB
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// The numbers of checkpoint requests (docs/client-sync.md "Checkpoint requests").
struct CheckpointCounterTests {
    @Test(
        arguments: [
            (counter: nil, target: nil, expected: 1),
            (counter: nil, target: 4, expected: 4),
            (counter: 7, target: 4, expected: 7),
            (counter: 3, target: 9, expected: 9),
            (counter: 7, target: Int64.max, expected: 7),
            (counter: nil, target: Int64.max, expected: 1),
        ] as [(counter: Int64?, target: Int64?, expected: Int64)]
    )
    func initialNumber(counter: Int64?, target: Int64?, expected: Int64) throws {
        let database = try LocalTestDatabase()
        try database.queue.write { db in
            if let counter { try CheckpointCounter.set(db, WriteCheckpoint(counter)) }
            if let target { try LocalWriteGate.setTarget(db, WriteCheckpoint(target)) }
            #expect(try CheckpointCounter.initial(db) == WriteCheckpoint(expected))
        }
    }

    @Test func numbersCount() throws {
        let database = try LocalTestDatabase()
        try database.queue.write { db in
            #expect(try CheckpointCounter.current(db) == nil)
            #expect(try CheckpointCounter.next(db) == WriteCheckpoint(1))
            try CheckpointCounter.set(db, WriteCheckpoint(41))
            #expect(try CheckpointCounter.next(db) == WriteCheckpoint(42))
            try CheckpointCounter.set(db, WriteCheckpoint(5))
            #expect(try CheckpointCounter.next(db) == WriteCheckpoint(6))
        }
    }

    @Test(arguments: [Int64.max, Int64.max - 1]) func numbersEnd(last: Int64) throws {
        let database = try LocalTestDatabase()
        try database.queue.write { db in
            try CheckpointCounter.set(db, WriteCheckpoint(last))
            #expect(throws: LocalDatabaseError.self) { try CheckpointCounter.next(db) }
        }
    }
}
