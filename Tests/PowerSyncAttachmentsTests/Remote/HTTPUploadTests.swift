import Foundation
import HTTPStackTestSupport
import NIOHTTP1
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// An upload over HTTP.
@Suite(.onEachHTTPStack, .timeLimit(.minutes(1))) struct HTTPUploadTests {
    @Test(arguments: [0, 1, 1_000_000])
    func sendsTheExactBytesTheirNumberAndTypeAndTheAppsHeaders(size: Int) async throws {
        try await TransferHarness.run { _ in
            .init(status: .created)
        } target: {
            AttachmentHTTPRequest(url: $0, headers: ["X-Owner": "7", "content-length": "5", "Host": "elsewhere"])
        } _: { harness async throws in
            try harness.folder.write(.pattern(size), to: "a")
            let steps = try await harness.upload("a")

            let request = try #require(harness.server.received.first)
            #expect(request.method == .PUT)
            #expect(request.uri == "/files/1?signature=secret")
            #expect(request.size == size)
            #expect(request.digest == Data.pattern(size).sha256)
            #expect(request.headers["Content-Length"] == ["\(size)"])
            #expect(request.headers["Content-Type"] == ["image/jpeg"])
            #expect(request.header("X-Owner") == "7")
            #expect(request.headers["Host"] == [harness.server.url.replacing("http://", with: "")])
            #expect(request.header("Transfer-Encoding") == nil)
            #expect(steps.first == .init(bytes: 0, total: Int64(size)))
            #expect(steps.last == .init(bytes: Int64(size), total: Int64(size)))
            #expect(steps.map(\.bytes) == steps.map(\.bytes).sorted())
            #expect(try harness.folder.names == ["a"])
        }
    }

    @Test
    func usesTheMethodTypeAndDigestHeaderThatTheRequestNames() async throws {
        let target: @Sendable (URL) -> AttachmentHTTPRequest = { url in
            AttachmentHTTPRequest(url: url, method: "POST", mediaType: "image/webp", digestHeader: .contentDigest)
        }
        try await TransferHarness.run({ _ in .init() }, target: target) { harness async throws in
            try harness.folder.write(Data("test".utf8), to: "a")
            try await harness.upload("a")
            let request = try #require(harness.server.received.first)
            #expect(request.method == .POST)
            #expect(request.header("Content-Type") == "image/webp")
            // RFC 9530: the digest of "test".
            #expect(request.header("Content-Digest") == "sha-256=:n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=:")
        }
    }

    @Test(
        arguments: [(400, false), (403, false), (404, false), (408, true), (429, true), (500, true), (503, true)]
    )
    func refusalIsAnErrorWithTheStatusAndNoSecret(status: Int, isRetriable: Bool) async throws {
        try await TransferHarness.run { _ in
            .init(status: .init(statusCode: status), body: .init(bytes: Data("<Code>AccessDenied</Code>".utf8)))
        } _: { harness async throws in
            try harness.folder.write(.pattern(300_000), to: "a")
            let error = await #expect(throws: AttachmentTransferError.self) { try await harness.upload("a") }
            #expect(error?.code == .status)
            #expect(error?.httpStatus == status)
            #expect(error?.isRetriable == isRetriable)
            #expect(error?.responseText == "<Code>AccessDenied</Code>")
            #expect(error?.message == "PUT \(harness.server.url)/files/1 failed with status \(status)")
            #expect(error?.localizedDescription.contains("secret") == false)
        }
    }

    @Test
    func isCompleteWhenTheStorageHasTheFileAlready() async throws {
        try await TransferHarness.run(
            { _ in .init(status: .preconditionFailed) },
            target: {
                AttachmentHTTPRequest(url: $0, headers: ["If-None-Match": "*"])
            }
        ) { harness async throws in
            try harness.folder.write(.pattern(10), to: "a")
            let steps = try await harness.upload("a")
            #expect(steps.last == .init(bytes: 10, total: 10))
        }
        // Without that condition the status means something else.
        try await TransferHarness.run { _ in
            .init(status: .preconditionFailed)
        } _: { harness async throws in
            try harness.folder.write(.pattern(10), to: "a")
            let error = await #expect(throws: AttachmentTransferError.self) { try await harness.upload("a") }
            #expect(error?.httpStatus == 412)
        }
    }

    @Test
    func ofAMissingFileIsReportedAsThatAndAsksNobody() async throws {
        try await TransferHarness.run { _ in
            .init()
        } _: { harness async throws in
            let error = await #expect(throws: PowerSyncAttachmentError.self) { try await harness.upload("missing") }
            guard case .fileNotFound(harness.folder("missing"))? = error else {
                Issue.record("not a missing file: \(String(describing: error))")
                return
            }
            #expect(harness.server.received.isEmpty)
        }
    }

    @Test
    func toNobodyIsAFailedConnectionWhichMayBeTriedAgain() async throws {
        let target: @Sendable (URL) -> AttachmentHTTPRequest = { _ in
            AttachmentHTTPRequest(url: URL(string: "http://127.0.0.1:1/x?signature=secret") ?? URL(filePath: "/"))
        }
        try await TransferHarness.run({ _ in .init() }, target: target) { harness async throws in
            try harness.folder.write(.pattern(10), to: "a")
            let error = await #expect(throws: AttachmentTransferError.self) { try await harness.upload("a") }
            #expect([.connection, .timeout].contains(error?.code))
            #expect(error?.isRetriable == true)
            #expect(error.map { "\($0)".contains("secret") } == false)
        }
    }

    @Test(arguments: [307, 308])
    func isSentAgainWhereARedirectLeadsThatKeepsTheMethod(status: Int) async throws {
        try await TransferHarness.run { request in
            guard request.uri.hasPrefix("/files/") else { return .init() }
            return .init(status: .init(statusCode: status), headers: ["Location": "/moved/1"])
        } _: { harness async throws in
            try harness.folder.write(.pattern(700_000), to: "a")
            try await harness.upload("a")
            #expect(harness.server.received.map(\.uri) == ["/files/1?signature=secret", "/moved/1"])
            #expect(harness.server.received.map(\.method) == [.PUT, .PUT])
            #expect(harness.server.received.last?.digest == Data.pattern(700_000).sha256)
        }
    }

    @Test(arguments: [301, 302, 303])
    func isNotTurnedIntoSomethingElseByOtherRedirects(status: Int) async throws {
        try await TransferHarness.run { _ in
            .init(status: .init(statusCode: status), headers: ["Location": "/moved/1"])
        } _: { harness async throws in
            try harness.folder.write(.pattern(10), to: "a")
            let error = await #expect(throws: AttachmentTransferError.self) { try await harness.upload("a") }
            #expect(error?.httpStatus == status)
            #expect(harness.server.received.count == 1)
        }
    }

    /// Where each request of a transport is redirected to, and what the error says.
    @Test(
        arguments: [AttachmentTransferProgress.Direction.upload, .download, .delete],
        [301, 302, 303, 307, 308]
    )
    func byARedirectToAnotherHostFailsWithThatHostAndWhatItGot(
        direction: AttachmentTransferProgress.Direction,
        status: Int
    ) async throws {
        try await StorageServer.run { _ in
            .init(status: .forbidden)
        } _: { other in
            // Another name of the same machine: what is told apart are names.
            let location = other.url.replacing("127.0.0.1", with: "localhost")
            try await TransferHarness.run(
                { _ in .init(status: .init(statusCode: status), headers: ["Location": "\(location)/there?token=secret"])
                },
                target: { AttachmentHTTPRequest(url: $0, headers: ["Authorization": "Bearer secret"]) }
            ) { harness async throws in
                try harness.folder.write(.pattern(10), to: "a")
                let error = await #expect(throws: AttachmentTransferError.self) {
                    switch direction {
                    case .upload: try await harness.upload("a")
                    case .download: try await harness.download()
                    case .delete: try await harness.transport.delete(harness.attachment)
                    }
                }
                let text = "\(try #require(error))"
                #expect(!text.contains("secret"))
                if direction == .download || status >= 307 {
                    #expect(error?.httpStatus == 403)
                    #expect(text.contains("after a redirect to localhost, which did not get the app's headers"))
                    #expect(other.received.map { $0.header("Authorization") } == [nil])
                } else {
                    #expect(error?.httpStatus == status)
                    #expect(text.contains("it redirects to localhost, which was not followed, so no credentials"))
                    #expect(other.received.isEmpty)
                }
            }
        }
    }

    @Test
    func thatIsCancelledEndsWithThat() async throws {
        try await TransferHarness.run { _ in
            .init(body: .init(bytes: Data("x".utf8)), end: .silent(after: 0))
        } _: { harness async throws in
            try harness.folder.write(.pattern(10), to: "a")
            let (transport, steps) = (harness.transport, TransferSteps())
            let located = LocatedAttachment(attachment: harness.attachment, localPath: harness.folder("a"))
            let task = Task { try await transport.upload(located, progress: steps.add) }
            try await steps.wait(for: 10)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test
    func mediaTypeThatCannotBeAHeaderIsLeftOut() async throws {
        try await TransferHarness.run { _ in
            .init()
        } _: { harness async throws in
            try harness.folder.write(.pattern(10), to: "a")
            let attachment = Attachment(
                id: "1",
                filename: "1",
                state: .queuedUpload,
                mediaType: "image/jpeg\r\nX-Evil: 1"
            )
            let located = LocatedAttachment(attachment: attachment, localPath: harness.folder("a"))
            try await harness.transport.upload(located) { _, _ in }
            #expect(harness.server.received.first?.header("Content-Type") == nil)
            #expect(harness.server.received.first?.header("X-Evil") == nil)
        }
    }

    @Test(arguments: [200, 204, 404, 410, 403, 500])
    func deletionSucceedsWhenThereIsNothingToDelete(status: Int) async throws {
        try await TransferHarness.run { _ in
            .init(status: .init(statusCode: status))
        } _: { harness async throws in
            switch status {
            case 403, 500:
                let error = await #expect(throws: AttachmentTransferError.self) {
                    try await harness.transport.delete(harness.attachment)
                }
                #expect(error?.httpStatus == status)
            default:
                try await harness.transport.delete(harness.attachment)
            }
            #expect(harness.server.received.map(\.method) == [.DELETE])
        }
    }
}
