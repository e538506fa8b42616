import Foundation
import HTTPStackTestSupport
import NIOConcurrencyHelpers
import NIOHTTP1
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// What a client asks a backend for while it uploads in parts.
@Suite(.onEachHTTPStack, .timeLimit(.minutes(1))) struct SignedPartsBackendTests {
    private static let digest = Data(repeating: 7, count: 32)
    private let attachment = Attachment(
        id: "1",
        filename: "1.mp4",
        state: .queuedUpload,
        mediaType: "video/mp4",
        size: 9,
        metaData: "m"
    )

    private var upload: AttachmentPartsUpload { AttachmentPartsUpload(attachment: attachment, id: "u/1") }

    /// Runs a test against a backend that always answers the same.
    private func run(
        _ answer: String,
        status: Int = 200,
        _ body: (SignedPartsBackend, StorageServer) async throws -> Void
    ) async throws {
        try await StorageServer.run({ _ in
            .init(status: .init(statusCode: status), body: .init(bytes: Data(answer.utf8)))
        }) { server in
            try await HTTPStack.current.withClient { client in
                let endpoint = try #require(URL(string: server.url + "/parts"))
                let backend = SignedPartsBackend(endpoint: endpoint, httpClient: client) {
                    ["Authorization": "Bearer t"]
                }
                try await body(backend, server)
            }
        }
    }

    /// The JSON of the only request.
    private func question(_ server: StorageServer) throws -> AttachmentPartsRequest {
        let request = try #require(server.received.last)
        #expect(request.method == .POST && request.uri == "/parts")
        #expect(request.header("Authorization") == "Bearer t")
        #expect(request.header("Content-Type") == "application/json")
        return try JSONDecoder().decode(AttachmentPartsRequest.self, from: request.body)
    }

    @Test
    func eachStepIsOneQuestion() async throws {
        try await run(#"{"uploadID":"u/1"}"#) { backend, server in
            #expect(try await backend.beginUpload(of: attachment) == "u/1")
            let question = try question(server)
            #expect(question.operation == .begin)
            let json = try #require(server.received.last).body
            #expect(String(decoding: json, as: UTF8.self).contains(#""operation":"begin""#))
            #expect(question.id == "1" && question.filename == "1.mp4" && question.mediaType == "video/mp4")
            #expect(question.size == 9 && question.metaData == "m" && question.uploadID == nil)
        }
        try await run(#"{"url":"https://s/1?x=y","method":"POST","headers":{"a":"b"}}"#) { backend, server in
            let part = AttachmentPart(number: 3, size: 5, sha256: SignedPartsBackendTests.digest)
            let request = try await backend.request(for: part, of: upload)
            #expect(request.url.absoluteString == "https://s/1?x=y")
            #expect(request.method == "POST" && request.headers == ["a": "b"])
            let question = try question(server)
            #expect(question.operation == .request && question.uploadID == "u/1")
            #expect(question.part?.number == 3 && question.part?.size == 5)
            #expect(question.part?.sha256 == SignedPartsBackendTests.digest)
        }
        try await run(#"{"parts":[{"number":2,"size":4,"etag":"\"b\""},{"number":1,"size":5,"etag":"a"}]}"#) {
            backend,
            server in
            let parts = try await backend.parts(of: upload)
            #expect(
                parts == [
                    StoredAttachmentPart(number: 2, size: 4, etag: "b"),
                    StoredAttachmentPart(number: 1, size: 5, etag: "a"),
                ]
            )
            let question = try question(server)
            #expect(question.operation == .parts)
        }
        try await run(#"{"isComplete":false}"#) { backend, server in
            let parts = [StoredAttachmentPart(number: 1, size: 9, etag: "a", sha256: SignedPartsBackendTests.digest)]
            #expect(try await backend.complete(upload, parts: parts) == false)
            let question = try question(server)
            #expect(question.parts == parts)
        }
        try await run("") { backend, server in
            try await backend.abort(upload)
            let question = try question(server)
            #expect(question.operation == .abort)
        }
    }

    @Test(arguments: ["", "{}", "[]", #"{"url":"ftp://x"}"#, #"{"url":"/x"}"#, #"{"uploadID":7}"#])
    func otherAnswersAreErrors(answer: String) async throws {
        try await run(answer) { backend, _ in
            let part = AttachmentPart(number: 1, size: 5, sha256: SignedPartsBackendTests.digest)
            let calls: [() async throws -> Void] = [
                { _ = try await backend.beginUpload(of: attachment) },
                { _ = try await backend.request(for: part, of: upload) },
                { _ = try await backend.parts(of: upload) },
                { _ = try await backend.complete(upload, parts: []) },
            ]
            for call in calls {
                let error = await #expect(throws: AttachmentTransferError.self) { try await call() }
                #expect(error?.code == .unexpectedResponse)
            }
        }
    }

    @Test
    func statusesSayWhatIsThere() async throws {
        for status in [404, 410] {
            try await run("", status: status) { backend, _ in
                await #expect(throws: AttachmentStorageError.notFound) { try await backend.parts(of: upload) }
                try await backend.abort(upload)
            }
        }
        try await run("", status: 409) { backend, _ in
            await #expect(throws: AttachmentStorageError.alreadyExists) {
                try await backend.beginUpload(of: attachment)
            }
        }
        for (status, isRetriable) in [(401, false), (403, false), (500, true)] {
            try await run("no", status: status) { backend, _ in
                let error = await #expect(throws: AttachmentTransferError.self) { try await backend.parts(of: upload) }
                #expect(error?.code == .backend && error?.httpStatus == status && error?.responseText == "no")
                #expect(error?.isRetriable == isRetriable)
            }
        }
    }

    /// What a backend in Swift does with a question is what the storage does.
    @Test
    func isAnsweredFromAStorage() async throws {
        let storage = ModelPartsStorage()
        storage.change { $0.url = "http://s" }
        let begin = AttachmentPartsRequest(.begin, attachment)
        let id = try #require(try await begin.answer(from: storage).uploadID)
        let part = AttachmentPart(number: 1, size: 9, sha256: SignedPartsBackendTests.digest)
        let signed = try await AttachmentPartsRequest(.request, attachment, uploadID: id, part: part).answer(
            from: storage
        )
        #expect(signed.url == "http://s/upload-1/1?signature=1")
        #expect(signed.headers == ["x-digest": SignedPartsBackendTests.digest.base64EncodedString()])
        storage.change { $0.uploads[id] = [1: .init(size: 9, digest: SignedPartsBackendTests.digest, etag: "a")] }
        let found = try await AttachmentPartsRequest(.parts, attachment, uploadID: id).answer(from: storage).parts
        #expect(found?.map(\.etag) == ["a"])
        let complete = AttachmentPartsRequest(.complete, attachment, uploadID: id, parts: found)
        #expect(try await complete.answer(from: storage).isComplete == true)
        _ = try await AttachmentPartsRequest(.abort, attachment, uploadID: "other").answer(from: storage)
        #expect(storage.current.aborted == ["other"])

        let wrong = [
            AttachmentPartsRequest(.parts, attachment), AttachmentPartsRequest(.request, attachment, uploadID: id),
            AttachmentPartsRequest(.complete, attachment, uploadID: id),
            AttachmentPartsRequest(.init(rawValue: "x"), attachment, uploadID: id),
        ]
        for request in wrong {
            await #expect(throws: PowerSyncAttachmentError.self) { try await request.answer(from: storage) }
        }
    }
}
