import Foundation
import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct UploadTests {
    private let harness = SyncHarness()

    /// Completes the next transaction.
    private static let completeOne: ScriptedConnector.Upload = { database, _ in
        try await database.getNextCrudTransaction()?.complete()
    }

    @Test func writesFromBeforeConnectingAreUploadedAfterTheFirstLine() async throws {
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept()
        #expect(harness.connector.uploads == 0)
        stream.send(.checkpoint(1, [.bucket("a", count: 1)]))
        try await harness.connector.waitForUploads(1)
        let request = try await harness.service.nextWriteCheckpoint()
        #expect(request.clientID == stream.request.clientID)
        #expect(request.token == "token 1")
        request.respond(7)
        try await harness.waitForWriteCheckpoint(7)
        // The server rejected the write: its state replaces the local one when the gate opens.
        stream.send(.put("a", 1...1), .done)
        try await harness.waitForActivity { $0.download?.reason.kind == .localWrites }
        #expect(try await harness.lists() == ["x": "local"])
        stream.send(.checkpoint(1, [.bucket("a", count: 1)], writeCheckpoint: 7), .done)
        try await harness.wait { $0.hasSynced == true }
        #expect(try await harness.lists() == ["a1": "remote"])
    }

    @Test func checkpointThatWaitedIsAppliedAfterTheUpload() async throws {
        let gate = TaskGate()
        harness.connector.onUpload { database, _ in
            try await gate.pass()
            try await database.getNextCrudTransaction()?.complete()
        }
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1, [.bucket("a", count: 1)], writeCheckpoint: 1), .put("a", 1...1), .done)
        try await harness.wait { $0.activity.download?.reason.kind == .localWrites && $0.downloading }
        gate.open()
        try await harness.service.nextWriteCheckpoint().respond(1)
        try await harness.wait { $0.hasSynced == true && !$0.downloading }
        #expect(try await harness.lists() == ["a1": "remote"])
    }

    @Test func nothingIsUploadedWithoutLocalWrites() async throws {
        let flow = harness.database.currentStatus.asFlow()
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1), .done, .keepalive(tokenExpiresIn: 3600))
        try await harness.waitForUploadPass()
        try await harness.database.close()
        for await status in flow { #expect(!status.uploading) }
        #expect(harness.connector.uploads == 0)
    }

    @Test func callsFollowAtOnceUntilTheQueueIsEmpty() async throws {
        harness.connector.onUpload(UploadTests.completeOne)
        for id in ["x", "y", "z"] { try await harness.insert(id) }
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        try await harness.service.nextWriteCheckpoint().respond(1)
        #expect(harness.connector.uploads == 3)
        #expect(harness.log.messages(.warning).isEmpty)
        try await harness.wait { !$0.uploading }
    }

    @Test func forgottenCompleteIsToldAndDelayed() async throws {
        harness.connector.onUpload { _, _ in }
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        for call in 1...2 {
            try await harness.connector.waitForUploads(call)
            try await harness.clock.waitForTimer(of: .seconds(5))
            let warnings = harness.log.messages(.warning)
            #expect(warnings.count == call)
            #expect(
                warnings.last?.hasPrefix("Potentially previously uploaded CRUD entries are still present") == true
            )
            #expect(harness.connector.uploads == call)
            #expect(harness.database.currentStatus.uploadError is PowerSyncError)
            #expect(!harness.database.currentStatus.uploading)
            harness.clock.advance(by: .seconds(5))
        }
    }

    @Test func errorIsShownUntilTheNextSuccess() async throws {
        harness.connector.onUpload { database, call in
            if call == 1 { throw ScriptedError() }
            try await database.getNextCrudTransaction()?.complete()
        }
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        try await harness.wait { $0.lastUploadError as? ScriptedError == ScriptedError() && !$0.uploading }
        #expect(harness.database.currentStatus.connected)
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        try await harness.service.nextWriteCheckpoint().respond(1)
        try await harness.wait { $0.lastUploadError == nil && !$0.uploading }
        #expect(harness.log.messages(.warning).isEmpty)
    }

    @Test func retryWaitsForTheNextStream() async throws {
        harness.connector.onUpload { database, call in
            if call == 1 { throw ScriptedError() }
            try await database.getNextCrudTransaction()?.complete()
        }
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(1))
        stream.end()
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(4))
        try await harness.waitForActivity { $0.upload?.reason.kind == .stream }
        #expect(harness.connector.uploads == 1)
        harness.clock.advance(by: .seconds(1))
        let next = try await harness.acceptNext()
        // The throttle of the pass that failed is over.
        next.send(.checkpoint(1))
        try await harness.service.nextWriteCheckpoint().respond(1)
        #expect(harness.connector.uploads == 2)
    }

    @Test func writesMadeOfflineAreUploadedAfterReconnection() async throws {
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        try await harness.waitForUploadPass()
        stream.end()
        try await harness.wait { !$0.connected }
        try await harness.insert("x")
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        #expect(harness.connector.uploads == 0)
        try await harness.acceptNext().send(.checkpoint(1))
        try await harness.connector.waitForUploads(1)
    }

    @Test func passesAreThrottled() async throws {
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        try await harness.clock.waitForTimer(of: .seconds(1))
        harness.clock.advance(by: .seconds(1))
        try await harness.insert("first")
        try await harness.service.nextWriteCheckpoint().respond(1)
        try await harness.clock.waitForTimer(of: .seconds(1))
        #expect(harness.connector.uploads == 1)
        for number in 0..<10 { try await harness.insert("\(number)") }
        #expect(harness.connector.uploads == 1)
        harness.clock.advance(by: .seconds(1))
        try await harness.service.nextWriteCheckpoint().respond(2)
        #expect(harness.connector.uploads == 2)
    }

    @Test func theThrottleBeginsWithThePass() async throws {
        let gate = TaskGate()
        harness.connector.onUpload { database, call in
            if call == 1 { try await gate.pass() }
            try await database.getNextCrudTransaction()?.complete()
        }
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        try await harness.connector.waitForUploads(1)
        harness.clock.advance(by: .seconds(1))
        gate.open()
        try await harness.service.nextWriteCheckpoint().respond(1)
        try await harness.insert("y")
        // From here on the clock stands still.
        try await harness.service.nextWriteCheckpoint().respond(2)
        #expect(harness.connector.uploads == 2)
    }

    @Test func writeDuringTheRequestKeepsTheGateClosed() async throws {
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        let request = try await harness.service.nextWriteCheckpoint()
        try await harness.insert("y")
        request.respond(1)
        try await harness.clock.waitForTimer(of: .seconds(1))
        harness.clock.advance(by: .seconds(1))
        try await harness.service.nextWriteCheckpoint().respond(2)
        try await harness.waitForWriteCheckpoint(2)
    }

    @Test func writeThatIsUploadedDuringTheRequestKeepsTheGateClosed() async throws {
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        let request = try await harness.service.nextWriteCheckpoint()
        // The queue is empty again when the answer comes, which cannot cover what was in it.
        try await harness.insert("y")
        try await harness.database.getNextCrudTransaction()?.complete()
        request.respond(1)
        try await harness.clock.waitForTimer(of: .seconds(1))
        harness.clock.advance(by: .seconds(1))
        try await harness.service.nextWriteCheckpoint().respond(2)
        try await harness.waitForWriteCheckpoint(2)
        #expect(harness.connector.uploads == 1)
    }

    @Test func customWriteCheckpointNeedsNoRequest() async throws {
        harness.connector.onUpload { database, _ in
            try await database.getNextCrudTransaction()?.complete(writeCheckpoint: "7")
        }
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        try await harness.waitForUploadPass()
        stream.send(.checkpoint(1, [.bucket("a", count: 1)], writeCheckpoint: 7), .put("a", 1...1), .done)
        try await harness.wait { $0.hasSynced == true }
        #expect(try await harness.lists() == ["a1": "remote"])
    }

    @Test func insertOnlyWritesNeedNoWriteCheckpoint() async throws {
        try await harness.database.execute(
            sql: "INSERT INTO logs (id, line) VALUES (?, ?)",
            parameters: ["l", "text"]
        )
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1))
        try await harness.waitForUploadPass()
        #expect(harness.connector.uploads == 1)
        stream.send(.done)
        try await harness.wait { $0.hasSynced == true }
    }

    @Test func keepaliveFindsWhatWasLeftBehind() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appending(path: "test.db").path
        let harness = SyncHarness(path: path)
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        try await harness.clock.waitForTimer(of: .seconds(1))
        harness.clock.advance(by: .seconds(1))
        // Another process writes, and waits for the writer of this one; nothing tells the upload loop.
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        try await DatabaseQueue(path: path, configuration: configuration).write { db in
            try db.execute(
                sql: """
                    INSERT INTO ps_crud (tx_id, data)
                    VALUES (1, '{"op":"PUT","type":"lists","id":"x","data":{"name":"other"}}')
                    """
            )
        }
        stream.send(.keepalive(tokenExpiresIn: 3600))
        try await harness.connector.waitForUploads(1)
        try await harness.database.close()
    }

    @Test func disconnectCancelsAnUploadSilently() async throws {
        harness.connector.onUpload { _, _ in try await TaskGate().pass() }
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        try await harness.wait { $0.uploading }
        try await harness.database.disconnect()
        #expect(!harness.database.currentStatus.uploading)
        #expect(harness.database.currentStatus.uploadError == nil)
        #expect(harness.log.messages(.error).isEmpty)
    }

    @Test func cancellationInsideTheConnectorIsRetriedWithoutAnError() async throws {
        harness.connector.onUpload { database, call in
            if call == 1 { throw CancellationError() }
            try await database.getNextCrudTransaction()?.complete()
        }
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        try await harness.clock.waitForTimer(of: .seconds(5))
        #expect(harness.database.currentStatus.uploadError == nil)
        harness.clock.advance(by: .seconds(5))
        try await harness.connector.waitForUploads(2)
    }
}
