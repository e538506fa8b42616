import Foundation
import PowerSyncClient

/// What an app's backend is asked for while a file is uploaded in parts; see ``SignedPartsBackend``.
///
/// As JSON, with the fields that are known:
///
/// ```json
/// {
///   "operation": "request", "id": "5c…", "filename": "5c….mp4", "mediaType": "video/mp4", "size": 209715200, "uploadID": "VXBs…",
///   "part": {"number": 3, "size": 5242880, "sha256": "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="}
/// }
/// ```
public struct AttachmentPartsRequest: Sendable, Codable {
    /// What the backend is to do.
    public struct Operation: Sendable, Hashable, Codable, RawRepresentable {
        /// The word of the JSON.
        public let rawValue: String

        /// Creates an operation from the word of the JSON.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Begin an upload.
        public static let begin = Operation(rawValue: "begin")
        /// Sign the request for a part.
        public static let request = Operation(rawValue: "request")
        /// List the parts that the storage has.
        public static let parts = Operation(rawValue: "parts")
        /// Make the file of its parts.
        public static let complete = Operation(rawValue: "complete")
        /// Remove the upload.
        public static let abort = Operation(rawValue: "abort")
    }

    /// What the backend is to do.
    public let operation: Operation
    /// The id of the attachment.
    public let id: String
    /// The name of the file.
    public let filename: String
    /// The MIME type.
    public let mediaType: String?
    /// The size of the file in bytes.
    public let size: Int64?
    /// The app's free text of the attachment.
    public let metaData: String?
    /// What the storage calls the upload; with all operations but ``Operation/begin``.
    public let uploadID: String?
    /// The part, with ``Operation/request``.
    public let part: AttachmentPart?
    /// All parts, with ``Operation/complete``.
    public let parts: [StoredAttachmentPart]?

    /// Creates a request.
    init(
        _ operation: Operation,
        _ attachment: Attachment,
        uploadID: String? = nil,
        part: AttachmentPart? = nil,
        parts: [StoredAttachmentPart]? = nil
    ) {
        self.operation = operation
        id = attachment.id
        filename = attachment.filename
        mediaType = attachment.mediaType
        size = attachment.size
        metaData = attachment.metaData
        self.uploadID = uploadID
        self.part = part
        self.parts = parts
    }

    /// What the backend answers, as JSON, with the fields of the operation.
    public struct Answer: Sendable, Codable {
        /// What the storage calls the upload that has begun.
        public internal(set) var uploadID: String?
        /// The URL that a part goes to.
        public internal(set) var url: String?
        /// The method; `PUT` without one.
        public internal(set) var method: String?
        /// The headers that the storage wants.
        public internal(set) var headers: [String: String]?
        /// The parts that the storage has.
        public internal(set) var parts: [StoredAttachmentPart]?
        /// Whether the file is there now.
        public internal(set) var isComplete: Bool?
    }

    /// Does what a client asks for, in a backend that has checked that the user may.
    ///
    /// ```swift
    /// router.post("attachments/parts") { request, context in
    ///     let wanted = try await request.decode(as: AttachmentPartsRequest.self, context: context)
    ///     // … check that the user may upload this file …
    ///     do {
    ///         return try await JSONEncoder().encode(wanted.answer(from: storage))
    ///     } catch AttachmentStorageError.notFound {
    ///         throw HTTPError(.notFound)
    ///     } catch AttachmentStorageError.alreadyExists {
    ///         throw HTTPError(.conflict)
    ///     } catch PowerSyncAttachmentError.generalError(let message) {
    ///         throw HTTPError(.badRequest, message: message)
    ///     }
    /// }
    /// ```
    ///
    /// - Parameter storage: The storage, such as `S3PartsStorage` of PowerSyncS3.
    /// - Returns: The answer, to be sent as JSON with status 200.
    /// - Throws: What the storage throws; ``PowerSyncAttachmentError/generalError(_:)`` for a request that lacks something, which is status
    ///   400.
    public func answer(from storage: some AttachmentPartsStorage) async throws -> Answer {
        let attachment = Attachment(
            id: id,
            filename: filename,
            state: .queuedUpload,
            mediaType: mediaType,
            size: size,
            metaData: metaData
        )
        var answer = Answer()
        if operation == .begin {
            answer.uploadID = try await storage.beginUpload(of: attachment)
            return answer
        }
        let upload = AttachmentPartsUpload(attachment: attachment, id: try required(uploadID, "uploadID"))
        switch operation {
        case .request:
            let request = try await storage.request(for: try required(part, "part"), of: upload)
            answer.url = request.url.absoluteString
            answer.method = request.method
            answer.headers = request.headers
        case .parts: answer.parts = try await storage.parts(of: upload)
        case .complete: answer.isComplete = try await storage.complete(upload, parts: try required(parts, "parts"))
        case .abort: try await storage.abort(upload)
        default:
            throw PowerSyncAttachmentError.generalError(
                "There is no operation \"\(operation.rawValue)\" of uploads in parts."
            )
        }
        return answer
    }

    private func required<Value>(_ value: Value?, _ name: String) throws -> Value {
        guard let value else {
            throw PowerSyncAttachmentError.generalError("\"\(name)\" is missing in a request for an upload in parts.")
        }
        return value
    }
}
