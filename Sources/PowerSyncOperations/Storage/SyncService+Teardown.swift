package import PowerSyncService
package import Logging
import PowerSyncServiceCore

/// What ``SyncService/tearDown(_:logger:willErase:)`` takes away.
package struct TeardownPlan: Sendable, Equatable {
    /// The source, without secrets; its rows stay.
    package let source: String
    /// The replication slots of the service, in the order of their names.
    package let slots: [String]
    /// The storage, without secrets.
    package let storage: String
}

extension SyncService {
    /// Finds out what a teardown would take away, and changes nothing; a service may run.
    ///
    /// - Parameter configuration: Names source and storage.
    /// - Returns: What would be dropped.
    /// - Throws: ``ServiceError`` with code `storage` when there is no storage that can be read.
    package static func teardownPlan(of configuration: ServiceConfiguration) async throws -> TeardownPlan {
        let maintenance = configuration.storage.module.maintenance
        return try await configuration.maintaining {
            configuration.teardownPlan(try await maintenance.sourceHandles(), maintenance)
        }
    }

    /// Drops the replication slots of a service that does not run, then everything in its storage.
    ///
    /// Rows of the source stay, and so does a publication; triggers and tables in an embedded source go. Clients that come back to
    /// a new service keep what they have until its first checkpoint, whatever the numbers of that, and download what differs.
    ///
    /// - Parameters:
    ///   - configuration: Names source and storage.
    ///   - logger: For warnings of the source.
    ///   - willErase: Called with what is dropped, before anything is.
    /// - Throws: ``ServiceError`` with code `storage` while a service runs on it, or when there is none; an error of the source.
    ///   Nothing of the storage has been deleted then, and it can be repeated.
    package static func tearDown(
        _ configuration: ServiceConfiguration,
        logger: Logger,
        willErase: (TeardownPlan) -> Void
    ) async throws {
        let maintenance = configuration.storage.module.maintenance
        // It comes back through the storage, and is none of its errors: both may be PostgreSQL servers.
        var sourceError: (any Error)?
        do {
            try await configuration.maintaining {
                try await maintenance.erase { slots in
                    let plan = configuration.teardownPlan(slots, maintenance)
                    willErase(plan)
                    do {
                        try await configuration.release(plan.slots, logger: logger)
                    } catch {
                        sourceError = error
                        throw error
                    }
                }
            }
        } catch {
            throw configuration.startError(sourceError ?? error)
        }
    }
}

extension ServiceConfiguration {
    fileprivate func teardownPlan(_ slots: Set<String>, _ maintenance: any StorageMaintenance) -> TeardownPlan {
        TeardownPlan(source: sourceDescription, slots: slots.sorted(), storage: maintenance.place)
    }

    /// Makes the source forget streams, and what was made for them if there are no others.
    func release(_ slots: [String], logger: Logger) async throws {
        // A source that is gone has forgotten everything; opening it would make it again.
        guard source.module.isThere else { return }
        let source = try await openSource(logger: logger)
        defer { try? source.close() }
        for slot in slots { try await source.dropStream(slot) }
        try await source.uninstall()
    }
}
