/// What operators do with a bucket storage that no service has open (docs/operating.md "Maintaining the storage").
///
/// Each storage has one, which its module makes. All calls throw ``BucketStorageError``, whose message is for
/// operators.
package protocol StorageMaintenance: Sendable {
    /// Where the storage is, without secrets.
    var place: String { get }

    /// The version of what is stored, and what this service needs; changes nothing, also while a service runs.
    func version() async throws -> StorageVersion

    /// The handles (``ReplicationStream/sourceHandle``) of all streams that are stored, those of any version included.
    ///
    /// Changes nothing, also while a service runs.
    func sourceHandles() async throws -> Set<String>

    /// Finds what would keep a service from opening the storage; changes nothing.
    ///
    /// - Parameter migrates: Whether the service would bring the storage to its version.
    /// - Throws: The error that opening would throw.
    func checkOpening(migrates: Bool) async throws

    /// Brings the storage to the version of this service, and makes it when there is none.
    ///
    /// - Throws: An error with code `inUse` while a service runs on it.
    func migrate() async throws

    /// Deletes everything that is stored, and keeps services away meanwhile.
    ///
    /// - Parameter release: Called before with the handles of all streams; nothing is deleted when it throws.
    /// - Throws: An error with code `inUse` while a service runs on it, or what `release` throws.
    func erase(afterReleasing release: (Set<String>) async throws -> Void) async throws
}

/// The version of what is stored.
package struct StorageVersion: Sendable, Equatable {
    /// What was found; `nil` when nothing is stored yet.
    package var found: Int?
    /// What this service reads and writes.
    package var current: Int
    /// What a migration from ``found`` to ``current`` does, a sentence for each step.
    package var steps: [String]

    /// Creates a version.
    package init(found: Int?, current: Int, steps: [String]) {
        self.found = found
        self.current = current
        self.steps = steps
    }

    /// Whether a service can use the storage as it is.
    package var isCurrent: Bool { found == current }
}
