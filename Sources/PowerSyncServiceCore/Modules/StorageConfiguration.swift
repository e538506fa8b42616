/// Where the buckets of a service are kept.
///
/// Each kind of storage adds a function that makes one:
///
/// ```swift
/// let storage = StorageConfiguration.sqlite(path: "data/buckets.db")
/// ```
public struct StorageConfiguration: Sendable {
    /// What knows the storage.
    package let module: any StorageModule

    /// Creates a storage of some kind.
    package init(_ module: any StorageModule) {
        self.module = module
    }
}

extension StorageConfiguration: Equatable {
    /// Whether both have the same settings of the same kind.
    public static func == (left: StorageConfiguration, right: StorageConfiguration) -> Bool {
        func isEqual<Module: StorageModule>(_ module: Module) -> Bool { module == right.module as? Module }
        return isEqual(left.module)
    }
}
