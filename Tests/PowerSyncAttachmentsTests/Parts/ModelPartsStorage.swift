import Foundation
import NIOConcurrencyHelpers
import NIOHTTP1
import TestSupport
import Testing

@testable import PowerSyncAttachments

/// A storage that takes files in parts, and misbehaves as a test wants it to.
///
/// Parts are sent to `/<upload>/<number>` of a server that answers with ``respond(to:)``.
final class ModelPartsStorage: AttachmentPartsStorage {
    /// A part as it has come.
    struct Part: Equatable {
        var size: Int64
        var digest: Data
        var etag: String

        /// Something else of the same size.
        var another: Part { Part(size: size, digest: Data(digest.reversed()), etag: "another") }
    }

    struct State {
        var uploads: [String: [Int: Part]] = [:]
        /// The parts of the files that are complete, by file name.
        var files: [String: [Part]] = [:]
        var begun = 0
        var signed = 0
        var aborted: [String] = []
        /// The file names of what was aborted.
        var abortedNames: [String] = []
        /// Whether uploads may not be aborted.
        var refusesAborts = false
        /// How often lists of parts were asked for.
        var listed = 0
        /// How many parts have come altogether.
        var received = 0
        /// The base URL of the server.
        var url = ""
        /// Answers in place of the storage; `nil` for its own answer.
        var interception: (@Sendable (_ number: Int) -> StorageServer.Response?)?
        /// The gates that the answers to parts wait for, by number: the storage has the part by then.
        var gates: [Int: StorageServer.Gate] = [:]
        /// What lists of parts are made of.
        var listing: (@Sendable ([StoredAttachmentPart]) -> [StoredAttachmentPart])?
        /// Changes what the storage has before it completes an upload.
        var beforeCompletion: (@Sendable (inout [Int: Part]) -> Void)?
    }

    let state = NIOLockedValueBox(State())

    func change(_ body: (inout State) -> Void) {
        state.withLockedValue { body(&$0) }
    }

    var current: State { state.withLockedValue { $0 } }

    func respond(to request: StorageServer.Request) -> StorageServer.Response {
        let components = request.uri.split(separator: "?")[0].split(separator: "/")
        guard request.method == .PUT, components.count == 2, let number = Int(components[1]) else {
            return .init(status: .badRequest)
        }
        if let answer = current.interception?(number) { return answer }
        guard request.header("x-digest") == request.digest.base64EncodedString() else {
            return .init(status: .badRequest, body: .init(bytes: Data("BadDigest".utf8)))
        }
        return state.withLockedValue { state in
            guard state.uploads[String(components[0])] != nil else { return .init(status: .notFound) }
            state.received += 1
            let part = Part(size: Int64(request.size), digest: request.digest, etag: "e\(state.received)")
            state.uploads[String(components[0])]?[number] = part
            let headers: HTTPHeaders = ["ETag": "\"\(part.etag)\""]
            guard let gate = state.gates[number] else { return .init(headers: headers) }
            return .init(headers: headers, body: .init(bytes: Data([1])), end: .held(after: 0, until: gate))
        }
    }

    func beginUpload(of attachment: Attachment) throws -> String {
        state.withLockedValue { state in
            state.begun += 1
            let id = "upload-\(state.begun)"
            state.uploads[id] = [:]
            return id
        }
    }

    func request(for part: AttachmentPart, of upload: AttachmentPartsUpload) throws -> AttachmentHTTPRequest {
        let (base, signed) = state.withLockedValue { state in
            state.signed += 1
            return (state.url, state.signed)
        }
        let url = try #require(URL(string: "\(base)/\(upload.id)/\(part.number)?signature=\(signed)"))
        return AttachmentHTTPRequest(url: url, headers: ["x-digest": part.sha256.base64EncodedString()])
    }

    func parts(of upload: AttachmentPartsUpload) throws -> [StoredAttachmentPart] {
        change { $0.listed += 1 }
        let state = current
        guard let parts = state.uploads[upload.id] else { throw AttachmentStorageError.notFound }
        let found = parts.map {
            StoredAttachmentPart(
                number: $0.key,
                size: $0.value.size,
                etag: "\"\($0.value.etag)\"",
                sha256: $0.value.digest
            )
        }
        // In no order of theirs.
        return (state.listing ?? { $0 })(found.sorted { $0.number > $1.number })
    }

    func complete(_ upload: AttachmentPartsUpload, parts: [StoredAttachmentPart]) throws -> Bool {
        try state.withLockedValue { state in
            guard var stored = state.uploads[upload.id] else {
                if state.files[upload.attachment.filename] != nil { return true }
                throw AttachmentStorageError.notFound
            }
            state.beforeCompletion?(&stored)
            state.uploads[upload.id] = stored
            guard
                parts.map(\.number) == Array(1...parts.count), stored.count == parts.count,
                parts.allSatisfy({ stored[$0.number]?.etag == $0.etag })
            else { return false }
            state.files[upload.attachment.filename] = stored.sorted { $0.key < $1.key }.map(\.value)
            state.uploads[upload.id] = nil
            return true
        }
    }

    func abort(_ upload: AttachmentPartsUpload) throws {
        guard !current.refusesAborts else {
            throw AttachmentTransferError(.status, message: "No", httpStatus: 403)
        }
        change { state in
            state.uploads[upload.id] = nil
            state.aborted.append(upload.id)
            state.abortedNames.append(upload.attachment.filename)
        }
    }
}

extension ModelPartsStorage {
    /// What a backend answers, without waiting.
    func answer(_ wanted: AttachmentPartsRequest) throws -> AttachmentPartsRequest.Answer {
        let attachment = Attachment(id: wanted.id, filename: wanted.filename, state: .queuedUpload, size: wanted.size)
        let upload = AttachmentPartsUpload(attachment: attachment, id: wanted.uploadID ?? "")
        var answer = AttachmentPartsRequest.Answer()
        switch wanted.operation {
        case .begin: answer.uploadID = try beginUpload(of: attachment)
        case .request:
            let part = try #require(wanted.part)
            let request = try request(
                for: AttachmentPart(number: part.number, size: part.size, sha256: part.sha256),
                of: upload
            )
            answer.url = request.url.absoluteString
            answer.headers = request.headers
        case .parts: answer.parts = try parts(of: upload)
        case .complete: answer.isComplete = try complete(upload, parts: wanted.parts ?? [])
        default: try abort(upload)
        }
        return answer
    }
}

/// What is not uploaded in parts.
final class RecordingTransport: AttachmentTransportAdapter {
    let calls = NIOLockedValueBox<[String]>([])

    func upload(
        _ located: LocatedAttachment,
        progress: @escaping @Sendable (Int64, Int64?) -> Void
    ) async throws {
        calls.withLockedValue { $0.append("upload \(located.attachment.id)") }
    }

    func download(
        _ located: LocatedAttachment,
        progress: @escaping @Sendable (Int64, Int64?) -> Void
    ) async throws {
        calls.withLockedValue { $0.append("download \(located.attachment.id)") }
    }

    func delete(_ attachment: Attachment) async throws {
        calls.withLockedValue { $0.append("delete \(attachment.id)") }
    }
}
