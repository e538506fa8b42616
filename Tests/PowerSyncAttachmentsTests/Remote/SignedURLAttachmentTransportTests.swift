import Foundation
import HTTPStackTestSupport
import NIOConcurrencyHelpers
import NIOHTTP1
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// A transport with signed URLs.
@Suite(.onEachHTTPStack, .timeLimit(.minutes(1)))
struct SignedURLAttachmentTransportTests {
    private let attachment = Attachment(
        id: "1",
        filename: "a b/1.jpg",
        state: .queuedUpload,
        mediaType: "image/jpeg",
        size: 1000,
        metaData: "{}"
    )

    /// A backend at `/sign` and a storage at `/store`, on one server.
    ///
    /// - Parameters:
    ///   - answer: The backend's answer to the n-th question.
    ///   - store: The storage's answer.
    ///   - body: The test.
    /// - Throws: What the test throws.
    private func run(
        sign answer: @escaping @Sendable (Int) -> (Int, String) = { (200, #"{"url":"{base}/store/\#($0)"}"#) },
        store: @escaping @Sendable (StorageServer.Request) -> StorageServer.Response,
        _ body: (SignedURLAttachmentTransport, StorageServer, AttachmentsFolder) async throws -> Void
    ) async throws {
        let questions = NIOLockedValueBox(0)
        let base = NIOLockedValueBox("")
        try await AttachmentsFolder.run { folder async throws in
            try await StorageServer.run { request in
                guard request.uri == "/sign" else { return store(request) }
                let number = questions.withLockedValue { count in
                    count += 1
                    return count
                }
                let (status, text) = answer(number)
                return .init(
                    status: .init(statusCode: status),
                    body: .init(bytes: Data(text.replacing("{base}", with: base.withLockedValue { $0 }).utf8))
                )
            } _: { server in
                base.withLockedValue { $0 = server.url }
                let endpoint = try #require(URL(string: "\(server.url)/sign"))
                try await HTTPStack.current.withClient { client in
                    let transport = SignedURLAttachmentTransport(endpoint: endpoint, httpClient: client) {
                        ["Authorization": "Bearer token"]
                    }
                    try await body(transport, server, folder)
                }
            }
        }
    }

    private func located(_ path: String) -> LocatedAttachment {
        LocatedAttachment(attachment: attachment, localPath: path)
    }

    @Test
    func asksTheBackendBeforeEachTransferAndGivesItsCredentialsToNobodyElse() async throws {
        let answer = #"{"url":"{base}/store/x%20y?s=1","headers":{"X-Signed":"7"}}"#
        try await run(sign: { _ in (200, answer) }, store: { _ in .init(body: .init(bytes: .pattern(1000))) }) {
            transport,
            server,
            folder async throws in
            try folder.write(.pattern(1000), to: "a")
            try await transport.upload(located(folder("a"))) { _, _ in }
            try await transport.download(located(folder("b"))) { _, _ in }
            try await transport.delete(attachment)

            let questions = server.received.filter { $0.uri == "/sign" }
            #expect(questions.allSatisfy { $0.method == .POST && $0.header("Authorization") == "Bearer token" })
            let asked = try questions.map { try JSONDecoder().decode(SignedURLRequest.self, from: $0.body) }
            #expect(asked == [.init(.upload, attachment), .init(.download, attachment), .init(.delete, attachment)])
            let object = try JSONSerialization.jsonObject(with: questions[0].body) as? [String: any Sendable]
            #expect(object?.keys.sorted() == ["filename", "id", "mediaType", "metaData", "operation", "size"])
            #expect(object?["operation"] as? String == "upload")
            #expect(object?["filename"] as? String == "a b/1.jpg")

            let transfers = server.received.filter { $0.uri == "/store/x%20y?s=1" }
            #expect(transfers.map(\.method) == [.PUT, .GET, .DELETE])
            #expect(transfers.allSatisfy { $0.header("X-Signed") == "7" && $0.header("Authorization") == nil })
            #expect(transfers[0].digest == Data.pattern(1000).sha256)
            #expect(try folder.read("b") == .pattern(1000))
        }
    }

    @Test(arguments: [true, false], [true, false])
    func usesTheMethodMediaTypeSizeAndDigestOfTheAnswer(isRight: Bool, isHexadecimal: Bool) async throws {
        let digest = Data((isRight ? "test" : "other").utf8).sha256
        let text = isHexadecimal ? digest.map { String(format: "%02x", $0) }.joined() : digest.base64EncodedString()
        let answer = #"{"url":"{base}/store","method":"POST","mediaType":"a/b","size":4,"sha256":"\#(text)"}"#
        try await run(sign: { _ in (200, answer) }, store: { _ in .init(body: .init(bytes: Data("test".utf8))) }) {
            transport,
            server,
            folder async throws in
            try folder.write(Data("test".utf8), to: "a")
            try await transport.upload(located(folder("a"))) { _, _ in }
            #expect(server.received.last?.method == .POST)
            #expect(server.received.last?.header("Content-Type") == "a/b")
            if isRight {
                try await transport.download(located(folder("b"))) { _, _ in }
                #expect(try folder.read("b") == Data("test".utf8))
            } else {
                let error = await #expect(throws: AttachmentTransferError.self) {
                    try await transport.download(located(folder("b"))) { _, _ in }
                }
                #expect(error?.code == .digestMismatch)
            }
        }
    }

    @Test(arguments: [302, 307])
    func namesTheHostThatTheBackendRedirectsToAndThatItGotNoCredentials(status: Int) async throws {
        try await StorageServer.run { _ in
            .init(body: .init(bytes: Data("<html>Sign in</html>".utf8)))
        } _: { other in
            let location = other.url.replacing("127.0.0.1", with: "localhost")
            try await StorageServer.run { _ in
                .init(status: .init(statusCode: status), headers: ["Location": "\(location)/login"])
            } _: { server in
                let endpoint = try #require(URL(string: "\(server.url)/sign"))
                try await HTTPStack.current.withClient { client in
                    let transport = SignedURLAttachmentTransport(endpoint: endpoint, httpClient: client) {
                        ["Authorization": "Bearer secret"]
                    }
                    let error = await #expect(throws: AttachmentTransferError.self) {
                        try await transport.delete(attachment)
                    }
                    let text = "\(try #require(error))"
                    #expect(!text.contains("secret"))
                    if status == 302 {
                        #expect(error?.code == .backend)
                        #expect(text.contains("it redirects to localhost, which was not followed, so no credentials"))
                        #expect(other.received.isEmpty)
                    } else {
                        #expect(error?.code == .unexpectedResponse)
                        #expect(text.contains("after a redirect to localhost, which did not get the app's headers"))
                        #expect(other.received.map { $0.header("Authorization") } == [nil])
                    }
                }
            }
        }
    }

    @Test(arguments: [400, 401, 403])
    func asksOnceAgainWhenTheStorageRefusesTheURL(status: Int) async throws {
        try await run(store: { request in
            request.uri == "/store/1"
                ? .init(status: .init(statusCode: status)) : .init(body: .init(bytes: .pattern(10)))
        }) { transport, server, folder async throws in
            try await transport.download(located(folder("b"))) { _, _ in }
            #expect(try folder.read("b") == .pattern(10))
            #expect(server.received.map(\.uri) == ["/sign", "/store/1", "/sign", "/store/2"])
        }
    }

    @Test(arguments: [(403, 2), (500, 1), (405, 1)])
    func doesNotAskForEverAndNotAtAllAfterOtherErrors(status: Int, questions: Int) async throws {
        try await run(store: { _ in .init(status: .init(statusCode: status)) }) {
            transport,
            server,
            folder async throws in
            try folder.write(.pattern(10), to: "a")
            let error = await #expect(throws: AttachmentTransferError.self) {
                try await transport.upload(located(folder("a"))) { _, _ in }
            }
            #expect(error?.code == .status)
            #expect(error?.httpStatus == status)
            #expect(server.received.filter { $0.uri == "/sign" }.count == questions)
        }
    }

    @Test(arguments: [400, 401, 403, 500])
    func reportsWhatTheBackendRefusesAndAsksOnlyOnce(status: Int) async throws {
        try await run(sign: { _ in (status, "no") }, store: { _ in .init() }) {
            transport,
            server,
            folder async throws in
            let error = await #expect(throws: AttachmentTransferError.self) {
                try await transport.download(located(folder("b"))) { _, _ in }
            }
            #expect(error?.code == .backend)
            #expect(error?.httpStatus == status)
            #expect(error?.responseText == "no")
            #expect(error?.isRetriable == (status == 500))
            #expect(server.received.count == 1)
        }
    }

    @Test
    func knowsFromTheBackendThatAFileIsThereOrIsNot() async throws {
        try await run(sign: { _ in (404, "") }, store: { _ in .init() }) { transport, server, folder async throws in
            await #expect(throws: AttachmentStorageError.notFound) {
                try await transport.download(located(folder("b"))) { _, _ in }
            }
            try await transport.delete(attachment)
            #expect(server.received.count == 2)
        }
        try await run(sign: { _ in (409, "") }, store: { _ in .init() }) { transport, server, folder async throws in
            try folder.write(.pattern(10), to: "a")
            try await transport.upload(located(folder("a"))) { _, _ in }
            #expect(server.received.count == 1)
        }
    }

    @Test(
        arguments: [
            "", "[]", "{}", #"{"url":5}"#, #"{"url":""}"#, #"{"url":"file:///etc/passwd"}"#, #"{"url":"/relative"}"#,
            #"{"url":"http:///nohost"}"#, #"{"url":"http://a/b","sha256":"zz"}"#, #"{"url":"http://a/b","headers":[]}"#,
        ]
    )
    func reportsAnAnswerThatIsNone(answer: String) async throws {
        try await run(sign: { _ in (200, answer) }, store: { _ in .init() }) { transport, server, folder async throws in
            let error = await #expect(throws: AttachmentTransferError.self) {
                try await transport.download(located(folder("b"))) { _, _ in }
            }
            #expect(error?.code == .unexpectedResponse)
            #expect(try folder.names == [])
            #expect(server.received.count == 1)
        }
    }

    @Test
    func worksWithAClosureInThePlaceOfTheBackend() async throws {
        try await run(store: { _ in .init(body: .init(bytes: .pattern(10))) }) { _, server, folder async throws in
            let base = server.url
            let transport = SignedURLAttachmentTransport { request in
                guard request.operation != .delete else { throw AttachmentStorageError.notFound }
                return AttachmentHTTPRequest(url: try #require(URL(string: "\(base)/\(request.id)")))
            }
            try await transport.download(located(folder("b"))) { _, _ in }
            try await transport.delete(attachment)
            #expect(server.received.map(\.uri) == ["/1"])
        }
    }

    @Test
    func headersOfARequestThatCouldSmuggleOthersInAreRefused() async throws {
        let answer = #"{"url":"{base}/store","headers":{"X-A":"1\r\nX-Evil: 1"}}"#
        try await run(sign: { _ in (200, answer) }, store: { _ in .init() }) { transport, server, folder async throws in
            await #expect(throws: AttachmentTransferError.self) {
                try await transport.download(located(folder("b"))) { _, _ in }
            }
            #expect(server.received.map(\.uri) == ["/sign"])
        }
    }
}
