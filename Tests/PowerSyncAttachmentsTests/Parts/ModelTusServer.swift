import Foundation
import NIOConcurrencyHelpers
import NIOHTTP1
import TestSupport

/// A tus server that misbehaves as a test wants it to; a ``StorageServer`` answers with ``respond(to:)``.
final class ModelTusServer: Sendable {
    struct Upload {
        var length: Int
        var metadata: [String: String]
        var content = Data()
    }

    struct State {
        var uploads: [String: Upload] = [:]
        var created = 0
        /// How many parts have come altogether.
        var received = 0
        var terminated = 0
        var abilities: HTTPHeaders = [
            "Tus-Version": "1.0.0", "Tus-Extension": "creation,checksum,termination",
            "Tus-Checksum-Algorithm": "md5, sha256",
        ]
        /// Answers in place of the server; `nil` for its own answer.
        var interception: (@Sendable (StorageServer.Request) -> StorageServer.Response?)?
    }

    private let state = NIOLockedValueBox(State())

    func change(_ body: (inout State) -> Void) {
        state.withLockedValue { body(&$0) }
    }

    var current: State { state.withLockedValue { $0 } }

    /// Creates an upload.
    func create(_ request: StorageServer.Request) -> StorageServer.Response {
        state.withLockedValue { $0.create(request) }
    }

    /// Answers, without interception.
    func receive(_ request: StorageServer.Request) -> StorageServer.Response {
        state.withLockedValue { $0.receive(request) }
    }

    func respond(to request: StorageServer.Request) -> StorageServer.Response {
        if let answer = current.interception?(request) { return answer }
        var response = state.withLockedValue { state in
            switch request.method {
            case .OPTIONS: return StorageServer.Response(status: .noContent, headers: state.abilities)
            case .POST: return state.create(request)
            case .HEAD: return state.tell(request)
            case .PATCH: return state.receive(request)
            case .DELETE:
                state.terminated += 1
                state.uploads[request.uri] = nil
                return .init(status: .noContent)
            default: return .init(status: .methodNotAllowed)
            }
        }
        if request.method != .OPTIONS, request.header("Tus-Resumable") != "1.0.0" {
            response = .init(status: .preconditionFailed)
        }
        return response
    }
}

extension ModelTusServer.State {
    fileprivate mutating func create(_ request: StorageServer.Request) -> StorageServer.Response {
        guard let length = request.header("Upload-Length").flatMap({ Int($0) }) else {
            return .init(status: .badRequest)
        }
        created += 1
        var metadata: [String: String] = [:]
        for pair in (request.header("Upload-Metadata") ?? "").split(separator: ",") {
            let words = pair.split(separator: " ")
            guard words.count == 2, let value = Data(base64Encoded: String(words[1])) else {
                return .init(status: .badRequest)
            }
            metadata[String(words[0])] = String(decoding: value, as: UTF8.self)
        }
        uploads["/files/u\(created)"] = .init(length: length, metadata: metadata)
        return .init(status: .created, headers: ["Location": "/files/u\(created)"])
    }

    fileprivate func tell(_ request: StorageServer.Request) -> StorageServer.Response {
        guard let upload = uploads[request.uri] else { return .init(status: .notFound) }
        return .init(
            headers: ["Upload-Offset": "\(upload.content.count)", "Upload-Length": "\(upload.length)"]
        )
    }

    fileprivate mutating func receive(_ request: StorageServer.Request) -> StorageServer.Response {
        guard let upload = uploads[request.uri] else { return .init(status: .notFound) }
        guard request.header("Content-Type") == "application/offset+octet-stream" else {
            return .init(status: .unsupportedMediaType)
        }
        guard request.header("Upload-Offset") == "\(upload.content.count)" else { return .init(status: .conflict) }
        if let checksum = request.header("Upload-Checksum"),
            checksum != "sha256 \(request.digest.base64EncodedString())"
        {
            return .init(status: .custom(code: 460, reasonPhrase: "Checksum Mismatch"))
        }
        received += 1
        uploads[request.uri]?.content += request.body
        return .init(status: .noContent, headers: ["Upload-Offset": "\(upload.content.count + request.size)"])
    }
}
