import Foundation
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// A connector whose `postCheckpointRequest` does what it should not do.
@Suite(.timeLimit(.minutes(1))) struct PostedRequestFaultTests {
    private let harness = SyncHarness()

    private func connect(
        crudThrottle: TimeInterval = 1,
        _ post: @escaping @Sendable (_ number: Int) async throws -> Void
    ) async throws {
        try await harness.database.connect(
            connector: CheckpointPostingConnector(harness.connector, post: post),
            options: ConnectOptions(
                crudThrottle: crudThrottle,
                checkpointMode: .requests(checkpointRequestRetryDelay: 20)
            )
        )
    }

    @Test func whatItThrowsBeforeTheFirstLineIsShownAndTriedAgain() async throws {
        let accepted = TaskGate()
        try await connect { number in
            guard number == 1 else { return }
            // What fails earlier may end the attempt before the stream is asked for.
            try await accepted.pass()
            throw ScriptedError()
        }
        try await harness.service.nextStream().accept()
        accepted.open()
        try await harness.wait { $0.lastDownloadError as? ScriptedError == ScriptedError() && !$0.connected }
        #expect(harness.service.openStreams == 0)
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        try await harness.acceptNext().send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
        try await harness.wait { $0.hasSynced == true && $0.lastDownloadError == nil }
        _ = try await harness.database.requestCheckpoint()
        #expect(try await harness.lists() == ["a1": "remote"])
    }

    @Test func whatItThrowsAfterAnUploadKeepsTheWriteUntilItSucceeds() async throws {
        let failed = TaskGate()
        // The pass that begins with the stream may come before the write; the clock of the test would not end a pause after it.
        try await connect(crudThrottle: 0) { number in
            guard number == 2 else { return }
            failed.open()
            throw ScriptedError()
        }
        let stream = try await harness.acceptNext()
        stream.send(.checkpoint(0))
        try await harness.insert("mine")
        try await failed.pass()
        try await harness.wait { $0.lastUploadError as? ScriptedError == ScriptedError() }
        #expect(harness.database.currentStatus.connected)
        // The service does not know of the write yet: nothing may be shown over it.
        stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
        try await stream.waitUntilRead()
        #expect(try await harness.lists() == ["mine": "local"])
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        try await harness.wait { $0.lastUploadError == nil && !$0.uploading }
        stream.send(.checkpoint(2, [.bucket("a", count: 1)], writeCheckpoint: 9), .done)
        try await harness.database.waitForFirstSync()
        #expect(try await harness.lists() == ["a1": "remote"])
    }

    /// Connects with a first request that takes no notice of its cancellation.
    ///
    /// - Returns: What lets it return.
    private func connectWithoutAnswer() async throws -> TaskGate {
        let (never, began) = (TaskGate(), TaskGate())
        try await connect { number in
            guard number == 1 else { return }
            began.open()
            try await Task { try await never.pass() }.value
        }
        try await harness.service.nextStream().accept()
        try await began.pass()
        return never
    }

    @Test func oneThatNeverReturnsKeepsNeitherTheConnectionNorTheApp() async throws {
        let never = try await connectWithoutAnswer()
        let disconnecting = Task { try await harness.database.disconnect() }
        try await harness.clock.waitForTimer(of: Connection.returnLimit)
        #expect(harness.service.openStreams == 0)
        harness.clock.advance(by: Connection.returnLimit)
        try await disconnecting.value
        #expect(harness.log.messages(.warning).contains { $0.contains("has not returned") })
        try await harness.connectAndAccept().send(.checkpoint(1), .done)
        try await harness.wait { $0.hasSynced == true }
        never.open()
    }

    @Test func oneThatDoesNotAnswerInTimeIsAnErrorOfTheConnection() async throws {
        let never = try await connectWithoutAnswer()
        try await harness.clock.waitForTimer(of: .seconds(60))
        harness.clock.advance(by: .seconds(60))
        try await harness.wait { ($0.lastDownloadError as? OverdueCallError)?.call == "postCheckpointRequest" }
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        try await harness.acceptNext().send(.checkpoint(1), .done)
        try await harness.wait { $0.hasSynced == true }
        never.open()
    }

    @Test func itMayReadAndWrite() async throws {
        let harness = self.harness
        try await connect { number in
            guard number == 1 else { return }
            let count = try await harness.integer("SELECT count(*) FROM lists")
            try await harness.insert("after \(count ?? -1)")
        }
        let stream = try await harness.acceptNext()
        stream.send(.checkpoint(0))
        let rows = try harness.database.watch("SELECT count(*) FROM lists") { try $0.getInt(index: 0) }
        for try await count in rows where count == [1] { break }
        #expect(try await harness.lists() == ["after 0": "local"])
        #expect(harness.database.currentStatus.anyError == nil)
        try await harness.database.close()
        #expect(harness.service.openStreams == 0)
    }
}
