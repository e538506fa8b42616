import Foundation
package import Logging
import PowerSyncSyncConfig
package import PowerSyncServiceCore
import PowerSyncServicePostgres

/// What `powersync test-connection` finds out about the source of a service.
package struct SourceReport: Sendable {
    /// How far the check came.
    package enum Outcome: Sendable {
        /// The server has answered; what it lacks is in the findings.
        case checked([Finding])
        /// There is no connection, or it was lost.
        case unreachable(Finding)
    }

    /// The source, without secrets.
    package let source: String
    /// The version of the server, if it has answered.
    package let serverVersion: String?
    /// How far the check came.
    package let outcome: Outcome

    /// The report with more findings, if the server has answered.
    package func adding(_ findings: [Finding]) -> SourceReport {
        guard case .checked(let found) = outcome else { return self }
        return SourceReport(source: source, serverVersion: serverVersion, outcome: .checked(findings + found))
    }
}

extension SyncService {
    /// Checks whether the source of a configuration can be replicated, and changes nothing.
    ///
    /// An embedded source is opened as a service opens it, which adds what captures changes; if there is no file yet, the tables
    /// are made in a temporary one.
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
        let (plan, text) = try plan(of: configuration)
        switch configuration.source.kind {
        case .embedded(let path, let statements):
            try await checkEmbeddedSource(path, statements, of: configuration, logger)
            return SourceReport(source: "the embedded source \(path)", serverVersion: nil, outcome: .checked([]))
        case .postgres(let settings):
            return try await check(settings, plan, text)
        }
    }

    /// What keeps a service from using a storage that is a server; a file belongs to the service that runs.
    package static func storageErrors(of configuration: ServiceConfiguration) async throws -> [Finding] {
        guard case .postgres = configuration.storage.kind else { return [] }
        do {
            try await configuration.checkStorage()
            return []
        } catch let error as ServiceError {
            return [
                Finding(
                    .error,
                    .storage,
                    code: .serverSettings,
                    "The bucket storage: \(error.message)",
                    remedy: error.remedy(in: .storage)
                )
            ]
        }
    }

    /// Opens an embedded source, or tries to make it elsewhere.
    static func checkEmbeddedSource(
        _ path: String,
        _ statements: [String],
        of configuration: ServiceConfiguration,
        _ logger: Logger
    ) async throws {
        if FileStamp(path: path) == nil {
            try await checkNewSource(path, statements, of: configuration, logger)
        } else {
            try await open(configuration, logger)
        }
    }

    private static func open(_ configuration: ServiceConfiguration, _ logger: Logger) async throws {
        let source = try configuration.openSource(logger: logger)
        defer { try? source.close() }
        try await source.checkConfiguration()
    }

    /// Checks a source that a service would make.
    private static func checkNewSource(
        _ path: String,
        _ statements: [String],
        of configuration: ServiceConfiguration,
        _ logger: Logger
    ) async throws {
        try configuration.checkFolder(of: path, key: "replication.connections[0].path")
        let folder = FileManager.default.temporaryDirectory.appending(path: "powersync-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let temporary = folder.appending(path: "source.db").path(percentEncoded: false)
        var copy = configuration
        copy.source = .embedded(path: temporary, statements: statements)
        do {
            try await open(copy, logger)
        } catch let error as ReplicationSourceError {
            throw ReplicationSourceError(
                error.code,
                error.message.replacing(temporary, with: path),
                catalogueCode: error.catalogueCode
            )
        }
    }

    /// What the source is read for; nothing yet when the sync config comes through the admin API.
    private static func plan(
        of configuration: ServiceConfiguration
    ) throws(ServiceError) -> (SyncPlan, (content: String, file: String)?) {
        guard let (text, file) = try configuration.readSyncConfigText() else { return (.empty, nil) }
        let result = SyncConfig.parse(text)
        if let plan = result.plan { return (plan, (text, file)) }
        throw ServiceError(
            .invalidSyncConfig,
            "the sync config has errors",
            diagnostics: result.diagnostics.map { $0.formatted(file: file) }
        )
    }

    private static func check(
        _ settings: PostgresSettings,
        _ plan: SyncPlan,
        _ text: (content: String, file: String)?
    ) async throws -> SourceReport {
        let check = PostgresCheck(publication: settings.publication, slotNamePrefix: settings.slotNamePrefix)
        do {
            let string = try settings.connectionString()
            let connection = try await PostgresConnection.open(string)
            defer { connection.close() }
            var findings = try await check.findings(on: connection, plan: plan, text: text)
            // Who may not replicate is told so once.
            if !findings.hasErrors {
                findings = try await check.pathErrors(to: string) + findings
            }
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
                outcome: .unreachable(Finding(.error, .source, "\(error)", remedy: PostgresCheck.remedy(for: error)))
            )
        }
    }
}
