// Members of the queue that apps await, because those of the established SDK are members of an actor.
import PowerSync

func directory(_ queue: AttachmentQueue, _ context: AttachmentContext) async throws {
    _ = await queue.db
    _ = await queue.localStorage
    _ = await queue.remoteStorage
    _ = await queue.logger
    _ = await queue.attachmentsService
    _ = await queue.syncingService
    _ = await queue.downloadAttachments
    _ = await context.db
    _ = await context.tableName
}
