/// A kind of database that keeps buckets, with the settings of one such database: all that a service knows of it.
///
/// As ``SourceModule``, for `storage`.
package protocol StorageModule: Sendable, Equatable, CustomStringConvertible {
    /// The value of `type` in `storage`.
    static var type: String { get }

    /// A storage as one line of YAML, for messages that say what to write: `{type: …, path: …}`.
    static var example: String { get }

    /// The keys of a storage with which a project begins: lines of YAML; `nil` for a storage that needs a server.
    static var starter: [String]? { get }

    /// The keys that the storage reads besides `type`, for editors.
    static var schemaKeys: [SchemaObject.Key] { get }

    /// Which processes may use one storage at the same time.
    static var sharing: ModuleSharing { get }

    /// Reads the keys of `storage` other than `type`.
    ///
    /// `nil` when there is no storage with these keys; the findings of the document say why.
    ///
    /// - Parameter section: The storage. The module calls ``YAMLSection/finish(isOpen:)``.
    init?(_ section: inout YAMLSection)

    /// The storage without secrets, such as a path, or server, database and schema.
    var description: String { get }

    /// The database files on this machine; empty for a server.
    var files: [DatabaseFile] { get }

    /// The secrets of the storage, in each spelling that may stand in a configuration file.
    var secrets: [String] { get }

    /// What operators do with the storage while no service has it open.
    var maintenance: any StorageMaintenance { get }

    /// Opens the storage.
    ///
    /// - Parameters:
    ///   - use: What for.
    ///   - context: What the storage needs of the service.
    /// - Returns: The storage; the caller closes it.
    /// - Throws: ``ServiceError``, or an error of the storage in the words of ``error(_:while:)``.
    func open(_ use: StorageUse, _ context: ModuleContext) async throws -> any BucketStorage

    /// Finds what would keep a service from making what the storage lies in, and makes nothing.
    ///
    /// - Throws: ``ServiceError``.
    func checkPlace() throws

    /// Makes what the storage lies in, such as the folder of a file.
    ///
    /// - Throws: ``ServiceError``.
    func preparePlace() throws

    /// An error of the storage in words for operators.
    ///
    /// - Parameters:
    ///   - error: What the storage has thrown.
    ///   - activity: What was done.
    /// - Returns: A ``ServiceError`` for errors of the storage and of its server; others as they are.
    func error(_ error: any Error, while activity: StorageActivity) -> any Error
}

/// What a process does with a storage.
package enum StorageUse: Sendable, Hashable {
    /// It runs the service, which makes the storage or brings it to its version if it may.
    case service(migrates: Bool)
    /// It compacts, while another process may run the service.
    case maintenance
}

/// What was done when a storage has failed.
package enum StorageActivity: Sendable, Hashable {
    /// A service was to start.
    case starting
    /// The storage was maintained: compacted, migrated, erased, or its version was read.
    case maintaining
}
