import Foundation
import HTTPStackTestSupport
import TestSupport

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// What tests of uploads in parts have in common: a folder with the file `1.bin`, and a transport.
protocol PartsHarness {
    var folder: AttachmentsFolder { get }
    /// The name of the file in the storage.
    var filename: String { get }
    var mediaType: String { get }
    var adapter: any AttachmentTransportAdapter { get throws }
}

extension PartsHarness {
    var attachment: Attachment {
        Attachment(
            id: "1",
            filename: filename,
            state: .queuedUpload,
            localUri: folder("1.bin"),
            mediaType: mediaType
        )
    }

    /// Uploads the file, and returns what was said of it meanwhile.
    @discardableResult
    func upload() async throws -> [TransferSteps.Step] {
        let steps = TransferSteps()
        let located = LocatedAttachment(attachment: attachment, localPath: folder("1.bin"))
        try await adapter.upload(located, progress: steps.add)
        return steps.all
    }
}

/// Runs a test with a folder that has the file `1.bin`, a server and a client of the stack that is tested.
func withFileToUpload(
    _ content: Data,
    answering respond: @escaping @Sendable (StorageServer.Request) -> StorageServer.Response,
    _ body: (AttachmentsFolder, StorageServer, PowerSyncHTTPClient) async throws -> Void
) async throws {
    try await AttachmentsFolder.run { folder async throws in
        try folder.write(content, to: "1.bin")
        try await StorageServer.run(respond) { server in
            try await HTTPStack.current.withClient { client in try await body(folder, server, client) }
        }
    }
}
