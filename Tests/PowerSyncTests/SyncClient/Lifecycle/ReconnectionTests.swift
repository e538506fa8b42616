import Foundation
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// Connecting again while a connection works.
@Suite(.timeLimit(.minutes(1))) struct ReconnectionTests {
    private let harness = SyncHarness()

    @Test func newOptionsEndAnUploadBeforeTheNextOneBegins() async throws {
        let (gate, cancelled, ended) = (TaskGate(), TaskGate(), TaskGate())
        harness.connector.onUpload { _, _ in
            // Takes no notice of the cancellation until the test says so.
            await withTaskCancellationHandler {
                try? await Task { try await gate.pass() }.value
            } onCancel: {
                cancelled.open()
            }
            ended.open()
            throw ScriptedError()
        }
        try await harness.insert("x")
        let first = try await harness.connectAndAccept()
        first.send(.checkpoint(1))
        try await harness.connector.waitForUploads(1)
        let connecting = Task { try await harness.connect(ConnectOptions(params: ["next": .bool(true)])) }
        try await cancelled.pass()
        #expect(harness.service.streamRequests == 1)
        harness.connector.onUpload { database, _ in try await database.getNextCrudTransaction()?.complete() }
        gate.open()
        try await connecting.value
        try await ended.pass()
        #expect(first.isClosed)
        let second = try await harness.acceptNext()
        #expect(second.requestText.contains(#""next":true"#))
        second.send(.checkpoint(1))
        try await harness.service.nextWriteCheckpoint().respond(1)
        #expect(harness.connector.uploads == 2)
        // What the first connection has said belongs to it.
        try await harness.wait { $0.lastUploadError == nil }
        #expect(harness.service.mostOpenStreams == 1)
    }

    @Test func connectingAgainForgetsTheErrors() async throws {
        harness.connector.onUpload { _, _ in throw ScriptedError() }
        try await harness.insert("x")
        let first = try await harness.connectAndAccept()
        first.send(.checkpoint(1))
        try await harness.wait { $0.lastUploadError != nil }
        first.fail(ScriptedError())
        try await harness.wait { $0.lastDownloadError != nil }
        try await harness.connect()
        #expect(harness.database.currentStatus.uploadError == nil)
        #expect(harness.database.currentStatus.downloadError == nil)
    }

    @Test func newOptionsContinueADownload() async throws {
        let first = try await harness.connectAndAccept()
        first.send(.checkpoint(4, [.bucket("a", count: 4)]), .put("a", 1...2))
        try await harness.wait { $0.downloadProgress?.downloadedOperations == 2 }
        try await harness.connect(ConnectOptions(params: ["next": .bool(true)]))
        #expect(first.isClosed)
        let second = try await harness.acceptNext()
        #expect(second.request.buckets == [.init(name: BucketName("a"), after: OpID(2))])
        second.send(.checkpoint(4, [.bucket("a", count: 4)]), .put("a", 3...4), .done)
        try await harness.wait { $0.hasSynced == true }
        #expect(try await harness.lists().count == 4)
    }

    @Test func connectorMayReconnectAndDisconnectInTheMiddleOfAnUpload() async throws {
        let ended = TaskGate()
        let harness = self.harness
        harness.connector.onUpload { database, call in
            guard call == 1 else {
                try await database.getNextCrudTransaction()?.complete()
                return
            }
            // The new connection begins when this one has ended, so ending it must not wait.
            try await database.connect(connector: harness.connector, options: ConnectOptions())
            try await database.disconnect()
            ended.open()
        }
        try await harness.insert("x")
        try await harness.connectAndAccept().send(.checkpoint(1))
        try await ended.pass()
        try await harness.connectAndAccept().send(.checkpoint(1))
        try await harness.service.nextWriteCheckpoint().respond(1)
        #expect(harness.connector.uploads == 2)
        #expect(harness.service.streamRequests == 2)
        #expect(harness.service.mostOpenStreams == 1)
    }

    @Test func disconnectingWaitsForAConnectionThatItsConnectorHasEnded() async throws {
        let (gate, disconnected) = (TaskGate(), TaskGate())
        harness.connector.onUpload { database, _ in
            let transaction = try await database.getNextCrudTransaction()
            try await database.disconnect()
            disconnected.open()
            try await Task { try await gate.pass() }.value
            try await transaction?.complete()
        }
        try await harness.insert("x")
        try await harness.connectAndAccept().send(.checkpoint(1))
        try await disconnected.pass()
        let disconnecting = Task { try await harness.database.disconnect() }
        gate.open()
        try await disconnecting.value
        #expect(try await harness.database.getUploadQueueStats().count == 0)
        #expect(harness.service.openStreams == 0)
    }

    @Test func databaseIsReleasedAfterItsConnection() async throws {
        let released: TaskGate
        do {
            let harness = SyncHarness()
            released = harness.connector.released
            _ = try await harness.connectAndAccept()
            try await harness.database.disconnect()
        }
        try await released.pass()
    }
}
