import Foundation
import NIOCore
import NIOHTTP1
import PowerSyncHTTP
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncClient

/// What people are told when there is no connection: words, and nothing of the libraries below.
@Suite(.timeLimit(.minutes(1))) struct ConnectionReasonTests {
    private static let transports: [SyncTransportMethod] = [.http, .webSocket]

    /// The text of the error that opening a stream ends with.
    private static func text(_ url: String, _ method: SyncTransportMethod) async throws -> String {
        let credentials = ServiceCredentials(endpoint: try ServiceEndpoint(url), token: "secret")
        do {
            _ = try await SyncEnvironment.live.transport(for: method).openStream(
                StreamingSyncRequest(),
                credentials: credentials,
                log: .disabled
            )
            Issue.record("the stream was opened")
            return ""
        } catch {
            return error.lineOfText
        }
    }

    @Test(arguments: transports) func aConnectionIsRefused(_ method: SyncTransportMethod) async throws {
        let text = try await Self.text("http://127.0.0.1:\(FreePort.take())", method)
        #expect(text.hasSuffix("failed: the connection was refused"), "\(text)")
    }

    @Test(arguments: transports) func theOtherEndDoesNotSpeakTLS(_ method: SyncTransportMethod) async throws {
        try await LoopbackServer.run { _ in
            .init()
        } _: { server in
            let text = try await Self.text("https://127.0.0.1:\(server.port)", method)
            #expect(
                text.hasSuffix("the other end does not speak TLS; its address may begin with http:// or ws://"),
                "\(text)"
            )
        }
    }

    private static let reasons: [(any Error, String?)] = [
        (IOError(errnoCode: ECONNRESET, reason: "read(descriptor:pointer:size:)"), "the connection was reset"),
        (IOError(errnoCode: ENOSPC, reason: "write"), nil),
        (ChannelError.connectTimeout(.seconds(10)), "nothing answered in time"),
        (ChannelError.eof, "the connection was closed"),
        (HTTPParserError.invalidEOFState, "the connection was closed in the middle of the answer"),
        (HTTPParserError.invalidConstant, "the answer is not HTTP"),
        (CancellationError(), nil),
    ]

    /// A name that cannot be looked up need not be wrong.
    @Test func aDeviceWithoutANetworkIsNotToldThatTheNameIsWrong() {
        #expect(HTTPExchangeError.reason(ofLookup: Int(EAI_NONAME)) == "there is no host of that name")
        #expect(HTTPExchangeError.reason(ofLookup: Int(EAI_AGAIN)) == "the host could not be looked up")
        #expect(HTTPExchangeError.reason(ofLookup: nil) == "the host could not be looked up")
    }

    @Test(arguments: reasons.indices) func anErrorOfALibraryIsSaidInWords(index: Int) {
        let (error, reason) = Self.reasons[index]
        #expect(HTTPExchangeError.reason(error) == reason)
        #expect(HTTPExchangeError(.connection, underlyingError: error).lineOfText == error.lineOfText)
        if let reason {
            #expect(error.lineOfText == reason)
            #expect("\(HTTPExchangeError(.connection, underlyingError: error))" == reason)
        }
    }
}
