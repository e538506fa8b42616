import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// How the upload loop asks for a write checkpoint, and what it does when that does not come.
@Suite(.timeLimit(.minutes(1))) struct AwaitedWriteCheckpointTests {
    private let harness = SyncHarness()

    @Test func refusedTokenOfAWriteCheckpointIsReplaced() async throws {
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        try await harness.service.nextWriteCheckpoint().reject(status: 401)
        try await harness.wait { ($0.lastUploadError as? SyncTransportError)?.httpStatus == 401 }
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        let request = try await harness.service.nextWriteCheckpoint()
        #expect(request.token == "token 2")
        request.respond(1)
        try await harness.wait { $0.lastUploadError == nil }
        // The stream is not affected.
        #expect(!stream.isClosed)
        #expect(harness.connector.uploads == 1)
    }

    @Test func keepaliveFindsAWriteCheckpointThatNobodyHasAskedFor() async throws {
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        try await harness.service.nextWriteCheckpoint().respond(1)
        try await harness.waitForWriteCheckpoint(1)
        try await harness.clock.waitForTimer(of: .seconds(1))
        harness.clock.advance(by: .seconds(1))
        // Left by somebody who has uploaded, and got no further; nobody tells the upload loop.
        try await harness.database.execute(
            sql: "UPDATE ps_kv SET value = ? WHERE key = 'target_checkpoint_request_id'",
            parameters: [Int64.max]
        )
        stream.send(.keepalive(tokenExpiresIn: 3600))
        try await harness.service.nextWriteCheckpoint().respond(2)
        try await harness.waitForWriteCheckpoint(2)
        #expect(harness.connector.uploads == 1)
    }

    /// Uploads a write, gets write checkpoint 50, and lets three keepalives come without it.
    private func awaitLostWriteCheckpoint() async throws -> ScriptedStream {
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        try await harness.service.nextWriteCheckpoint().respond(50)
        try await harness.waitForWriteCheckpoint(50)
        for time in ["0.0", "20.0", "40.0"] {
            try await pass20Seconds(stream)
            try await harness.log.wait(for: .debug, containing: "Write checkpoint 50 has not come for \(time) seconds")
        }
        return stream
    }

    /// Lets time pass until the next keepalive.
    private func pass20Seconds(_ stream: ScriptedStream) async throws {
        try await stream.waitUntilRead()
        harness.clock.advance(by: .seconds(20))
        stream.send(.keepalive(tokenExpiresIn: 3600))
    }

    /// A write checkpoint that does not come is asked about, and given up for one of a service that counts anew.
    @Test(
        arguments: [(answer: 1, opens: 1), (answer: 50, opens: 50), (answer: 51, opens: 50)]
    )
    func lostWriteCheckpoint(answer: Int64, opens: Int64) async throws {
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        try await harness.service.nextWriteCheckpoint().respond(50)
        try await harness.waitForWriteCheckpoint(50)
        stream.send(.checkpoint(2, [.bucket("a", count: 1)], writeCheckpoint: 49), .put("a", 1...1), .done)
        for time in ["0.0", "20.0", "40.0", "60.0"] {
            try await pass20Seconds(stream)
            try await harness.log.wait(for: .debug, containing: "Write checkpoint 50 has not come for \(time) seconds")
        }
        try await harness.service.nextWriteCheckpoint().respond(answer)
        if opens < 50 {
            try await harness.waitForWriteCheckpoint(1)
        }
        try await stream.waitUntilRead()
        #expect(try await harness.lists() == ["x": "local"])
        stream.send(.checkpoint(3, [.bucket("a", count: 1)], writeCheckpoint: opens), .done)
        try await harness.wait { $0.hasSynced == true }
        #expect(try await harness.lists() == ["a1": "remote"])
        #expect(harness.log.messages(.error).isEmpty)
    }

    @Test func eachWriteCheckpointIsWaitedForAMinute() async throws {
        let stream = try await awaitLostWriteCheckpoint()
        try await harness.insert("y")
        try await harness.service.nextWriteCheckpoint().respond(51)
        try await harness.waitForWriteCheckpoint(51)
        try await pass20Seconds(stream)
        try await harness.log.wait(for: .debug, containing: "Write checkpoint 51 has not come for 0.0 seconds")
    }

    @Test func aWriteCheckpointThatWasAskedAboutIsWaitedForAnew() async throws {
        let stream = try await awaitLostWriteCheckpoint()
        try await pass20Seconds(stream)
        try await harness.service.nextWriteCheckpoint().respond(49)
        try await harness.waitForWriteCheckpoint(49)
        stream.send(.keepalive(tokenExpiresIn: 3600))
        try await harness.log.wait(for: .debug, containing: "Write checkpoint 49 has not come for 0.0 seconds")
    }

    /// The connection that the first attempt went over is dead, and the stream has a new one.
    @Test func anUnansweredWriteCheckpointRequestIsRepeated() async throws {
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        _ = try await harness.service.nextWriteCheckpoint()
        try await harness.clock.waitForTimer(of: .seconds(8))
        harness.clock.advance(by: .seconds(8))
        try await harness.service.nextWriteCheckpoint().respond(7)
        stream.send(.checkpoint(2, writeCheckpoint: 7), .done)
        try await harness.wait { $0.hasSynced == true }
        #expect(harness.database.currentStatus.uploadError == nil)
        #expect(harness.log.messages(.error).isEmpty)
    }

    @Test func aWriteCheckpointRequestOutlivesTheSuspensionOfTheProcess() async throws {
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        let request = try await harness.service.nextWriteCheckpoint()
        try await stream.waitUntilRead()
        try await harness.clock.waitForTimer(of: .seconds(8))
        try await harness.clock.waitForTimer(of: .seconds(40), count: 2)
        harness.clock.advance(by: .seconds(3600))
        try await harness.clock.waitForTimer(of: .seconds(8))
        try await harness.clock.waitForTimer(of: .seconds(40), count: 2)
        request.respond(7)
        stream.send(.checkpoint(2, writeCheckpoint: 7), .done)
        try await harness.wait { $0.hasSynced == true }
        #expect(harness.log.messages(.error).isEmpty)
        #expect(harness.service.streamRequests == 1)
    }

    @Test func silentWriteCheckpointRequestIsGivenUp() async throws {
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        let first = try await harness.service.nextWriteCheckpoint()
        // That of the request, and that of the stream.
        try await stream.waitUntilRead()
        try await harness.clock.waitForTimer(of: .seconds(40), count: 2)
        try await harness.clock.waitForTimer(of: .seconds(8))
        harness.clock.advance(by: .seconds(8))
        let second = try await harness.service.nextWriteCheckpoint()
        #expect(second.token == first.token)
        harness.clock.advance(by: .seconds(31))
        stream.send(.keepalive(tokenExpiresIn: 3600))
        try await stream.waitUntilRead()
        harness.clock.advance(by: .seconds(1))
        try await harness.wait { ($0.lastUploadError as? SyncTransportError)?.code == .idle }
    }
}
