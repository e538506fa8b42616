import Crypto
import Foundation
import HTTPStackTestSupport
import NIOConcurrencyHelpers
import NIOCore
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// A transport, a server and a directory.
struct TransferHarness {
    let server: StorageServer
    let folder: AttachmentsFolder
    let transport: HTTPAttachmentTransport

    /// Runs a test against a server.
    ///
    /// - Parameters:
    ///   - respond: What the server answers.
    ///   - readTimeout: How long the client waits for the next bytes.
    ///   - target: Makes the request of a transfer from the URL of the file at the server.
    ///   - body: The test.
    /// - Throws: What the test throws.
    static func run(
        _ respond: @escaping @Sendable (StorageServer.Request) -> StorageServer.Response,
        readTimeout: Duration? = nil,
        target: @escaping @Sendable (URL) -> AttachmentHTTPRequest = { AttachmentHTTPRequest(url: $0) },
        _ body: (TransferHarness) async throws -> Void
    ) async throws {
        try await AttachmentsFolder.run { folder async throws in
            try await StorageServer.run(respond) { server in
                let base = server.url
                let resolve: @Sendable (Attachment) throws -> AttachmentHTTPRequest = { attachment in
                    target(try #require(URL(string: "\(base)/files/\(attachment.id)?signature=secret")))
                }
                try await HTTPStack.current.withClient(readTimeout: readTimeout) { client in
                    let transport = HTTPAttachmentTransport(
                        resolveUpload: { try resolve($0.attachment) },
                        resolveDownload: { try resolve($0.attachment) },
                        resolveDelete: { try resolve($0) },
                        httpClient: client
                    )
                    try await body(TransferHarness(server: server, folder: folder, transport: transport))
                }
            }
        }
    }

    var attachment: Attachment {
        Attachment(id: "1", filename: "1.jpg", state: .queuedUpload, mediaType: "image/jpeg")
    }

    /// Where downloads go.
    var path: String { AttachmentPath.downloadPath(for: folder("1.jpg")) }

    /// What there is after an interrupted download.
    var partialNames: [String] { ["1.jpg.download.pstmp", "1.jpg.download.pstmp.state.pstmp"] }

    @discardableResult
    func upload(_ name: String) async throws -> [TransferSteps.Step] {
        let steps = TransferSteps()
        try await transport.upload(
            LocatedAttachment(attachment: attachment, localPath: folder(name)),
            progress: steps.add
        )
        return steps.all
    }

    @discardableResult
    func download() async throws -> [TransferSteps.Step] {
        let steps = TransferSteps()
        try await transport.download(LocatedAttachment(attachment: attachment, localPath: path), progress: steps.add)
        return steps.all
    }

    /// The error of a download that must fail.
    func downloadError(sourceLocation: SourceLocation = #_sourceLocation) async -> AttachmentTransferError? {
        await #expect(throws: AttachmentTransferError.self, sourceLocation: sourceLocation) { try await download() }
    }

    func downloaded() throws -> Data { try Data(contentsOf: URL(filePath: path)) }
}

/// What a transfer reported.
final class TransferSteps: Sendable {
    struct Step: Equatable {
        var bytes: Int64
        var total: Int64?
    }

    private let steps = NIOLockedValueBox<[Step]>([])
    private let changes = Signal()

    var all: [Step] { steps.withLockedValue { $0 } }

    func add(_ bytes: Int64, _ total: Int64?) {
        steps.withLockedValue { $0.append(Step(bytes: bytes, total: total)) }
        changes.fire()
    }

    /// Waits until so many bytes have been reported.
    func wait(for bytes: Int64) async throws {
        try await changes.wait { all.contains { $0.bytes >= bytes } ? () : nil }
    }
}

extension Data {
    var sha256: Data { Data(SHA256.hash(data: self)) }
}
