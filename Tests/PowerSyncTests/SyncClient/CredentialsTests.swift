import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct CredentialsTests {
    private let harness = SyncHarness()

    @Test func expiredTokenIsReplacedOnReconnection() async throws {
        let stream = try await harness.connectAndAccept()
        #expect(stream.token == "token 1")
        stream.send(.keepalive(tokenExpiresIn: 4000))
        stream.send(.keepalive(tokenExpiresIn: 0))
        try await harness.wait { !$0.connected }
        #expect(harness.database.currentStatus.downloadError == nil)
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        #expect(try await harness.acceptNext().token == "token 2")
    }

    @Test func tokenThatExpiresSoonIsReplacedInTheBackground() async throws {
        let gate = TaskGate()
        harness.connector.onFetch { call in
            if call == 2 { try await gate.pass() }
            return PowerSyncCredentials(endpoint: "https://sync.test", token: "token \(call)")
        }
        let stream = try await harness.connectAndAccept()
        stream.send(.keepalive(tokenExpiresIn: 10))
        try await harness.connector.waitForFetches(2)
        #expect(harness.database.currentStatus.connected)
        #expect(!stream.isClosed)
        gate.open()
        // Without a delay: the clock stands still.
        let next = try await harness.service.nextStream()
        #expect(next.token == "token 2")
        #expect(harness.connector.fetches == 2)
        #expect(stream.isClosed)
    }

    @Test func aRenewedTokenWithTheSameTextKeepsTheStreamOpen() async throws {
        harness.connector.onFetch { _ in PowerSyncCredentials(endpoint: "https://sync.test", token: "the same") }
        let stream = try await harness.connectAndAccept()
        stream.send(.keepalive(tokenExpiresIn: 10))
        try await harness.connector.waitForFetches(2)
        stream.send(.checkpoint(1), .done)
        try await harness.wait { $0.hasSynced == true }
        #expect(!stream.isClosed)
        #expect(harness.service.streamRequests == 1)
    }

    @Test func onlyOnePrefetchIsInFlight() async throws {
        let gate = TaskGate()
        harness.connector.onFetch { call in
            if call == 2 { try await gate.pass() }
            return PowerSyncCredentials(endpoint: "https://sync.test", token: "token \(call)")
        }
        let stream = try await harness.connectAndAccept()
        stream.send(.keepalive(tokenExpiresIn: 29), .keepalive(tokenExpiresIn: 28), .keepalive(tokenExpiresIn: 27))
        try await stream.waitUntilRead()
        try await harness.connector.waitForFetches(2)
        gate.open()
        #expect(try await harness.service.nextStream().token == "token 2")
        #expect(harness.connector.fetches == 2)
    }

    @Test func failedPrefetchIsTriedAgainAtTheNextKeepalive() async throws {
        harness.connector.onFetch { call in
            if call == 2 { throw ScriptedError() }
            return PowerSyncCredentials(endpoint: "https://sync.test", token: "token \(call)")
        }
        let stream = try await harness.connectAndAccept()
        stream.send(.keepalive(tokenExpiresIn: 20))
        try await harness.log.wait(for: .warning, containing: "Fetching new credentials failed")
        #expect(harness.database.currentStatus.connected)
        #expect(harness.database.currentStatus.downloadError == nil)
        stream.send(.keepalive(tokenExpiresIn: 9))
        #expect(try await harness.service.nextStream().token == "token 3")
    }

    @Test func aFetchThatInvalidatesTheCredentialsIsRepeatedAfterTheDelay() async throws {
        harness.connector.onFetch { [database = harness.database] call in
            // As an app does that follows its own session, which the fetch renews.
            await database.invalidateCredentials()
            return PowerSyncCredentials(endpoint: "https://sync.test", token: "token \(call)")
        }
        for round in 1...3 {
            let stream = round == 1 ? try await harness.connectAndAccept() : try await harness.acceptNext()
            #expect(stream.token == "token \(round + 1)")
            try await harness.clock.waitForTimer(of: .seconds(5))
            #expect(harness.connector.fetches == round + 1)
            harness.clock.advance(by: .seconds(5))
        }
        #expect(harness.log.messages(.warning).count == 1)
        #expect(harness.log.messages(.warning).first?.contains("invalidated again within 5.0 seconds") == true)
    }

    @Test func anInvalidationAfterTheDelayCountsAtOnce() async throws {
        _ = try await harness.connectAndAccept()
        for number in 2...3 {
            await harness.database.invalidateCredentials()
            let stream = try await harness.acceptNext()
            #expect(stream.token == "token \(number)")
            harness.clock.advance(by: .seconds(5))
        }
        #expect(harness.log.messages(.warning).isEmpty)
    }

    @Test func credentialsThatAnUploadHasFetchedReachTheStream() async throws {
        let stream = try await harness.connectAndAccept()
        try await harness.insert("x")
        try await harness.service.nextWriteCheckpoint().reject(status: 401)
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        try await harness.service.nextWriteCheckpoint().respond(7)
        stream.send(.keepalive(tokenExpiresIn: 20))
        #expect(try await harness.acceptNext().token == "token 2")
        #expect(harness.connector.fetches == 2)
    }

    @Test func refusedTokenIsDropped() async throws {
        try await harness.connect()
        let stream = try await harness.service.nextStream()
        stream.reject(status: 401, body: #"{"error":{"code":"PSYNC_S2103"}}"#)
        try await harness.wait { ($0.lastDownloadError as? SyncTransportError)?.httpStatus == 401 }
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        #expect(try await harness.acceptNext().token == "token 2")
    }

    @Test func otherErrorsKeepTheToken() async throws {
        try await harness.connect()
        try await harness.service.nextStream().reject(status: 500)
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        #expect(try await harness.acceptNext().token == "token 1")
        #expect(harness.connector.fetches == 1)
    }

    @Test func thrownErrorIsShownAndRetried() async throws {
        harness.connector.onFetch { call in
            if call == 1 { throw ScriptedError() }
            return PowerSyncCredentials(endpoint: "https://sync.test", token: "token")
        }
        try await harness.connect()
        try await harness.wait { $0.lastDownloadError as? ScriptedError == ScriptedError() && !$0.connecting }
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        try await harness.acceptNext().send(.checkpoint(1), .done)
        try await harness.wait { $0.lastDownloadError == nil && $0.hasSynced == true }
    }

    @Test func missingCredentialsAreShownAndRetried() async throws {
        harness.connector.onFetch { _ in nil }
        try await harness.connect()
        for call in 1...3 {
            try await harness.connector.waitForFetches(call)
            try await harness.clock.waitForTimer(of: .seconds(5))
            #expect(harness.database.currentStatus.downloadError is PowerSyncError)
            harness.clock.advance(by: .seconds(5))
        }
        #expect(harness.service.streamRequests == 0)
    }

    @Test func disconnectEndsAFetch() async throws {
        harness.connector.onFetch { _ in
            try await TaskGate().pass()
            return nil
        }
        try await harness.connect()
        try await harness.connector.waitForFetches(1)
        try await harness.database.disconnect()
        #expect(harness.database.currentStatus.downloadError == nil)
        #expect(!harness.database.currentStatus.connecting)
    }

    @Test func invalidatedCredentialsAreReplacedWithoutADelay() async throws {
        let gate = TaskGate()
        harness.connector.onFetch { call in
            if call == 2 { try await gate.pass() }
            return PowerSyncCredentials(endpoint: "https://sync.test", token: "token \(call)")
        }
        let stream = try await harness.connectAndAccept()
        await harness.database.invalidateCredentials()
        try await harness.connector.waitForFetches(2)
        #expect(harness.database.currentStatus.connected)
        #expect(!stream.isClosed)
        gate.open()
        // Without a delay: the clock stands still.
        let next = try await harness.acceptNext()
        #expect(next.token == "token 2")
        #expect(stream.isClosed)
        #expect(harness.service.mostOpenStreams == 1)
    }

    @Test func fetchUnderWayDoesNotCountAfterAnInvalidation() async throws {
        let gate = TaskGate()
        harness.connector.onFetch { call in
            if call == 1 { try await gate.pass() }
            return PowerSyncCredentials(endpoint: "https://sync.test", token: "token \(call)")
        }
        try await harness.connect()
        try await harness.connector.waitForFetches(1)
        await harness.database.invalidateCredentials()
        gate.open()
        #expect(try await harness.acceptNext().token == "token 2")
        #expect(harness.connector.fetches == 2)
    }

    @Test func invalidationWithoutNewCredentialsEndsTheStream() async throws {
        harness.connector.onFetch { call in
            if call > 1 { throw ScriptedError() }
            return PowerSyncCredentials(endpoint: "https://sync.test", token: "token \(call)")
        }
        let stream = try await harness.connectAndAccept()
        await harness.database.invalidateCredentials()
        try await harness.wait { $0.lastDownloadError as? ScriptedError == ScriptedError() && !$0.connected }
        #expect(stream.isClosed)
    }

    @Test func invalidationWithoutAConnectionDoesNothing() async throws {
        await harness.database.invalidateCredentials()
        #expect(harness.connector.fetches == 0)
        #expect(try await harness.connectAndAccept().token == "token 1")
    }

    @Test func newConnectionFetchesNewCredentials() async throws {
        #expect(try await harness.connectAndAccept().token == "token 1")
        #expect(try await harness.connectAndAccept().token == "token 2")
    }
}
