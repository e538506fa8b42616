import PowerSyncProtocol
package import PowerSyncService
package import TestSupport

extension ProtocolCheck {
    private static let adminToken = "admin-secret"

    /// Runs a service as the script expects it, with rows.
    package static func run(
        configure: (inout ServiceConfiguration) -> Void = { _ in },
        _ body: (ServiceScenario) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        try await ServiceScenario.run(in: folder) { configuration in
            configuration.source = .embedded(path: folder.path("source.db"), statements: tables)
            configuration.syncConfig = .content(syncConfig)
            configuration.admin.tokens = [adminToken]
            configure(&configuration)
        } _: { scenario in
            typealias Scenario = ServiceScenario
            try await scenario.write(
                Scenario.put("lists", "l1", ["owner_id": "u1", "name": "Groceries"]),
                Scenario.put("lists", "l2", ["owner_id": "u1", "name": "Work"]),
                Scenario.put("todos", "t1", ["list_id": "l1", "title": "Milk", "done": 0]),
                Scenario.put("todos", "t2", ["list_id": "l1", "title": #"Bread "rye""#, "done": 0])
            )
            try await scenario.settle()
            try await body(scenario)
        }
    }

    /// Runs the script against a service.
    ///
    /// - Parameters:
    ///   - scenario: Where the service is.
    ///   - authority: A file with the authority of its certificate.
    /// - Throws: An error of starting it.
    package init(_ scenario: ServiceScenario, authority: String? = nil) async throws {
        var environment = ["POWERSYNC_TOKEN": try scenario.token(), "POWERSYNC_ADMIN_TOKEN": Self.adminToken]
        environment["CURL_CA_BUNDLE"] = authority
        try await self.init(of: scenario.address.url, environment: environment)
    }
}
