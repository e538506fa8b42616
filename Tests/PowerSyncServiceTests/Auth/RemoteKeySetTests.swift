import Foundation
import Hummingbird
import Logging
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncTesting
import Testing

@testable import PowerSyncService
@testable import PowerSyncTokens

/// Tokens whose keys a server publishes (docs/service.md "Authentication").
@Suite(.timeLimit(.minutes(1))) struct RemoteKeySetTests {
    private let clock = TestClock()

    /// What a server answers, and how often it was asked.
    private final class Server: Sendable {
        private let state = NIOLockedValueBox<(answer: Result<[JSONWebKey], AuthorizationError>?, requests: Int)>(
            (nil, 0)
        )
        private let changed = ChangeSignal()

        var requests: Int { state.withLockedValue(\.requests) }

        /// `nil` lets requests wait.
        func answer(_ answer: Result<[JSONWebKey], AuthorizationError>?) {
            state.withLockedValue { $0.answer = answer }
            changed.advance()
        }

        func fetch() async throws(AuthorizationError) -> [JSONWebKey] {
            state.withLockedValue { $0.requests += 1 }
            while true {
                let seen = changed.version
                if let answer = state.withLockedValue(\.answer) { return try answer.get() }
                do {
                    try await changed.wait(after: seen)
                } catch {
                    throw .keySetRequest("cancelled")
                }
            }
        }
    }

    /// Runs a set while a body checks tokens with it.
    private func run(_ body: (Server, TokenVerifier) async throws -> Void) async throws {
        let server = Server()
        let set = RemoteKeySet(clock: clock) { () async throws(AuthorizationError) in try await server.fetch() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await set.run() }
            try await body(server, TokenVerifier(sources: [set], audience: ["powersync-dev"]))
            group.cancelAll()
        }
    }

    private static let token = TestToken().signed(with: TokenVerifierTests.interopKey)
    private static let other = JSONWebKey(
        id: "test-2",
        algorithm: .hs256,
        material: .symmetric(Array("another key of the tests, 32 bytes".utf8))
    )

    @Test func theFirstTokenWaitsForTheKeys() async throws {
        try await run { server, verifier in
            let check = Task { await TokenVerifierTests.failure(Self.token, verifier) }
            try await clock.waitForTimer(of: RemoteKeySet.patience)
            server.answer(.success([TokenVerifierTests.interopKey]))
            #expect(await check.value == nil)
            #expect(await TokenVerifierTests.failure(Self.token, verifier) == nil)
            #expect(server.requests == 1)
        }
    }

    @Test func aServerThatDoesNotAnswerIsNotWaitedForLong() async throws {
        try await run { server, verifier in
            let check = Task { await TokenVerifierTests.failure(Self.token, verifier) }
            try await clock.waitForTimer(of: RemoteKeySet.patience)
            clock.advance(by: RemoteKeySet.patience)
            #expect(await check.value?.code == .keySetRequest)
        }
    }

    @Test func keysStayWhileTheServerIsDown() async throws {
        try await run { server, verifier in
            server.answer(.success([TokenVerifierTests.interopKey]))
            #expect(await TokenVerifierTests.failure(Self.token, verifier) == nil)
            server.answer(.failure(.keySetRequest("down")))
            for _ in 0..<5 {
                clock.advance(by: .seconds(600))
                #expect(await TokenVerifierTests.failure(Self.token, verifier) == nil)
            }
            clock.advance(by: .seconds(601))
            let failure = await TokenVerifierTests.failure(Self.token, verifier)
            #expect(failure?.code == .keySetRequest)
        }
    }

    @Test func aRotatedKeyIsFoundByTheNextTry() async throws {
        try await run { server, verifier in
            server.answer(.success([Self.other]))
            #expect(await TokenVerifierTests.failure(Self.token, verifier)?.code == .authentication)
            server.answer(.success([Self.other, TokenVerifierTests.interopKey]))
            // Within its limit, the set is asked again in the background.
            clock.advance(by: .seconds(5))
            while let failure = await TokenVerifierTests.failure(Self.token, verifier) {
                #expect(failure.code == .authentication)
                clock.advance(by: .seconds(5))
                await Task.yield()
            }
            #expect(server.requests <= 10)
        }
    }

    @Test func rulesOfTheSourceReplaceThoseOfAll() async throws {
        let verifier = TokenVerifier(
            sources: [
                StaticKeys([TokenVerifierTests.interopKey], rules: .supabase), StaticKeys([Self.other]),
            ],
            audience: ["powersync-dev"]
        )
        var token = TestToken()
        #expect(
            await TokenVerifierTests.failure(token.signed(with: TokenVerifierTests.interopKey), verifier)?.code
                == .tokenAudience
        )
        token.payload["aud"] = "authenticated"
        token.payload["exp"] = .integer(1_767_225_600 + 606_000)
        #expect(await TokenVerifierTests.failure(token.signed(with: TokenVerifierTests.interopKey), verifier) == nil)
        token.payload["exp"] = .integer(1_767_225_600 + 606_001)
        #expect(
            await TokenVerifierTests.failure(token.signed(with: TokenVerifierTests.interopKey), verifier)?.code
                == .tokenLifetime
        )
    }

    // MARK: Over HTTP

    /// Serves key sets of all kinds, for as long as a body runs.
    private static func whileServing(
        _ body: @escaping @Sendable (_ url: @Sendable (String) -> URL) async throws -> Void
    ) async throws {
        let router = Router()
        let document =
            #"{"keys":[{"kty":"OKP","kid":"a","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#
        router.get("keys") { _, _ in document }
        router.get("moved") { _, _ in Response.redirect(to: "/keys") }
        router.get("circle") { _, _ in Response.redirect(to: "/circle") }
        router.get("elsewhere") { _, _ in Response.redirect(to: "file:///etc/passwd") }
        router.get("broken") { _, _ in HTTPResponse.Status.internalServerError }
        router.get("page") { _, _ in "<html></html>" }
        router.get("huge") { _, _ in #"{"keys":[],"x":""# + String(repeating: "x", count: 2 << 20) + #""}"# }
        var logger = Logger(label: "keys") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .critical
        let (ports, port) = AsyncStream<Int>.makeStream()
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { port.yield($0.localAddress?.port ?? 0) },
            logger: logger
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try? await application.run() }
            for await port in ports {
                let base = try #require(URL(string: "http://127.0.0.1:\(port)"))
                try await body { base.appending(path: $0) }
                break
            }
            group.cancelAll()
        }
    }

    private static func keys(_ url: URL, rejecting ranges: String...) async -> Result<[JSONWebKey], AuthorizationError>
    {
        var rejected = AddressRanges.none
        for range in ranges { rejected.insert(range) }
        do throws(AuthorizationError) {
            return .success(try await KeySetClient(url: url, rejectedAddresses: rejected, rejectsIPv6: false).keys())
        } catch {
            return .failure(error)
        }
    }

    @Test func keySetsAreFetched() async throws {
        try await Self.whileServing { url in
            let keys = try await Self.keys(url("keys")).get()
            let movedKeys = try await Self.keys(url("moved"), rejecting: "10.0.0.0/8").get()
            #expect(keys.map(\.id) == ["a"] && movedKeys.map(\.id) == ["a"])
            for path in ["circle", "elsewhere", "broken", "page", "huge", "nothing"] {
                guard case .failure(let error) = await Self.keys(url(path)) else {
                    Issue.record("\(path) has keys")
                    continue
                }
                #expect(error.code == .keySetRequest || error.code == .keySetHost, "\(path): \(error)")
            }
        }
    }

    @Test func addressesThatAreRefusedAreNotAsked() async throws {
        try await Self.whileServing { url in
            for range in ["local", "127.0.0.0/8"] {
                guard case .failure(let error) = await Self.keys(url("keys"), rejecting: range) else {
                    Issue.record("was asked")
                    continue
                }
                #expect(error.code == .keySetAddressRange)
            }
        }
    }
}
