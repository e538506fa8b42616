import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import PowerSyncHTTP
import PowerSyncNIO
import PowerSyncProtocol
import PowerSyncTesting
import PowerSyncURLSession
import TestSupport
import Testing

@testable import PowerSyncClient

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What an app's `URLSession` means for the requests of the SDK, and what it does not.
@Suite(.timeLimit(.minutes(1))) struct URLSessionTests {
    private static let checkpoint = ByteBuffer(string: #"{"data":{"write_checkpoint":"7"}}"#)
    private static let line = ByteBuffer(string: #"{"token_expires_in":7}"# + "\n")

    private static func stream(_ chunks: [ByteBuffer] = [line]) -> LoopbackServer.Response {
        .init(headers: ["Content-Type": SyncLineFormat.ndjson.mediaType], chunks: chunks, end: .open)
    }

    private func open(_ server: LoopbackServer, _ client: PowerSyncHTTPClient) async throws -> any SyncLineStream {
        try await HTTPTransport(client: client).openStream(
            StreamingSyncRequest(),
            credentials: try server.credentials(),
            log: .disabled
        )
    }

    private func writeCheckpoint(
        _ server: LoopbackServer,
        _ client: PowerSyncHTTPClient
    ) async throws -> WriteCheckpoint {
        try await HTTPTransport(client: client).writeCheckpoint(
            clientID: "c",
            credentials: try server.credentials(),
            log: .disabled
        )
    }

    /// A client with connections of its own.
    private func client(
        _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) -> PowerSyncHTTPClient {
        let configuration = URLSessionConfiguration.ephemeral
        change(configuration)
        return .urlSession(URLSession(configuration: configuration))
    }

    @Test
    func headersOfTheAppGoWithEachRequestToTheServiceExceptForThoseThatTheSDKSets() async throws {
        let client = client { $0.httpAdditionalHeaders = ["X-Tenant": "north", "authorization": "Basic app"] }
        #expect(client.exchange.additionalHeaders == ["X-Tenant": "north"])
        try await LoopbackServer.run { _ in
            Self.stream()
        } _: { server in
            let url = server.url
            let connector = ScriptedConnector()
            connector.onFetch { _ in PowerSyncCredentials(endpoint: url, token: "secret") }
            let database = SyncedDatabase(
                schema: SyncHarness.schema,
                dbFilename: ":memory:",
                logger: RecordingLogger(),
                environment: .live
            )
            let configuration = SyncClientConfiguration(httpClient: client)
            try await database.connect(
                connector: connector,
                options: ConnectOptions(clientConfiguration: configuration)
            )
            try await server.waitForRequests(1)
            let request = try #require(server.received.first)
            #expect(request.header("X-Tenant") == "north")
            #expect(request.header("Authorization") == "Token secret")
            try await database.close()
        }
    }

    @Test func whatTheAppHasConfiguredIsKeptAndWhatBreaksStreamsIsNot() throws {
        let configuration = URLSessionConfiguration.default
        configuration.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": "proxy.test"]
        configuration.allowsCellularAccess = false
        configuration.httpShouldSetCookies = false
        configuration.protocolClasses = [PacedProtocol.self]
        configuration.httpAdditionalHeaders = ["X-Tenant": "north"]
        configuration.timeoutIntervalForRequest = 1
        configuration.timeoutIntervalForResource = 1
        configuration.requestCachePolicy = .returnCacheDataElseLoad
        let ours = configuration.forExchanges
        #expect(ours.connectionProxyDictionary?["HTTPProxy"] as? String == "proxy.test")
        #expect(!ours.allowsCellularAccess && !ours.httpShouldSetCookies)
        #expect(ours.protocolClasses?.first == PacedProtocol.self)
        // They go with requests, which know where they go.
        #expect(ours.httpAdditionalHeaders == nil)
        #expect(ours.timeoutIntervalForRequest > 86_400 && ours.timeoutIntervalForResource > 86_400)
        #expect(ours.urlCache == nil && ours.requestCachePolicy == .reloadIgnoringLocalCacheData)
        // The app's is as it was.
        #expect(configuration.timeoutIntervalForRequest == 1)
    }

    @Test func aSessionThatWasInvalidatedStillGivesItsConfiguration() async throws {
        let session = URLSession(configuration: .default)
        session.invalidateAndCancel()
        try await LoopbackServer.run { _ in
            .init(chunks: [Self.checkpoint])
        } _: { server in
            let answer = try await writeCheckpoint(server, .urlSession(session))
            #expect(answer == WriteCheckpoint(7))
        }
    }

    @Test func requestsMayBeCancelledAtAnyMoment() async throws {
        let client = client { $0.urlCache = URLCache.shared }
        try await LoopbackServer.run { _ in
            .init(chunks: [Self.checkpoint])
        } _: { server in
            for yields in 0..<400 {
                let request = Task { try await writeCheckpoint(server, client) }
                for _ in 0..<yields { await Task.yield() }
                request.cancel()
                switch await request.result {
                case .success(let answer): #expect(answer == WriteCheckpoint(7))
                case .failure(let error): #expect(error is CancellationError)
                }
            }
        }
    }

    @Test func theDelegateQueueOfTheAppIsLeftAlone() async throws {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let client = PowerSyncHTTPClient.urlSession(
            URLSession(configuration: .default, delegate: nil, delegateQueue: queue)
        )
        try await LoopbackServer.run { _ in
            .init(chunks: [Self.checkpoint])
        } _: { server in
            let credentials = try server.credentials()
            // Blocks the queue for as long as the request takes.
            let answer: WriteCheckpoint = try await withCheckedThrowingContinuation { continuation in
                queue.addOperation {
                    let isAnswered = DispatchSemaphore(value: 0)
                    let result = NIOLockedValueBox<Result<WriteCheckpoint, any Error>?>(nil)
                    Task {
                        do {
                            let checkpoint = try await HTTPTransport(client: client).writeCheckpoint(
                                clientID: "c",
                                credentials: credentials,
                                log: .disabled
                            )
                            result.withLockedValue { $0 = .success(checkpoint) }
                        } catch {
                            result.withLockedValue { $0 = .failure(error) }
                        }
                        isAnswered.signal()
                    }
                    isAnswered.wait()
                    continuation.resume(with: result.withLockedValue { $0 } ?? .failure(CancellationError()))
                }
            }
            #expect(answer == WriteCheckpoint(7))
        }
    }

    @Test func aHundredStreamsLeaveRoomForARequestAndNoConnection() async throws {
        let count = 100
        try await LoopbackServer.run { request in
            request.head.method == .POST
                ? Self.stream() : .init(headers: ["Connection": "close"], chunks: [Self.checkpoint])
        } _: { server in
            let client = client()
            try await withThrowingTaskGroup(of: Void.self) { group in
                let (gate, arrived, changes) = (TaskGate(), NIOLockedValueBox(0), Signal())
                for _ in 0..<count {
                    group.addTask {
                        let stream = try await open(server, client)
                        #expect(try await stream.nextLines()?.count == 1)
                        arrived.withLockedValue { $0 += 1 }
                        changes.fire()
                        try await gate.pass()
                        withExtendedLifetime(stream) {}
                    }
                }
                try await changes.wait { arrived.withLockedValue { $0 } == count ? () : nil }
                #expect(try await writeCheckpoint(server, client) == WriteCheckpoint(7))
                try await server.waitForConnections(count)
                gate.open()
                try await group.waitForAll()
            }
            try await server.waitForConnections(0)
        }
    }

    /// When a request is given up.
    enum Phase: CaseIterable { case beforeTheStart, beforeTheHead, inTheBody, unread }

    @Test(arguments: Phase.allCases) func aRequestThatIsGivenUpLeavesNoConnection(_ phase: Phase) async throws {
        try await LoopbackServer.run { _ in
            phase == .beforeTheHead ? .init(end: .unanswered) : Self.stream()
        } _: { server in
            let client = client()
            let isReading = TaskGate()
            let task = Task {
                if phase == .beforeTheStart { withUnsafeCurrentTask { $0?.cancel() } }
                let stream = try await open(server, client)
                guard phase == .inTheBody else { return }
                #expect(try await stream.nextLines()?.count == 1)
                isReading.open()
                _ = try await stream.nextLines()
            }
            switch phase {
            case .beforeTheStart: break
            case .beforeTheHead: try await server.waitForRequests(1)
            case .inTheBody: try await isReading.pass()
            case .unread: try await task.value
            }
            task.cancel()
            if phase != .unread { await #expect(throws: CancellationError.self) { try await task.value } }
            try await server.waitForConnections(0)
        }
    }

    @Test func aStreamIsNotTimedOutByTheSessionButAFileIs() async throws {
        try await LoopbackServer.run { request in
            request.head.uri == "/file" ? .init(end: .unanswered) : Self.stream()
        } _: { server in
            let configuration = URLSessionConfiguration.ephemeral
            configuration.timeoutIntervalForRequest = 1
            configuration.timeoutIntervalForResource = 1
            let exchange = URLSessionExchange(configuration, fileIdleTimeout: .seconds(2))
            let stream = try await open(server, PowerSyncHTTPClient(exchange))
            #expect(try await stream.nextLines()?.count == 1)
            // Its time-out is the measure of the time in which the stream is silent.
            var file = HTTPExchangeRequest(.GET, server.url + "/file")
            file.purpose = .file
            let error = await #expect(throws: HTTPExchangeError.self) { _ = try await exchange.send(file) }
            #expect(error?.code == .timeout)
            server.send(Self.line)
            #expect(try await stream.nextLines()?.count == 1)
        }
    }

    @Test func aSenderIsStoppedWhileTooMuchIsUnread() async throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [PacedProtocol.self]
        let exchange = URLSessionExchange(configuration, pausing: .suspendsTask)
        var request = HTTPExchangeRequest(.POST, "http://paced.test/sync/stream")
        request.purpose = .stream
        let response = try await exchange.send(request)
        #expect(response.status == 200 && response.headers.first(name: "Content-Type") == "application/x-ndjson")
        let piece = Data(repeating: 7, count: 64 << 10)
        for _ in 0..<17 { PacedProtocol.deliver(piece) }
        try await PacedProtocol.waitUntil { !$0.isLoading }
        var bytes = 0
        while bytes < 13 * piece.count { bytes += try #require(try await response.body.next()).readableBytes }
        #expect(PacedProtocol.state.withLockedValue { $0.starts } == 1)
        while bytes < 14 * piece.count { bytes += try #require(try await response.body.next()).readableBytes }
        try await PacedProtocol.waitUntil { $0.isLoading && $0.starts == 2 }
        PacedProtocol.deliver(piece)
        PacedProtocol.finish()
        while let chunk = try await response.body.next() { bytes += chunk.readableBytes }
        #expect(bytes == 18 * piece.count)
    }

    @Test func certificatesOfTrustedAuthoritiesAreLeftToNIO() throws {
        let authorities = try TrustedAuthorities(pem: LoopbackCertificates.authority)
        let client = client()
        #expect(client.exchange(trusting: nil) === client.exchange)
        #expect(client.exchange(trusting: authorities) is NIOExchange)
    }

    @Test(arguments: ["", "/sync", "http://", "ht tp://x"]) func whatIsNoAddressIsAnError(_ url: String) async {
        let error = await #expect(throws: HTTPExchangeError.self) {
            _ = try await client().exchange.send(HTTPExchangeRequest(.GET, url))
        }
        #expect(error?.code == .invalidURL)
    }

    @Test func anErrorDoesNotTellTheQueryOfAURL() async throws {
        let server = try await LoopbackServer { _ in .init() }
        let url = server.url + "/file?signature=secret"
        try await server.stop()
        let error = await #expect(throws: HTTPExchangeError.self) {
            _ = try await client().exchange.send(HTTPExchangeRequest(.GET, url))
        }
        #expect(error?.code == .connection)
        #expect("\(String(describing: error))".contains("secret") == false)
    }

    @Test(arguments: [("X-A", "1\r\nX-B: 2"), ("X-A: 1\r\nX-B", "2"), ("", "1"), ("X A", "1"), ("X-A", "\0")])
    func aHeaderThatIsMoreThanOneIsNotSent(name: String, value: String) async {
        var request = HTTPExchangeRequest(.GET, "http://127.0.0.1:1/")
        request.headers.add(name: name, value: value)
        let error = await #expect(throws: HTTPExchangeError.self) {
            _ = try await client().exchange.send(request)
        }
        #expect(error?.code == .invalidHeader)
    }
}
