import Foundation
import PowerSync

/// How a worker uploads a file in parts.
package enum WorkerParts: String, Codable, Sendable, CaseIterable {
    /// By tus, to `/files` of the service.
    case tus
    /// To a storage, whose requests `/parts` of the service signs.
    case signed

    /// Uploads a file, or what is left to upload of it, and says what memory that took.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - service: The URL of the server.
    ///   - partSize: The size of a part.
    ///   - say: Prints a line.
    /// - Throws: What the transport throws, but for cut connections.
    func upload(_ path: String, to service: String, partSize: Int64, _ say: (String) -> Void) async throws {
        let attachment = Attachment(
            id: "1",
            filename: "1.bin",
            state: .queuedUpload,
            localUri: path,
            mediaType: "application/octet-stream"
        )
        guard let url = URL(string: service) else { return }
        let transport: any AttachmentTransportAdapter
        switch self {
        case .tus:
            var options = TusAttachmentTransport.Options()
            options.partSize = partSize
            transport = TusAttachmentTransport(
                endpoint: url.appending(path: "files"),
                base: NoTransport(),
                options: options
            ) { [:] }
        case .signed:
            var options = AttachmentPartsOptions()
            options.partSize = partSize
            transport = MultipartAttachmentTransport(
                storage: SignedPartsBackend(endpoint: url.appending(path: "parts")) { [:] },
                base: NoTransport(),
                options: options
            )
        }
        say(WorkerTask.Line.open)
        let before = WorkerParts.peakMemory
        // After a cut, as a queue does.
        for attempt in 1... {
            do {
                try await transport.upload(LocatedAttachment(attachment: attachment, localPath: path)) { _, _ in }
                break
            } catch let error as AttachmentTransferError where error.code == .connection && attempt < 16 {
                continue
            }
        }
        say("\(WorkerTask.Line.uploaded)\(WorkerParts.peakMemory - before)")
    }

    /// The most memory that the process has had, in bytes; 0 where the system does not say.
    private static var peakMemory: Int {
        guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
            let number = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { return 0 }
        return number * 1024
    }
}

/// What is not uploaded in parts.
private struct NoTransport: AttachmentTransportAdapter {
    func upload(_ located: LocatedAttachment, progress: @escaping @Sendable (Int64, Int64?) -> Void) async throws {
        throw AttachmentStorageError.notFound
    }

    func download(_ located: LocatedAttachment, progress: @escaping @Sendable (Int64, Int64?) -> Void) async throws {
        throw AttachmentStorageError.notFound
    }

    func delete(_ attachment: Attachment) async throws {}
}
