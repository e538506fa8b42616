import Foundation
import Hummingbird
import NIOConcurrencyHelpers
import Testing

@testable import PowerSyncService

/// What health checks are told.
@Suite struct ProbesTests {
    @Test func aProcessIsReadyOnceItHasStarted() {
        let probes = Probes { Date(timeIntervalSince1970: 0) }
        #expect(probes.response(to: .startup).status == .badRequest)
        #expect(probes.response(to: .readiness).status == .badRequest)
        #expect(probes.response(to: .liveness).status == .ok)
        probes.didStart()
        #expect(probes.response(to: .startup).status == .ok)
        #expect(probes.response(to: .readiness).status == .ok)
    }

    @Test func aProcessIsAliveWhileReplicationTouchesTheProbe() {
        let seconds = NIOLockedValueBox(0.0)
        let probes = Probes { Date(timeIntervalSince1970: seconds.withLockedValue { $0 }) }
        seconds.withLockedValue { $0 = 9.9 }
        #expect(probes.response(to: .liveness).status == .ok)
        seconds.withLockedValue { $0 = 10 }
        #expect(probes.response(to: .liveness).status == .badRequest)
        probes.touch()
        #expect(probes.response(to: .liveness).status == .ok)
    }

    @Test func aProcessThatEndsOrHasAProblemIsNotReady() {
        let probes = Probes { Date(timeIntervalSince1970: 0) }
        probes.didStart()
        #expect(probes.found(.storage))
        #expect(!probes.found(.storage))
        #expect(probes.response(to: .readiness).status == .badRequest)
        #expect(probes.response(to: .startup).status == .ok)
        #expect(probes.solved(.storage))
        #expect(!probes.solved(.storage))
        #expect(probes.response(to: .readiness).status == .ok)
        probes.didStop()
        #expect(probes.response(to: .readiness).status == .badRequest)
    }
}
