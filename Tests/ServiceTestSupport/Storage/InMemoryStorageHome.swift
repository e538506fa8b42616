import PowerSyncServiceCore
package import PowerSyncTesting
import TestSupport

/// A place for the model.
struct InMemoryStorageHome: StorageHome {
    let kind = TestedStorage.inMemory
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    func open(_ options: StorageOptions) async throws -> any BucketStorage { InMemoryBucketStorage() }

    func writer(of stream: ReplicationStreamID, in storage: any BucketStorage) async throws -> any BucketStorageWriter {
        guard let storage = storage as? InMemoryBucketStorage else { throw UnknownStorage() }
        return try storage.writer(of: stream)
    }

    func rowCount(_ table: String, in storage: any BucketStorage) async throws -> Int? { nil }
}

extension InMemoryBucketStorage: ObservedStorage {}
