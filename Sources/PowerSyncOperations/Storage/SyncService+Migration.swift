package import PowerSyncService
import PowerSyncServiceCore

/// The version of a storage, for `powersync migrate`.
package struct MigrationReport: Sendable, Equatable {
    /// The storage, without secrets.
    package let place: String
    /// What is stored; `nil` when nothing is.
    package let found: Int?
    /// What this service needs.
    package let current: Int
    /// What a migration does, a sentence for each step.
    package let steps: [String]
    /// Whether there is nothing to do.
    package var isCurrent: Bool { found == current }
}

extension SyncService {
    /// Finds out what a migration would do, and changes nothing; a service may run.
    ///
    /// - Parameter configuration: Names the storage.
    /// - Returns: The versions.
    /// - Throws: ``ServiceError`` with code `storage`, also for a storage that is newer than this service.
    package static func migrationReport(of configuration: ServiceConfiguration) async throws -> MigrationReport {
        let maintenance = configuration.storage.module.maintenance
        return try await configuration.maintaining {
            let version = try await maintenance.version()
            return MigrationReport(
                place: maintenance.place,
                found: version.found,
                current: version.current,
                steps: version.steps
            )
        }
    }

    /// Brings the storage of a configuration to the version of this service, and makes it when there is none.
    ///
    /// - Parameter configuration: Names the storage.
    /// - Returns: The versions as they were before.
    /// - Throws: ``ServiceError`` with code `storage`, while a service runs on it, and for one that is newer than this service.
    package static func migrate(_ configuration: ServiceConfiguration) async throws -> MigrationReport {
        let report = try await migrationReport(of: configuration)
        try configuration.storage.module.preparePlace()
        try await configuration.maintaining { try await configuration.storage.module.maintenance.migrate() }
        return report
    }
}

extension ServiceConfiguration {
    /// Does something with the storage, and words its errors for operators.
    ///
    /// - Throws: ``ServiceError`` with code `storage` in the place of a ``BucketStorageError``, or an error of its
    ///   server.
    func maintaining<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch {
            throw storage.module.error(error, while: .maintaining)
        }
    }
}
