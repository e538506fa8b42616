package import PowerSyncServiceCore
package import PowerSyncTesting

/// The storage in memory, with a key of its own: `{type: model, first_stream: 7}`.
package struct ModelStorageModule: StorageModule {
    package static let type = "model"
    package static let example = "{type: model}"
    package static let starter: [String]? = nil
    package static let schemaKeys: [SchemaObject.Key] = []
    package static let sharing = ModuleSharing.oneProcess("one process has a model in memory")

    /// The same for all copies of a configuration.
    package let storage: InMemoryBucketStorage

    package init?(_ section: inout YAMLSection) {
        storage = InMemoryBucketStorage(firstID: Int64(section.integer("first_stream", in: 1...1000) ?? 1))
        section.finish()
    }

    package static func == (left: ModelStorageModule, right: ModelStorageModule) -> Bool {
        left.storage === right.storage
    }

    package var description: String { "model in memory" }
    package var files: [DatabaseFile] { [] }
    package var secrets: [String] { [] }
    package var maintenance: any StorageMaintenance { Maintenance(storage: storage) }

    package func open(_ use: StorageUse, _ context: ModuleContext) async throws -> any BucketStorage { storage }

    package func checkPlace() throws {}

    package func preparePlace() throws {}

    package func error(_ error: any Error, while activity: StorageActivity) -> any Error {
        guard let error = error as? BucketStorageError else { return error }
        return ServiceError(.storage, error.message, key: "storage", catalogueCode: error.catalogueCode)
    }

    private struct Maintenance: StorageMaintenance {
        let storage: InMemoryBucketStorage
        var place: String { "model in memory" }

        func version() async throws -> StorageVersion { StorageVersion(found: 1, current: 1, steps: []) }

        func sourceHandles() async throws -> Set<String> { Set(try storage.streams().map(\.sourceHandle)) }

        func checkOpening(migrates: Bool) async throws {}

        func migrate() async throws {}

        func erase(afterReleasing release: (Set<String>) async throws -> Void) async throws {
            try await release(try await sourceHandles())
        }
    }
}
