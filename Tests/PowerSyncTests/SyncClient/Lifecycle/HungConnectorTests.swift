import PowerSyncCore
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// Functions of the connector hang and take no notice of their cancellation: they hold up no call of the database for more than a second,
/// and what they return afterwards has no effect.
@Suite(.timeLimit(.minutes(1))) struct HungConnectorTests {
    enum Method: CaseIterable {
        case fetchCredentials, uploadData, postCheckpointRequest
    }

    enum Call: CaseIterable {
        case connect, disconnect, clear, softClear, close
    }

    /// What the closure does when it goes on at last.
    enum Ending: CaseIterable {
        case returns, fails
    }

    private let harness = SyncHarness()
    /// Opens when the closure hangs.
    private let hangs = TaskGate()
    /// Lets the closure go on.
    private let gate = TaskGate()
    /// Opens when the closure has returned.
    private let ended = TaskGate()

    /// Connects with a method whose first call hangs.
    private func connect(_ method: Method, _ ending: Ending = .returns) async throws {
        let (hangs, gate, ended) = (self.hangs, self.gate, self.ended)
        let first: @Sendable (Int) async throws -> Void = { number in
            guard number == 1 else { return }
            hangs.open()
            defer { ended.open() }
            try await Task { try await gate.pass() }.value
            if ending == .fails { throw ScriptedError() }
        }
        switch method {
        case .fetchCredentials:
            harness.connector.onFetch { number in
                try await first(number)
                return PowerSyncCredentials(endpoint: "https://sync.test", token: "token \(number)")
            }
            try await harness.connect()
        case .uploadData:
            harness.connector.onUpload { database, number in
                try await first(number)
                try await database.getNextCrudTransaction()?.complete()
            }
            try await harness.insert("x")
            try await harness.connectAndAccept().send(.checkpoint(1))
        case .postCheckpointRequest:
            let connector = CheckpointPostingConnector(harness.connector, post: first)
            try await harness.database.connect(
                connector: connector,
                options: ConnectOptions(checkpointMode: .requests())
            )
            _ = try await harness.acceptNext()
        }
        try await hangs.pass()
    }

    /// Lets a call wait for a second, which is the time that it gives the connector.
    private func afterASecond(_ call: @escaping @Sendable () async throws -> Void) async throws {
        let calling = Task { try await call() }
        try await harness.clock.waitForTimer(of: .seconds(1))
        // The stream is closed already, and no loop runs.
        #expect(harness.service.openStreams == 0)
        harness.clock.advance(by: .seconds(1))
        try await calling.value
    }

    @Test(arguments: Method.allCases, Call.allCases)
    func aCallEndsWithinASecond(method: Method, call: Call) async throws {
        for ending in Ending.allCases {
            try await HungConnectorTests().aCallEndsWithinASecond(method, call, ending)
        }
    }

    private func aCallEndsWithinASecond(_ method: Method, _ call: Call, _ ending: Ending) async throws {
        try await connect(method, ending)
        try await afterASecond { [harness] in
            switch call {
            case .connect: try await harness.connect()
            case .disconnect: try await harness.database.disconnect()
            case .clear: try await harness.database.disconnectAndClear()
            case .softClear: try await harness.database.disconnectAndClear(soft: true)
            case .close: try await harness.database.close()
            }
        }
        #expect(harness.log.messages(.warning).contains { $0.contains("has not returned") })
        if call == .disconnect || call == .clear || call == .softClear { try await harness.connect() }
        if call != .close {
            // Before the closure goes on: its answer is not the one that is used.
            let stream = try await harness.acceptNext()
            #expect(stream.token == (method == .fetchCredentials ? "token 2" : stream.token))
        }
        gate.open()
        try await ended.pass()
        #expect(harness.database.currentStatus.anyError == nil)
        #expect(harness.service.openStreams == (call == .close ? 0 : 1))
        // Without credentials there was no stream before the call.
        #expect(harness.service.mostOpenStreams == (call == .close && method == .fetchCredentials ? 0 : 1))
        try await harness.database.close()
        #expect(harness.database.currentStatus.anyError == nil)
    }

    @Test func ofTenConnectsInARowNoneWaitsForAnotherOnesConnector() async throws {
        let (harness, gate) = (self.harness, self.gate)
        harness.connector.onFetch { _ in
            try await Task { try await gate.pass() }.value
            return nil
        }
        try await harness.connect()
        try await harness.connector.waitForFetches(1)
        try await withThrowingTaskGroup { calls in
            for _ in 0..<10 { calls.addTask { try await harness.connect() } }
            // All but the last one, while the clock stands still.
            for _ in 0..<9 { try await calls.next() }
            try await harness.clock.waitForTimer(of: .seconds(1))
            harness.clock.advance(by: .seconds(1))
            try await calls.next()
        }
        // The first one and the last one.
        try await harness.connector.waitForFetches(2)
        #expect(harness.connector.fetches == 2)
        try await afterASecond { try await harness.database.close() }
        gate.open()
    }

    @Test func aReplacedConnectIsNotLostWithItsSuccessor() async throws {
        try await connect(.uploadData)
        let first = Task { [harness] in try await harness.connect() }
        try await harness.clock.waitForTimer(of: .seconds(1))
        let second = Task { [harness] in try await harness.connect() }
        // It has been answered because of the second one, which therefore is not cancelled any more.
        try await first.value
        second.cancel()
        harness.clock.advance(by: .seconds(1))
        try await second.value
        _ = try await harness.acceptNext()
        gate.open()
    }

    // MARK: - Completions of an upload that was left behind

    /// Connects with an upload that hangs between reading a transaction and completing it.
    ///
    /// - Returns: Gets the error of the completion; `nil` when it succeeds.
    private func connectAndHangBeforeCompleting() async throws -> Shared<(any Error)?> {
        let (hangs, gate, ended) = (self.hangs, self.gate, self.ended)
        let failure = Shared<(any Error)?>(nil)
        harness.connector.onUpload { database, number in
            let transaction = try await database.getNextCrudTransaction()
            if number == 1 {
                hangs.open()
                try await Task { try await gate.pass() }.value
            }
            do {
                try await transaction?.complete()
            } catch {
                failure.value = error
            }
            if number == 1 { ended.open() }
        }
        try await harness.insert("x")
        try await harness.connectAndAccept().send(.checkpoint(1))
        try await hangs.pass()
        return failure
    }

    private func queuedNames() async throws -> [String] {
        try await harness.database.getCrudBatch()?.crud.map(\.id) ?? []
    }

    @Test func aLateCompletionRemovesExactlyItsEntries() async throws {
        let failure = try await connectAndHangBeforeCompleting()
        try await afterASecond { [harness] in try await harness.database.disconnect() }
        try await harness.insert("y")
        #expect(try await queuedNames() == ["x", "y"])
        gate.open()
        try await ended.pass()
        #expect(failure.value == nil)
        #expect(try await queuedNames() == ["y"])
    }

    @Test func aLateCompletionOfWhatWasUploadedAgainChangesNothing() async throws {
        let failure = try await connectAndHangBeforeCompleting()
        try await afterASecond { [harness] in try await harness.connect() }
        let stream = try await harness.acceptNext()
        stream.send(.checkpoint(1))
        try await harness.service.nextWriteCheckpoint().respond(1)
        stream.send(.checkpoint(2, writeCheckpoint: 1), .done)
        try await harness.wait { $0.hasSynced == true }
        gate.open()
        try await ended.pass()
        #expect(failure.value == nil)
        let isOpen = try await harness.database.readFromEngine { try LocalWriteGate.isOpen($0) }
        #expect(isOpen)
        #expect(harness.connector.uploads == 2)
    }

    @Test(arguments: [Call.clear, .softClear, .close])
    func aLateCompletionAfterAClearOrTheEndSaysSo(call: Call) async throws {
        let failure = try await connectAndHangBeforeCompleting()
        try await afterASecond { [harness] in
            if call == .close {
                try await harness.database.close()
            } else {
                try await harness.database.disconnectAndClear(soft: call == .softClear)
            }
        }
        if call != .close { try await harness.insert("y") }
        gate.open()
        try await ended.pass()
        let expected: PowerSyncErrorCode = call == .close ? .closed : .cleared
        #expect((failure.value as? PowerSyncError)?.code == expected)
        if call != .close { #expect(try await queuedNames() == ["y"]) }
    }
}
