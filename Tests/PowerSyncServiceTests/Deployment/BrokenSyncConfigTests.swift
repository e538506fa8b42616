import PowerSyncProtocol
import RunningServiceTestSupport
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncService

/// Starting with a sync config that has errors.
@Suite(.timeLimit(.minutes(1))) struct BrokenSyncConfigTests {
    private static func startBroken(_ configuration: inout ServiceConfiguration, exits: Bool) {
        configuration.syncConfig = .content(AdminScenario.brokenConfig)
        configuration.exitsOnSyncConfigError = exits
    }

    @Test func theStartEndsUnlessItIsToldOtherwise() async throws {
        let error = await #expect(throws: ServiceError.self) {
            try await AdminScenario.run(configure: { Self.startBroken(&$0, exits: true) }) { _ in }
        }
        #expect(error?.code == .invalidSyncConfig)
    }

    @Test func theFormerConfigIsServedAndTheErrorsAreShown() async throws {
        let folder = try TemporaryFolder()
        try await AdminScenario.run(in: folder) { _ in }
        try await AdminScenario.run(in: folder, configure: { Self.startBroken(&$0, exits: false) }) { scenario in
            let reply = try await scenario.send(
                "POST",
                "/api/admin/v1/diagnostics",
                token: AdminScenario.token,
                body: #"{"sync_rules_content":true}"#
            )
            guard case .object(let data) = try reply.json["data"], case .object(let active) = data["active_sync_rules"],
                case .object(let rejected) = data["rejected_sync_rules"], case .array(let errors) = rejected["errors"]
            else {
                Issue.record("\(reply.body)")
                return
            }
            #expect(active["content"] == .string(ServiceScenario.syncConfig))
            #expect(rejected["content"] == .string(AdminScenario.brokenConfig))
            #expect(!errors.isEmpty)
            #expect(data["deploying_sync_rules"] == nil)
            // Another text is deployed as always, and takes the errors away.
            let deployment = try await scenario.service.deploy(syncConfig: AdminScenario.otherConfig)
            #expect(deployment.outcome == .started)
        }
    }
}
