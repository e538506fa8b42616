import ServiceLifecycle

/// Lets a storage learn of what other processes do, until shutdown or cancellation; ends the service when it is another storage.
package struct StorageFollower: Service {
    private let storage: any BucketStorage
    private let look: @Sendable (StorageLook) -> Void

    /// Creates a follower.
    ///
    /// - Parameters:
    ///   - storage: What is followed.
    ///   - look: Called after each look.
    package init(storage: any BucketStorage, look: @escaping @Sendable (StorageLook) -> Void) {
        self.storage = storage
        self.look = look
    }

    package func run() async throws {
        try await untilShutdown { try await storage.follow(look) }
    }
}
