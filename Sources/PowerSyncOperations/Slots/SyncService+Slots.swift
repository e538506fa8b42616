package import PowerSyncService
package import Logging
package import PowerSyncServiceCore

/// The replication slots of a source whose names begin as those of the service, for `powersync slots`.
package struct SlotReport: Sendable {
    /// A slot, and whether the service needs it.
    package struct Entry: Sendable, Equatable {
        /// The slot as the server describes it.
        package let slot: SourceSlot
        /// Whether a stream of the storage needs it.
        package let isNeeded: Bool

        /// Whether it can be dropped: no stream needs it, and no connection reads it.
        package var isUnused: Bool { !isNeeded && !slot.isActive }
    }

    /// The source, without secrets.
    package let source: String
    /// What the names begin with.
    package let prefix: String
    /// The storage, without secrets.
    package let storage: String
    /// Whether there is a storage: without one, no slot counts as needed.
    package let hasStorage: Bool
    /// The slots, in the order of their names.
    package let entries: [Entry]

    /// The bytes of log that the server keeps for slots that no stream needs.
    package var wastedBytes: Int64 {
        entries.filter(\.isUnused).reduce(0) { $0 + ($1.slot.retainedBytes ?? 0) }
    }
}

extension SyncService {
    /// Lists the replication slots whose names begin as those of a service, and compares them with its storage.
    ///
    /// Changes nothing, also while the service runs.
    ///
    /// - Parameter configuration: Names source and storage.
    /// - Returns: The slots; `nil` for a source without slots.
    /// - Throws: ``ServiceError``, or ``SourceUnreachable``.
    package static func slots(of configuration: ServiceConfiguration) async throws -> SlotReport? {
        let source = configuration.source.module
        // In this order: a stream is stored before its slot is made.
        guard let slots = try await source.slots() else { return nil }
        let maintenance = configuration.storage.module.maintenance
        return try await configuration.maintaining {
            let needed = try await maintenance.sourceHandles()
            return SlotReport(
                source: source.description,
                prefix: source.handlePrefix,
                storage: maintenance.place,
                hasStorage: try await maintenance.isThere(),
                entries: slots.map { SlotReport.Entry(slot: $0, isNeeded: needed.contains($0.name)) }
            )
        }
    }

    /// Drops replication slots.
    ///
    /// - Parameters:
    ///   - names: What is dropped.
    ///   - configuration: Names the source.
    ///   - logger: For warnings of the source.
    /// - Throws: An error of the source; slots before that are dropped.
    package static func dropSlots(
        _ names: [String],
        of configuration: ServiceConfiguration,
        logger: Logger
    ) async throws {
        try await configuration.release(names, logger: logger)
    }
}

extension StorageMaintenance {
    /// Whether there is a storage, also one that this service cannot use.
    fileprivate func isThere() async throws -> Bool {
        do {
            return try await version().found != nil
        } catch let error as BucketStorageError where error.code == .unsupportedVersion {
            return true
        }
    }
}
