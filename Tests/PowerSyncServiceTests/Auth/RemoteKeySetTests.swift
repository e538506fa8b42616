import Foundation
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncTesting
import ServiceTestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncAuth

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

        func fetch() async throws(AuthorizationError) -> KeySetDocument {
            state.withLockedValue { $0.requests += 1 }
            while true {
                let seen = changed.version
                if let answer = state.withLockedValue(\.answer) { return KeySetDocument(keys: try answer.get()) }
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

    private static let token = TestToken().signed(with: TestVerifier.key)
    private static let other = JSONWebKey(
        id: "test-2",
        algorithm: .hs256,
        material: .symmetric(Array("another key of the tests, 32 bytes".utf8))
    )

    @Test func theFirstTokenWaitsForTheKeys() async throws {
        try await run { server, verifier in
            let check = Task { await TestVerifier.failure(Self.token, verifier) }
            try await clock.waitForTimer(of: RemoteKeySet.patience)
            server.answer(.success([TestVerifier.key]))
            #expect(await check.value == nil)
            #expect(await TestVerifier.failure(Self.token, verifier) == nil)
            #expect(server.requests == 1)
        }
    }

    @Test func aServerThatDoesNotAnswerIsNotWaitedForLong() async throws {
        try await run { server, verifier in
            let check = Task { await TestVerifier.failure(Self.token, verifier) }
            try await clock.waitForTimer(of: RemoteKeySet.patience)
            clock.advance(by: RemoteKeySet.patience)
            #expect(await check.value?.code == .keySetRequest)
        }
    }

    @Test func keysStayWhileTheServerIsDown() async throws {
        try await run { server, verifier in
            server.answer(.success([TestVerifier.key]))
            #expect(await TestVerifier.failure(Self.token, verifier) == nil)
            server.answer(.failure(.keySetRequest("down")))
            for _ in 0..<5 {
                clock.advance(by: .seconds(600))
                #expect(await TestVerifier.failure(Self.token, verifier) == nil)
            }
            clock.advance(by: .seconds(601))
            let failure = await TestVerifier.failure(Self.token, verifier)
            #expect(failure?.code == .keySetRequest)
        }
    }

    @Test func aRotatedKeyIsFoundByTheNextTry() async throws {
        try await run { server, verifier in
            server.answer(.success([Self.other]))
            #expect(await TestVerifier.failure(Self.token, verifier)?.code == .authentication)
            server.answer(.success([Self.other, TestVerifier.key]))
            // Within its limit, the set is asked again in the background.
            clock.advance(by: .seconds(5))
            while let failure = await TestVerifier.failure(Self.token, verifier) {
                #expect(failure.code == .authentication)
                clock.advance(by: .seconds(5))
                await Task.yield()
            }
            #expect(server.requests <= 10)
        }
    }

    @Test(
        arguments: [SigningAlgorithm.hs256, .rs256, .ps256, .es256, .eddsa],
        [SigningAlgorithm.hs256, .rs256, .es256, .eddsa]
    )
    func aReplacedKeyIsFound(_ algorithm: SigningAlgorithm, _ before: SigningAlgorithm) async throws {
        let (pair, old) = (try await TestKeyPair(algorithm, id: "k"), try await TestKeyPair(before, id: "k"))
        let token = try TestToken(header: pair.header).signed(by: pair.sign)
        // The pairs of RSA and the secrets are all the same ones.
        guard old.key.type != pair.key.type || ![.rsa, .symmetric].contains(old.key.type) else { return }
        try await run { server, verifier in
            server.answer(.success([old.key]))
            #expect(await TestVerifier.failure(token, verifier)?.code == .authentication)
            server.answer(.success([pair.key]))
            // Much less than what is known is good for.
            clock.advance(by: .seconds(5))
            while let failure = await TestVerifier.failure(token, verifier) {
                #expect(failure.code == .authentication)
                await Task.yield()
            }
            #expect(server.requests == 2)
        }
    }

    @Test func wrongSignaturesAskForTheSetWithinItsLimits() async throws {
        try await run { server, verifier in
            server.answer(.success([Self.other]))
            let forged = TestToken(header: ["alg": "HS256", "kid": "test-2"]).signed { _ in [1] }
            for _ in 0..<1_000 {
                #expect(await TestVerifier.failure(forged, verifier)?.code == .authentication)
                clock.advance(by: .milliseconds(100))
            }
            while server.requests < 2 { await Task.yield() }
            #expect(server.requests <= 12)
        }
    }

    @Test func aRotatedKeyIsFoundWhileAnotherSetIsDown() async throws {
        let (rotating, down) = (Server(), Server())
        let sets = [rotating, down].map { server in
            RemoteKeySet(clock: clock) { () async throws(AuthorizationError) in try await server.fetch() }
        }
        rotating.answer(.success([Self.other]))
        down.answer(.failure(.keySetRequest("down")))
        await withThrowingTaskGroup(of: Void.self) { group in
            for set in sets { group.addTask { try await set.run() } }
            let verifier = TokenVerifier(sources: sets, audience: ["powersync-dev"])
            #expect(await TestVerifier.failure(Self.token, verifier)?.code == .keySetRequest)
            rotating.answer(.success([Self.other, TestVerifier.key]))
            // Much less than what is known is good for.
            clock.advance(by: .seconds(5))
            while let failure = await TestVerifier.failure(Self.token, verifier) {
                #expect(failure.code == .keySetRequest)
                await Task.yield()
            }
            #expect(rotating.requests == 2)
            group.cancelAll()
        }
    }

    @Test func aSetThatDoesNotAnswerKeepsNobodyWaitingWhoseKeyIsKnown() async throws {
        // Nobody runs it.
        let silent = RemoteKeySet(clock: clock) { () async throws(AuthorizationError) in KeySetDocument(keys: []) }
        let verifier = TokenVerifier(
            sources: [silent, StaticKeys([TestVerifier.key])],
            audience: ["powersync-dev"]
        )
        #expect(await TestVerifier.failure(Self.token, verifier) == nil)
    }

    @Test func rulesOfTheSourceReplaceThoseOfAll() async throws {
        let verifier = TokenVerifier(
            sources: [
                StaticKeys([TestVerifier.key], rules: .supabase), StaticKeys([Self.other]),
            ],
            audience: ["powersync-dev"]
        )
        var token = TestToken()
        #expect(
            await TestVerifier.failure(token.signed(with: TestVerifier.key), verifier)?.code
                == .tokenAudience
        )
        token.payload["aud"] = "authenticated"
        token.payload["exp"] = .integer(1_767_225_600 + 606_000)
        #expect(await TestVerifier.failure(token.signed(with: TestVerifier.key), verifier) == nil)
        token.payload["exp"] = .integer(1_767_225_600 + 606_001)
        #expect(
            await TestVerifier.failure(token.signed(with: TestVerifier.key), verifier)?.code
                == .tokenLifetime
        )
    }

    @Test func aSupabaseProjectHasKeysOfItsOwn() async throws {
        let yaml = """
            replication: {connections: [{type: postgresql, uri: "postgresql://u@db.abc123.supabase.co/postgres"}]}
            storage: {type: sqlite, path: buckets.db}
            sync_config: {content: "streams: {}"}
            client_auth: {audience: [powersync-dev], supabase: true}
            """
        let authentication = try ServiceConfiguration(yaml: yaml, file: "service.yaml", environment: [:]).authentication
        let server = Server()
        let keys = authentication.keySources(clock: clock) {
            (client: KeySetClient) async throws(AuthorizationError) -> KeySetDocument in
            guard client.url.absoluteString == "https://abc123.supabase.co/auth/v1/.well-known/jwks.json" else {
                throw AuthorizationError.keySetRequest("\(client.url)")
            }
            return try await server.fetch()
        }
        let pair = try await TestKeyPair(.es256, id: "project-1")
        server.answer(.success([pair.key]))
        var token = TestToken(header: pair.header)
        token.payload["aud"] = "authenticated"
        token.payload["exp"] = .integer(1_767_225_600 + 606_000)
        let accepted = try token.signed(by: pair.sign)
        token.payload["exp"] = .integer(1_767_225_600 + 606_001)
        let tooLong = try token.signed(by: pair.sign)
        // The audience of the configuration is not that of the project.
        let other = try TestToken(header: pair.header).signed(by: pair.sign)

        let set = try #require(keys.remote.first)
        #expect(keys.remote.count == 1)
        await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await set.run() }
            let verifier = TokenVerifier(sources: keys.all, audience: authentication.audience)
            #expect(await TestVerifier.failure(accepted, verifier) == nil)
            #expect(await TestVerifier.failure(tooLong, verifier)?.code == .tokenLifetime)
            #expect(await TestVerifier.failure(other, verifier)?.code == .tokenAudience)
            group.cancelAll()
        }
        #expect(server.requests == 1)
    }
}
