import Foundation
import PowerSyncAuth
import PowerSyncProtocol
import PowerSyncSyncConfig
import RunningServiceTestSupport
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// Who is let in, and that whoever is not takes no place.
@Suite(.timeLimit(.minutes(1))) struct AdmissionTests {
    private let configuration: ServiceConfiguration
    private let connections = ConcurrencyQueue(maximumRunning: 2, maximumWaiting: 0)
    private let admission: Admission

    init() throws {
        configuration = ServiceScenario.configuration(in: try TemporaryFolder())
        let storage = InMemoryBucketStorage()
        admission = Admission(
            connections: connections,
            tokens: TokenVerifier(keys: configuration.authentication.keys.map(\.key), audience: ["powersync-dev"]),
            sessions: SyncSession.Environment(
                storage: storage,
                dispatcher: CheckpointDispatcher(storage: storage),
                dataReaders: ConcurrencyQueue(maximumRunning: 1, maximumWaiting: 1),
                userStreams: UserStreams(limit: 1),
                limits: BucketLimits(),
                timing: Timing()
            )
        )
    }

    private func header(_ userID: String, now: Date = Date()) throws -> String {
        "Token \(try configuration.makeDevelopmentToken(userID: userID, now: now))"
    }

    @Test func aClientHasBothPlacesUntilItLeaves() async throws {
        let header = try header("u1")
        let client = try await admission.admit { header }
        #expect(client.token.userID == "u1")
        #expect(connections.running == 1)
        await #expect(throws: UserStreams.Overflow.self) { _ = try await admission.admit { header } }
        #expect(connections.running == 1)
        client.leave()
        #expect(connections.running == 0)
        try await admission.admit { header }.leave()
    }

    @Test func whoeverIsRefusedTakesNoPlace() async throws {
        let expired = try header("u1", now: Date(timeIntervalSince1970: 1_700_000_000))
        for authorization in [nil, "Token none", expired] {
            await #expect(throws: AuthorizationError.self) { _ = try await admission.admit { authorization } }
            #expect(connections.running == 0)
        }
        await #expect(throws: ErrorEnvelope.self) { _ = try await admission.admit { throw ErrorEnvelope.shuttingDown } }
        #expect(connections.running == 0)
        let header = try header("u1")
        try await admission.admit { header }.leave()
    }

    @Test func nothingIsReadWithoutASlot() async throws {
        let (first, second) = (try await connections.acquire(), try await connections.acquire())
        await #expect(throws: ConcurrencyQueue.Failure.overflow) {
            _ = try await admission.admit {
                Issue.record("the token of a client is read that has no slot")
                return nil
            }
        }
        first.release()
        second.release()
        #expect(connections.running == 0)
    }
}
