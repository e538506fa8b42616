import Foundation

/// Something that a callback may use on its thread until it returns.
///
/// `@unchecked Sendable`: apps may carry it anywhere, but the resource is read and written only on the thread that runs the
/// callback; every access compares threads first. After the callback it is gone.
final class Lent<Resource>: @unchecked Sendable {
    private let thread = Thread.current
    private var resource: Resource?

    /// Lends a resource to the present thread.
    init(_ resource: Resource) {
        self.resource = resource
    }

    /// The resource.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` on another thread, or after ``end()``.
    func value() throws -> Resource {
        guard Thread.current === thread else {
            throw PowerSyncError.contextOnOtherThread
        }
        guard let resource else {
            throw PowerSyncError.contextAfterCallback
        }
        return resource
    }

    /// The callback returns.
    ///
    /// Call it on the callback's thread.
    func end() {
        resource = nil
    }
}
