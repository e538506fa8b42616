public import Foundation
import PowerSyncClient

/// Transfers the attachments of a table.
public protocol SyncingServiceProtocol: Sendable {
    /// Begins to transfer; a service that is started already starts again.
    ///
    /// - Parameter period: The seconds between two looks at the table without a reason; 0 or less for none.
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``
    func startSync(period: TimeInterval) async throws
    /// Ends the transfers. They can be started again.
    func stopSync() async throws
    /// Ends the transfers for good.
    func close() async throws
    /// Looks at the table now; what failed is tried again at once.
    func triggerSync() async throws
    /// Removes archived attachments that the cache has no room for, with their files, up to 1000.
    ///
    /// - Returns: Whether nothing is left to remove.
    func deleteArchivedAttachments(_ context: AttachmentContext) async throws -> Bool
}
