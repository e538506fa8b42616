package import PowerSyncService
package import Logging
import PowerSyncSyncConfig
package import PowerSyncServiceCore

extension SyncService {
    /// Checks whether the source of a configuration can be replicated, and changes nothing.
    ///
    /// An embedded source is opened as a service opens it, which adds what captures changes; if there is no file yet, the tables
    /// are made in a temporary one.
    ///
    /// - Parameters:
    ///   - configuration: The configuration of a service, which may be running.
    ///   - logger: For warnings of the source.
    /// - Returns: What is missing, or why there is no connection.
    /// - Throws: ``ServiceError`` when the configuration or the sync config cannot be used; `CancellationError`.
    package static func checkSource(
        of configuration: ServiceConfiguration,
        logger: Logger
    ) async throws -> SourceReport {
        let (plan, text) = try plan(of: configuration)
        return try await configuration.source.module.check(
            plan,
            text: text,
            configuration.moduleContext(logger: logger)
        )
    }

    /// What keeps a service from using a storage that is a server; a file belongs to the service that runs.
    package static func storageErrors(of configuration: ServiceConfiguration) async throws -> [Finding] {
        guard type(of: configuration.storage.module).sharing == .anyNumber else { return [] }
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

    /// What the source is read for; nothing yet when the sync config comes through the admin API.
    private static func plan(
        of configuration: ServiceConfiguration
    ) throws(ServiceError) -> (SyncPlan, (content: String, file: String)?) {
        guard let (text, file) = try configuration.readSyncConfigText() else { return (.empty, nil) }
        let result = SyncConfig.parse(text, patternRefusal: configuration.patternRefusal)
        if let plan = result.plan { return (plan, (text, file)) }
        throw ServiceError(
            .invalidSyncConfig,
            "the sync config has errors",
            diagnostics: result.diagnostics.map { $0.formatted(file: file) }
        )
    }
}
