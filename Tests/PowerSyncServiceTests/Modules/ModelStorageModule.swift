import PowerSyncTesting

@testable import PowerSyncServiceCore

/// The storage in memory, with a key of its own: `{type: model, first_stream: 7}`.
struct ModelStorageModule: StorageModule {
    static let type = "model"
    static let example = "{type: model}"
    static let starter: [String]? = nil
    static let sharing = ModuleSharing.oneProcess("one process has a model in memory")

    /// The same for all copies of a configuration.
    let storage: InMemoryBucketStorage

    init?(_ section: inout YAMLSection) {
        storage = InMemoryBucketStorage(firstID: Int64(section.integer("first_stream", in: 1...1000) ?? 1))
        section.finish()
    }

    static func == (left: ModelStorageModule, right: ModelStorageModule) -> Bool { left.storage === right.storage }

    var description: String { "model in memory" }
    var files: [DatabaseFile] { [] }
    var secrets: [String] { [] }
    var maintenance: any StorageMaintenance { Maintenance(storage: storage) }

    func open(_ use: StorageUse, _ context: ModuleContext) async throws -> any BucketStorage { storage }

    func checkPlace() throws {}

    func preparePlace() throws {}

    func error(_ error: any Error, while activity: StorageActivity) -> any Error {
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
