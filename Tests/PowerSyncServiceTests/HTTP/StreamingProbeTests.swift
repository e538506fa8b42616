import PowerSyncProtocol
import RunningServiceTestSupport
import PowerSyncTesting
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// The two lines by which `powersync doctor` notices proxies that keep lines back.
@Suite(.timeLimit(.minutes(1))) struct StreamingProbeTests {
    private typealias Scenario = ServiceScenario

    private static let path = "/sync/stream?probe=streaming"
    private static let request = RawRequests.request("GET \(path)", [])

    @Test func theSecondLineComesAfterThePause() async throws {
        let clock = TestClock()
        try await Scenario.run(timing: clock.timing) { scenario in
            try await RawConnection.connect(port: scenario.address.port) { connection in
                try await connection.send(Self.request)
                let first = try await connection.text(until: "first")
                #expect(first.contains("200 OK") && first.lowercased().contains("x-accel-buffering: no"))
                #expect(!first.contains("last"))
                try await clock.waitForTimer(of: ServiceRoutes.probePause)
                clock.advance(by: ServiceRoutes.probePause)
                #expect(try await connection.text(until: "0\r\n\r\n").contains(#"{"probe":"last"}"#))
            }
        }
    }

    @Test func fewRunAtTheSameTime() async throws {
        let clock = TestClock()
        try await Scenario.run(timing: clock.timing) { scenario in
            try await RawConnection.connect(port: scenario.address.port) { first in
                try await RawConnection.connect(port: scenario.address.port) { second in
                    try await RawConnection.connect(port: scenario.address.port) { third in
                        try await RawConnection.connect(port: scenario.address.port) { fourth in
                            try await first.send(Self.request)
                            try await second.send(Self.request)
                            try await third.send(Self.request)
                            try await fourth.send(Self.request)
                            _ = try await first.text(until: "first")
                            _ = try await second.text(until: "first")
                            _ = try await third.text(until: "first")
                            _ = try await fourth.text(until: "first")
                            #expect(try await scenario.send("GET", Self.path).status == 429)
                        }
                    }
                }
            }
        }
    }

    @Test func withoutProbesThereIsNone() async throws {
        try await Scenario.run { configuration in
            configuration.probes.useHTTP = false
        } _: { scenario in
            let reply = try await scenario.send("GET", Self.path)
            #expect(reply.status == 404)
            #expect(try reply.error("code") == "PSYNC_S2002")
        }
    }
}
