import Foundation
import PowerSyncTesting

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// A queue type of an app's, whose files all have one name.
struct FixedNameQueue: AttachmentQueueProtocol {
    let harness: QueueHarness
    let service: AttachmentService

    init(harness: QueueHarness) {
        self.harness = harness
        service = AttachmentService(
            db: harness.database,
            tableName: "attachments",
            logger: harness.log,
            maxArchivedCount: 100
        )
    }

    var db: any PowerSyncDatabaseProtocol { harness.database }
    var attachmentsService: any AttachmentServiceProtocol { service }
    var localStorage: any LocalStorageAdapter { harness.local }
    var downloadAttachments: Bool { true }

    func waitForInit() async throws {}
    func startSync() async throws {}
    func stopSyncing() async throws {}
    func close() async throws {}
    func resolveNewAttachmentFilename(attachmentId: String, fileExtension: String?) async -> String { "photo.jpg" }
    @Sendable func getLocalUri(_ filename: String) async -> String { harness.path(filename) }
    func expireCache() async throws {}
    func clearQueue() async throws {}
}
