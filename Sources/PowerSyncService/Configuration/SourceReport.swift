package import Logging
import PowerSyncRules
import PowerSyncServiceCore
package import PowerSyncServicePostgres

/// What `powersync test-connection` finds out about the source of a service.
package struct SourceReport: Sendable {
    /// How far the check came.
    package enum Outcome: Sendable {
        /// The server has answered; what it lacks is in the findings.
        case checked([PostgresFinding])
        /// There is no connection, or it was lost.
        case unreachable(message: String, remedy: String?)
    }

    /// The source, without secrets.
    package let source: String
    /// The version of the server, if it has answered.
    package let serverVersion: String?
    /// How far the check came.
    package let outcome: Outcome
}

extension SyncService {
    /// Checks whether the source of a configuration can be replicated.
    ///
    /// - Parameters:
    ///   - configuration: The configuration of a service, which may be running.
    ///   - logger: For warnings of an embedded source.
    /// - Returns: What is missing, or why there is no connection.
    /// - Throws: ``ServiceError`` when the configuration or the sync config cannot be used; `CancellationError`.
    package static func checkSource(
        of configuration: ServiceConfiguration,
        logger: Logger
    ) async throws -> SourceReport {
        let plan = try plan(of: configuration)
        switch configuration.source.kind {
        case .embedded(let path, _):
            let source = try configuration.openSource(logger: logger)
            defer { try? source.close() }
            try await source.checkConfiguration()
            return SourceReport(source: "the embedded source \(path)", serverVersion: nil, outcome: .checked([]))
        case .postgres(let settings):
            return try await check(settings, plan)
        }
    }

    /// What the source is read for; nothing yet when the sync config comes through the admin API.
    private static func plan(of configuration: ServiceConfiguration) throws(ServiceError) -> SyncPlan {
        guard let (text, file) = try configuration.readSyncConfigText() else { return .empty }
        let result = SyncConfig.parse(text)
        if let plan = result.plan { return plan }
        throw ServiceError(
            .invalidSyncConfig,
            "the sync config has errors",
            diagnostics: result.diagnostics.map { $0.formatted(file: file) }
        )
    }

    private static func check(_ settings: PostgresSettings, _ plan: SyncPlan) async throws -> SourceReport {
        let check = PostgresCheck(publication: settings.publication, slotNamePrefix: settings.slotNamePrefix)
        do {
            let connection = try await PostgresConnection.open(try settings.connectionString())
            defer { connection.close() }
            let findings = try await check.findings(on: connection, plan: plan)
            let version = connection.serverVersion
            return SourceReport(
                source: settings.description,
                serverVersion: "\(version / 10_000).\(version % 10_000)",
                outcome: .checked(findings)
            )
        } catch let error as PostgresError {
            return SourceReport(
                source: settings.description,
                serverVersion: nil,
                outcome: .unreachable(message: "\(error)", remedy: PostgresCheck.remedy(for: error))
            )
        }
    }
}
