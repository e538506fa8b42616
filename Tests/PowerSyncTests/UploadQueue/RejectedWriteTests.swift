import Foundation
import PowerSyncCoreTestSupport
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct RejectedWriteTests {
    private let harness = SyncHarness()

    /// A backend that refuses rows with a name.
    private static func refusing(_ name: String) -> ScriptedConnector.Upload {
        { database, _ in
            guard let transaction = try await database.getNextCrudTransaction() else { return }
            let refused = transaction.crud.filter { $0.opData?["name"] == name }
            try await transaction.complete(rejecting: refused.map { UploadRejection($0, reason: "not allowed") })
        }
    }

    @Test func rejectedWriteDoesNotBlockTheQueue() async throws {
        harness.connector.onUpload(Self.refusing("bad"))
        try await harness.insert("x", name: "bad")
        try await harness.insert("y", name: "good")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
        try await harness.service.nextWriteCheckpoint().respond(7)
        // The gate is as after any upload: closed until the write checkpoint is seen.
        try await harness.waitForActivity { $0.upload?.reason.kind == .writeCheckpoint }
        #expect(try await harness.lists() == ["x": "bad", "y": "good"])
        stream.send(.checkpoint(1, [.bucket("a", count: 1)], writeCheckpoint: 7), .done)
        try await harness.wait { $0.hasSynced == true }
        #expect(try await harness.lists() == ["a1": "remote"])
        let rejected = try await harness.database.rejectedWrites()
        #expect(rejected.map(\.entry.id) == ["x"])
        #expect(rejected.map(\.reason) == ["not allowed"])
        #expect(rejected.map(\.rejectedAt) == [harness.date.now])
        #expect(rejected[0].entry.opDataTyped == ["name": .string("bad")])
    }

    @Test func restoredWriteIsUploadedAgain() async throws {
        harness.connector.onUpload(Self.refusing("bad"))
        try await harness.insert("x", name: "bad")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        try await harness.service.nextWriteCheckpoint().respond(1)
        try await harness.clock.waitForTimer(of: .seconds(1))
        harness.clock.advance(by: .seconds(1))
        harness.connector.onUpload(Self.refusing("nothing"))
        try await harness.database.restoreRejectedWrites(try await harness.database.rejectedWrites())
        try await harness.service.nextWriteCheckpoint().respond(2)
        #expect(harness.connector.uploads == 2)
        #expect(try await harness.database.rejectedWrites().isEmpty)
    }

    @Test func removedWriteIsGone() async throws {
        try await harness.insert("x")
        let batch = try #require(try await harness.database.getCrudBatch())
        try await batch.complete(rejecting: batch.crud.map { UploadRejection($0, reason: "no") })
        let rejected = try await harness.database.rejectedWrites()
        #expect(rejected.count == 1)
        try await harness.database.removeRejectedWrites(rejected)
        #expect(try await harness.database.rejectedWrites().isEmpty)
        #expect(try await harness.database.getUploadQueueStats().count == 0)
    }

    @Test func readersSeeTheFirstRejection() async throws {
        try await withFileDatabase { database in
            #expect(try await database.rejectedWrites().isEmpty)
            try await database.execute("INSERT INTO users (id, name) VALUES ('1', 'Ada')")
            let batch = try #require(try await database.getCrudBatch())
            try await batch.complete(rejecting: [UploadRejection(batch.crud[0], reason: "no")])
            #expect(try await database.rejectedWrites().map(\.id) == [batch.crud[0].clientId])
            try await database.disconnectAndClear()
            #expect(try await database.rejectedWrites().isEmpty)
        }
    }

    @Test func writeOfAnotherTransactionCannotBeRejected() async throws {
        try await harness.insert("x")
        try await harness.insert("y")
        var transactions = harness.database.getCrudTransactions().makeAsyncIterator()
        let first = try #require(try await transactions.next())
        let second = try #require(try await transactions.next())
        await #expect(throws: PowerSyncError.self) {
            try await first.complete(rejecting: second.crud.map { UploadRejection($0, reason: "no") })
        }
        #expect(try await harness.database.getUploadQueueStats().count == 2)
        #expect(try await harness.database.rejectedWrites().isEmpty)
    }
}
