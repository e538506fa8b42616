import Foundation
import PowerSyncCoreTestSupport
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// What a connection does that does one half of syncing.
@Suite(.timeLimit(.minutes(1))) struct ConnectionModeTests {
    private let harness = SyncHarness()
    private var service: ScriptedTransport { harness.service }
    private var database: any PowerSyncDatabaseProtocol { harness.database }

    // MARK: Only downloading

    @Test func downloadOnlyNeverUploadsAndShowsWhatTheGateAllows() async throws {
        // The clock stands still, and with it the time between two looks at the queue.
        var options = ConnectOptions(crudThrottle: 0)
        options.mode = .downloadOnly
        try await harness.connect(options)
        let stream = try await harness.acceptNext()
        #expect(database.currentStatus.activity.mode == .downloadOnly)
        stream.send(.checkpoint(1, [.bucket("a")]), .put("a", 1...1), .done)
        try await harness.wait { $0.hasSynced == true }
        try await harness.insert("x")
        try await harness.waitForActivity { $0.upload?.reason.kind == .downloadOnly }
        // Priority 0 passes the gate.
        harness.date.advance(by: 60)
        let now = harness.date.now
        stream.send(
            .checkpoint(2, [.bucket("urgent", priority: 0), .bucket("a")]),
            .put("urgent", 2...2),
            .done(0)
        )
        try await harness.wait { $0.statusForPriority(BucketPriority(0)).lastSyncedAt == now }
        #expect(try await harness.lists() == ["a1": "remote", "x": "local", "urgent2": "remote"])
        #expect(harness.connector.uploads == 0)
    }

    @Test func checkpointThatLocalRowsHoldBackIsAnErrorAtOnce() async throws {
        try await harness.insert("x")
        try await harness.insert("y")
        try await harness.connect(ConnectOptions(mode: .downloadOnly))
        let stream = try await harness.acceptNext()
        #expect(database.currentStatus.downloadError == nil)
        stream.send(.checkpoint(1, [.bucket("a")]), .put("a", 1...1), .done)
        try await harness.wait { $0.downloadError != nil }
        let error = try #require(database.currentStatus.downloadError as? PowerSyncError)
        #expect(error.code == .writesNotUploaded)
        #expect("\(error)".contains("2 local writes wait"))
        #expect("\(error)".contains("disconnectAndClear"))
        #expect(try await harness.lists() == ["x": "local", "y": "local"])

        // The way out.
        try await harness.connect()
        let next = try await harness.acceptNext()
        #expect(database.currentStatus.activity.mode == .full)
        next.send(.checkpoint(1, [.bucket("a")]))
        try await service.nextWriteCheckpoint().respond(5)
        next.send(.checkpoint(1, [.bucket("a")], writeCheckpoint: 5), .done)
        try await harness.wait { $0.hasSynced == true && $0.downloadError == nil }
        #expect(try await harness.lists() == ["a1": "remote"])
    }

    /// The app was ended between the upload and the request.
    @Test func downloadOnlyAsksForTheWriteCheckpointOfWhatWasUploadedBefore() async throws {
        try await harness.insert("x")
        try await database.getNextCrudTransaction()?.complete()
        try await harness.connect(ConnectOptions(mode: .downloadOnly))
        let stream = try await harness.acceptNext()
        stream.send(.checkpoint(1, [.bucket("a")]))
        try await service.nextWriteCheckpoint().respond(3)
        stream.send(.checkpoint(1, [.bucket("a")], writeCheckpoint: 3), .put("a", 1...1), .done)
        try await harness.wait { $0.hasSynced == true }
        #expect(harness.connector.uploads == 0)
        #expect(database.currentStatus.downloadError == nil)
    }

    // MARK: Only uploading

    @Test func uploadOnlyOpensNoStream() async throws {
        try await harness.insert("x")
        try await harness.connect(ConnectOptions(mode: .uploadOnly))
        try await service.nextWriteCheckpoint().respond(4)
        try await harness.waitForUploadPass()
        #expect(harness.connector.uploads == 1)
        #expect(service.streamRequests == 0)
        let status = database.currentStatus
        #expect(!status.connected && !status.connecting && status.anyError == nil)
        #expect(status.activity.mode == .uploadOnly)
        #expect(status.activity.upload == nil)
        // A later write is uploaded, too.
        harness.clock.advance(by: .seconds(1))
        try await harness.insert("y")
        try await harness.connector.waitForUploads(2)
        try await service.nextWriteCheckpoint().respond(5)
        try await harness.waitForUploadPass()

        // The next connection uploads nothing twice, and waits for what the service has counted.
        let stream = try await harness.connectAndAccept()
        #expect(database.currentStatus.activity.mode == .full)
        stream.send(.checkpoint(1, [.bucket("a")], writeCheckpoint: 4), .put("a", 1...1), .done)
        try await stream.waitUntilRead()
        #expect(try await harness.lists() == ["x": "local", "y": "local"])
        stream.send(.checkpoint(2, [.bucket("a")], writeCheckpoint: 5), .done)
        try await harness.wait { $0.hasSynced == true }
        #expect(try await harness.lists() == ["a1": "remote"])
        #expect(harness.connector.uploads == 2)
    }

    @Test func uploadOnlyTriesAgainAfterTheDelay() async throws {
        harness.connector.onUpload { database, call in
            if call == 1 { throw ScriptedError() }
            try await database.getNextCrudTransaction()?.complete()
        }
        try await harness.insert("x")
        try await harness.connect(ConnectOptions(mode: .uploadOnly))
        try await harness.clock.waitForTimer(of: .seconds(5))
        #expect(database.currentStatus.uploadError as? ScriptedError == ScriptedError())
        harness.clock.advance(by: .seconds(5))
        try await service.nextWriteCheckpoint().respond(1)
        try await harness.waitForActivity { $0.upload == nil }
        #expect(harness.connector.uploads == 2)
        #expect(database.currentStatus.uploadError == nil)
    }

    @Test func uploadOnlyAgreesOnTheNumbersOfCheckpointRequests() async throws {
        var options = ConnectOptions(checkpointMode: .requests())
        options.mode = .uploadOnly
        try await harness.insert("x")
        try await harness.connect(options)
        let seed = try await service.nextCheckpointRequest()
        seed.respond(7)
        let posted = try await service.nextCheckpointRequest()
        #expect(posted.requestID == 8)
        posted.respond(8)
        try await harness.waitForUploadPass()
        #expect(database.currentStatus.activity.upload == nil)
        await #expect { try await database.requestCheckpoint() } throws: { error in
            guard case .operationFailed(let message?, _) = error as? CheckpointRequestError else { return false }
            return message.contains("only uploads")
        }
        #expect(service.streamRequests == 0)
    }

    @Test func writesOfAnotherUserAreNoticedWithoutAStream() async throws {
        harness.connector.onFetch { call in
            let claims = Data(#"{"sub":"\#(call == 1 ? "anna" : "ben")"}"#.utf8).base64EncodedString()
            return PowerSyncCredentials(
                endpoint: "https://sync.test",
                token: "e30.\(claims.replacing("=", with: "")).e30"
            )
        }
        harness.connector.onUpload { _, _ in throw ScriptedError() }
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1), .done)
        try await harness.wait { $0.hasSynced == true }
        try await database.disconnect()
        try await harness.insert("x")
        try await harness.connect(ConnectOptions(mode: .uploadOnly))
        try await harness.waitForActivity { $0.hasWritesOfAnotherUser }
    }

    // MARK: Syncing once

    @Test func onceUploadOnlyEndsWhenEverythingIsUploadedAndAcknowledged() async throws {
        try await harness.insert("x")
        let task = Task { [harness] in
            try await harness.database.syncOnce(
                connector: harness.connector,
                options: ConnectOptions(mode: .uploadOnly),
                deadline: .seconds(25)
            )
        }
        try await service.nextWriteCheckpoint().respond(2)
        let result = try await task.value
        #expect(result.isComplete)
        #expect(result.uploadedEntries == 1)
        #expect(service.streamRequests == 0)
        #expect(database.currentStatus.activity.mode == nil)
    }

    @Test func onceDownloadOnlyIsCompleteWithoutLocalWrites() async throws {
        let task = Task { [harness] in
            try await harness.database.syncOnce(
                connector: harness.connector,
                options: ConnectOptions(mode: .downloadOnly),
                deadline: .seconds(25)
            )
        }
        try await harness.acceptNext().send(.checkpoint(1, [.bucket("a")]), .put("a", 1...1), .done)
        #expect(try await task.value.isComplete)
        #expect(try await harness.lists() == ["a1": "remote"])
    }

    // MARK: Ends

    @Test(arguments: [ConnectionMode.downloadOnly, .uploadOnly])
    func disconnectingEndsEitherMode(_ mode: ConnectionMode) async throws {
        try await harness.insert("x")
        harness.connector.onUpload { _, _ in try await TaskGate().pass() }
        try await harness.connect(ConnectOptions(mode: mode))
        if mode == .uploadOnly {
            try await harness.connector.waitForUploads(1)
        } else {
            _ = try await harness.acceptNext()
        }
        try await database.disconnect()
        #expect(database.currentStatus.activity.mode == nil)
        #expect(database.currentStatus.anyError == nil)
        try await database.updateSchema(schema: SyncHarness.schema)
    }
}
