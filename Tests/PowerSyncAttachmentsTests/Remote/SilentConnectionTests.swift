import AsyncHTTPClient
import Foundation
import HTTPStackTestSupport
import NIOCore
import NIOHTTP1
import NIOPosix
import PowerSyncNIO
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// Every connection of the attachments, with a peer that falls silent.
@Suite(.onEachHTTPStack, .timeLimit(.minutes(2))) struct SilentConnectionTests {
    /// What a connection is for.
    enum Request: CaseIterable, Sendable {
        case upload, download, deletion, signing
    }

    /// Until where the peer takes part.
    enum Place: CaseIterable, Sendable {
        /// It accepts the connection and reads nothing: an upload stands still.
        case request
        /// It reads the request and does not answer.
        case head
        /// It begins the body of an answer of success.
        case body
        /// It begins the body of an answer of failure.
        case bodyOfFailure

        fileprivate var answer: String? {
            switch self {
            case .request, .head: nil
            case .body: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"
            case .bodyOfFailure: "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 100\r\n\r\n{"
            }
        }
    }

    @Test(arguments: Request.allCases, Place.allCases)
    func isGivenUpAfterTheLimit(request: Request, place: Place) async throws {
        try await SilentServer.run(place) { url in
            try await AttachmentsFolder.run { folder async throws in
                // More than the sockets of both sides hold.
                try folder.write(.pattern(16_000_000), to: "a")
                try await HTTPStack.current.withClient(readTimeout: .seconds(1)) { client in
                    let error = await error(of: request, url, client, folder)
                    switch (place, request) {
                    case (.body, .upload), (.body, .deletion):
                        // The status says that it was successful.
                        #expect(error == nil)
                    case (.bodyOfFailure, .signing):
                        #expect(error?.code == .backend)
                    case (.bodyOfFailure, _):
                        #expect(error?.code == .status)
                    case (.request, _), (.head, _), (.body, _):
                        #expect(error?.code == .timeout)
                        #expect(error?.isRetriable == true)
                    }
                }
            }
        }
    }

    /// The whole body waits to be sent, and fails when the connection is closed.
    @Test func aBodyThatWaitsAsAWholeIsGivenUpWithTheSameError() async throws {
        try await SilentServer.run(.request) { url in
            let client = HTTPClient(configuration: NIOExchange.fileConfiguration(idleTimeout: .seconds(1)))
            var request = HTTPClientRequest(url: url.absoluteString)
            request.method = HTTPMethod(rawValue: "PUT")
            request.body = .bytes(ByteBuffer(repeating: 1, count: 16_000_000))
            await #expect(throws: HTTPClientError.readTimeout) {
                try await client.execute(request, deadline: .distantFuture)
            }
            try await client.shutdown()
        }
    }

    private func error(
        of request: Request,
        _ url: URL,
        _ client: PowerSyncHTTPClient,
        _ folder: AttachmentsFolder
    ) async -> AttachmentTransferError? {
        let attachment = Attachment(id: "1", filename: "1.jpg", state: .queuedUpload, mediaType: "image/jpeg")
        let http = HTTPAttachmentTransport(
            resolveUpload: { _ in AttachmentHTTPRequest(url: url) },
            resolveDownload: { _ in AttachmentHTTPRequest(url: url) },
            resolveDelete: { _ in AttachmentHTTPRequest(url: url) },
            httpClient: client
        )
        do {
            switch request {
            case .upload:
                try await http.upload(LocatedAttachment(attachment: attachment, localPath: folder("a"))) { _, _ in }
            case .download:
                try await http.download(LocatedAttachment(attachment: attachment, localPath: folder("b"))) { _, _ in }
            case .deletion:
                try await http.delete(attachment)
            case .signing:
                try await SignedURLAttachmentTransport(endpoint: url, httpClient: client) { [:] }.delete(attachment)
            }
            return nil
        } catch let error as AttachmentTransferError {
            return error
        } catch {
            Issue.record(error)
            return nil
        }
    }

    @Test
    func whileAConnectionIsOpenedIsGivenUpAfter30Seconds() {
        #expect(NIOExchange.fileConfiguration().timeout.connect == .seconds(30))
    }
}

/// Accepts connections, and falls silent at a place of each.
private enum SilentServer {
    static func run(_ place: SilentConnectionTests.Place, _ body: (URL) async throws -> Void) async throws {
        let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelOption(.autoRead, value: place != .request)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Answering(place.answer))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        let url = try #require(URL(string: "http://127.0.0.1:\(channel.localAddress?.port ?? 0)/x"))
        do {
            try await body(url)
        } catch {
            try? await channel.close()
            throw error
        }
        try await channel.close()
    }

    /// Answers when the whole request has arrived, as far as its size is announced.
    private final class Answering: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let answer: String?
        private var head = ""
        private var received = 0

        init(_ answer: String?) {
            self.answer = answer
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data)
            received += bytes.readableBytes
            if head.count < 4096 { head += String(buffer: bytes).prefix(4096) }
            guard let answer, let end = head.range(of: "\r\n\r\n") else { return }
            let length = head[..<end.lowerBound].split(separator: "\r\n").compactMap { line in
                line.lowercased().hasPrefix("content-length:")
                    ? Int(line.split(separator: ":")[1].trimmingPrefix(" ")) : nil
            }.first
            guard received >= head[..<end.upperBound].utf8.count + (length ?? 0) else { return }
            received = -.max
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
        }
    }
}
