import RunningServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService

/// The service as other programs meet it: curl, and nothing of this repository.
@Suite(.timeLimit(.minutes(3))) struct ProtocolCheckTests {
    @Test func allChecksPass() async throws {
        try await ProtocolCheck.run { scenario in
            let check = try await ProtocolCheck(scenario)
            #expect(check.status == 0, "\(check.failures)")
            #expect(check.lines.filter { $0.hasPrefix("ok ") }.count > 45)
        }
    }

    @Test func theyFailWithoutWhatTheyCheck() async throws {
        try await ProtocolCheck.run { configuration in
            configuration.formats = .ndjsonOnly
            configuration.probes.useHTTP = false
            configuration.admin.tokens = ["another"]
        } _: { scenario in
            let check = try await ProtocolCheck(scenario)
            #expect(check.status == 1)
            for name in ["BSON begins with its length", "the probe readiness answers", "diagnostics tell"] {
                #expect(check.lines.contains { $0.contains("FAILED   \(name)") }, "\(name): \(check.lines)")
            }
        }
    }
}
