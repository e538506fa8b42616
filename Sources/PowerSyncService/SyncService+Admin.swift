import Foundation
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncServiceCore

/// The last error of replication, for operators.
///
/// It counts until something has been committed.
final class ReplicationFailure: Sendable {
    private let last = NIOLockedValueBox<AdminRoutes.Failure?>(nil)
    private let now: @Sendable () -> Date

    /// There has been no error.
    init(now: @escaping @Sendable () -> Date) {
        self.now = now
    }

    /// The error, if there is one.
    var current: AdminRoutes.Failure? { last.withLockedValue { $0 } }

    /// An attempt has failed, or a commit was made (`nil`).
    func record(_ error: (any Error)?) {
        let failure = error.map { AdminRoutes.Failure(message: "\($0)", date: now()) }
        last.withLockedValue { $0 = failure }
    }
}

extension SyncService {
    /// The routes for operators.
    func makeAdminRoutes(
        storage: any BucketStorage,
        source: any ReplicationSource,
        dispatcher: CheckpointDispatcher,
        deployer: SyncConfigDeployer,
        failure: ReplicationFailure,
        queue: ConcurrencyQueue
    ) -> AdminRoutes {
        AdminRoutes(
            tokens: AdminTokens(configuration.admin.tokens),
            storage: storage,
            source: source,
            connection: AdminRoutes.Connection(
                uri: configuration.sourceDescription,
                defaultSchema: configuration.defaultSchema
            ),
            deployer: deployer,
            isConfigured: syncConfigText != nil,
            failure: { failure.current },
            usage: { [configuration] in
                [
                    "clients": .object(["streams": .integer(Int64(dispatcher.census.sessions))]),
                    "storage": .object(["bytes": .integer(configuration.storageSize)]),
                ]
            },
            clock: timing.clock,
            now: timing.now,
            queue: queue
        )
    }
}

extension ServiceConfiguration {
    /// The source, without secrets.
    var sourceDescription: String {
        switch source.kind {
        case .embedded(let path, _): "embedded source \(path)"
        case .postgres(let settings): settings.description
        }
    }

    /// The endpoint of a service with this configuration, for programs on the same machine.
    package var localURL: String { BoundAddress(host: host, port: port).url }

    /// The bytes that the files of the storage take.
    var storageSize: Int64 {
        switch storage.kind {
        case .sqlite(let path):
            ["", "-wal", "-shm"].reduce(0) { size, suffix in
                let attributes = try? FileManager.default.attributesOfItem(atPath: path + suffix)
                return size + ((attributes?[.size] as? NSNumber)?.int64Value ?? 0)
            }
        }
    }
}
