import Foundation
import NIOCore
import NIOHTTP1
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncTesting
import PowerSyncAuth
import TestSupport
import Testing

@testable import PowerSyncService

/// How key sets are fetched, and which servers are not asked (docs/service.md "Authentication").
@Suite(.timeLimit(.minutes(1))) struct KeySetClientTests {
    private static let document = GzipKeySet.document

    private static func ok(_ text: String) -> StorageServer.Response {
        StorageServer.Response(body: .init(bytes: Data(text.utf8)))
    }

    private static func redirect(to location: String) -> StorageServer.Response {
        StorageServer.Response(status: .found, headers: ["Location": location])
    }

    /// Runs a test with a server that answers by path.
    private static func whileServing(
        on host: String = "127.0.0.1",
        _ answers: [String: StorageServer.Response],
        _ body: (StorageServer) async throws -> Void
    ) async throws {
        try await StorageServer.run(on: host) { request in
            answers[request.uri] ?? StorageServer.Response(status: .notFound)
        } _: { server in
            try await body(server)
        }
    }

    private static func client(
        _ url: String,
        rejecting ranges: [String] = [],
        rejectsIPv6: Bool = false
    ) throws -> KeySetClient {
        var rejected = AddressRanges.none
        for range in ranges { rejected.insert(range) }
        return KeySetClient(
            url: try #require(URL(string: url)),
            rejectedAddresses: rejected,
            rejectsIPv6: rejectsIPv6
        )
    }

    /// Why there are no keys; `nil` when there are.
    private static func failure(of client: KeySetClient) async -> AuthorizationError? {
        do {
            _ = try await client.keys()
            return nil
        } catch {
            return error
        }
    }

    // MARK: Answers

    @Test func keySetsAreFetched() async throws {
        let answers = ["/keys": Self.ok(Self.document), "/moved": Self.redirect(to: "/keys")]
        try await Self.whileServing(answers) { server in
            let keys = try await Self.client("\(server.url)/keys").keys().keys
            #expect(keys.map(\.id) == ["a"])
            let movedKeys = try await Self.client("\(server.url)/moved", rejecting: ["10.0.0.0/8"]).keys().keys
            #expect(movedKeys.map(\.id) == ["a"])
            #expect(server.received.map { $0.header("Accept") } == Array(repeating: "application/json", count: 3))
        }
    }

    @Test(
        arguments: [
            ("circle", .keySetRequest), ("elsewhere", .keySetHost), ("broken", .keySetRequest),
            ("page", .keySetRequest), ("nothing", .keySetRequest),
        ] as [(String, ErrorCode)]
    )
    func otherAnswersAreErrors(_ path: String, _ code: ErrorCode) async throws {
        let answers = [
            "/circle": Self.redirect(to: "/circle"), "/elsewhere": Self.redirect(to: "file:///etc/passwd"),
            "/broken": StorageServer.Response(status: .internalServerError), "/page": Self.ok("<html></html>"),
        ]
        try await Self.whileServing(answers) { server in
            let failure = await Self.failure(of: try Self.client("\(server.url)/\(path)"))
            #expect(failure?.code == code)
        }
    }

    @Test(
        arguments: [
            ("https://a/keys", "http://a/keys", nil), ("https://a/keys", "HTTP://b/keys", nil),
            ("HTTPS://a/keys", "http://me:hunter2@a/keys?key=hunter3", nil),
            ("https://a/keys", "other", "https://a/other"),
            ("https://a/keys", "//b/other", "https://b/other"), ("https://a/keys", "https://b/", "https://b/"),
            ("http://a/keys", "https://b/", "https://b/"), ("http://a/keys", "http://b/", "http://b/"),
        ] as [(String, String, String?)]
    )
    func aRedirectDoesNotLeadFromHttpsToHttp(_ url: String, _ location: String, _ target: String?) throws {
        do {
            let next = try KeySetClient.target(of: location, from: try #require(URL(string: url)))
            #expect(next.absoluteString == target)
        } catch let error as AuthorizationError {
            #expect(target == nil && error.code == .keySetRequest)
            #expect(error.logDetails?.contains("redirects from https to http") == true)
            #expect(error.logDetails?.contains("hunter") == false)
        }
    }

    @Test func whatIsSecretInAnAddressIsNotInErrors() async throws {
        try await Self.whileServing([:]) { server in
            let address = server.url.replacing("http://", with: "http://me:hunter2@")
            let failure = try #require(await Self.failure(of: try Self.client("\(address)/nothing?key=hunter3")))
            let text = "\(failure) \(failure.description) \(failure.logDetails ?? "")"
            #expect(text.contains("\(server.url)/nothing answers with 404"), "\(text)")
            #expect(!text.contains("hunter"), "\(text)")
        }
    }

    // MARK: Limits

    @Test func aServerThatNeverEndsIsGivenUp() async throws {
        let clock = TestClock()
        let answered = ChangeSignal()
        var answer = Self.ok(Self.document)
        // The head, and the first bytes.
        answer.end = .silent(after: 10)
        answer.announcesLength = false
        try await StorageServer.run { [answer] _ in
            answered.advance()
            return answer
        } _: { server in
            var client = try Self.client("\(server.url)/keys")
            client.clock = clock
            let check = Task { [client] in await Self.failure(of: client) }
            try await answered.wait(after: 0)
            try await clock.waitForTimer(of: .seconds(30))
            clock.advance(by: .seconds(30))
            let failure = await check.value
            #expect(failure?.code == .keySetRequest)
            #expect(failure?.logDetails?.contains("no complete answer within 30.0 seconds") == true)
        }
    }

    @Test(arguments: [true, false], [0, 1])
    func documentsHaveUpTo1MiB(announcesLength: Bool, excess: Int) async throws {
        let spaces = String(repeating: " ", count: (1 << 20) - Self.document.utf8.count + excess)
        var answer = Self.ok(Self.document + spaces)
        answer.announcesLength = announcesLength
        try await Self.whileServing(["/keys": answer]) { server in
            let failure = await Self.failure(of: try Self.client("\(server.url)/keys"))
            #expect(failure?.code == (excess > 0 ? .keySetRequest : nil))
        }
    }

    @Test(arguments: [0, 1])
    func aSmallAnswerThatInflatesToMoreThan1MiBIsRefused(excess: Int) async throws {
        let bytes = excess > 0 ? GzipKeySet.tooLong : GzipKeySet.longest
        let answer = StorageServer.Response(headers: ["Content-Encoding": "gzip"], body: .init(bytes: Data(bytes)))
        try await Self.whileServing(["/keys": answer]) { server in
            let failure = await Self.failure(of: try Self.client("\(server.url)/keys"))
            #expect(failure?.code == (excess > 0 ? .keySetRequest : nil))
            #expect(failure?.logDetails?.contains("limit") ?? true, "\(String(describing: failure?.logDetails))")
        }
    }

    // MARK: Addresses

    @Test(arguments: ["local", "127.0.0.0/8"])
    func addressesThatAreRefusedAreNotAsked(_ range: String) async throws {
        try await Self.whileServing(["/keys": Self.ok(Self.document)]) { server in
            let failure = await Self.failure(of: try Self.client("\(server.url)/keys", rejecting: [range]))
            #expect(failure?.code == .keySetAddressRange)
            #expect(server.received.isEmpty)
        }
    }

    /// A server that may be asked, and sends the service to one that may not.
    struct Hop: CustomTestStringConvertible, Sendable {
        /// The address of the second server.
        var address: String
        /// How the first one names it.
        var name: String
        var refused: [String] = []
        var refusesIPv6 = false
        var code = ErrorCode.keySetAddressRange
        var testDescription: String { "to \(name), refusing \(refusesIPv6 ? "IPv6" : refused.joined())" }
    }

    static let hops = [
        Hop(address: "127.0.0.2", name: "127.0.0.2", refused: ["127.0.0.2"]),
        Hop(address: "127.0.0.2", name: "127.0.0.2", refused: ["10.0.0.0/8", "127.0.0.2/31"]),
        Hop(address: "127.0.0.2", name: "127.2", refused: ["127.0.0.2"]),
        Hop(address: "::1", name: "[::1]", refused: ["::1"]),
        // How `local` has it.
        Hop(address: "::1", name: "[::1]", refused: ["::/127"]),
        Hop(address: "::1", name: "[::1]", refusesIPv6: true, code: .keySetAddressFamily),
    ]

    @Test(arguments: hops)
    func redirectsToRefusedAddressesAreNotFollowed(_ hop: Hop) async throws {
        try await Self.withPrivateServer(on: hop.address) { other in
            let answers = ["/keys": Self.redirect(to: "http://\(hop.name):\(other?.port ?? 9)/keys")]
            try await Self.whileServing(answers) { server in
                let url = "\(server.url)/keys"
                let client = try Self.client(url, rejecting: hop.refused, rejectsIPv6: hop.refusesIPv6)
                #expect(await Self.failure(of: client)?.code == hop.code)
                #expect(server.received.count == 1)
                guard let other else { return }
                #expect(other.received.isEmpty)
                // With other ranges, it is asked.
                let keys = try await Self.client(url, rejecting: ["10.0.0.0/8"]).keys().keys
                #expect(keys.map(\.id) == ["a"])
                #expect(other.received.count == 1)
            }
        }
    }

    /// Runs a test with a server on an address of this machine that not every system has: 127.0.0.2, and ::1.
    ///
    /// - Parameters:
    ///   - host: The address.
    ///   - body: Gets the server: `nil` where nobody can listen on the address.
    /// - Throws: What `body` throws.
    private static func withPrivateServer(
        on host: String,
        _ body: (StorageServer?) async throws -> Void
    ) async throws {
        do {
            try await whileServing(on: host, ["/keys": ok(document)]) { try await body($0) }
        } catch let error as IOError where [EADDRNOTAVAIL, EAFNOSUPPORT].contains(error.errnoCode) {
            try await body(nil)
        }
    }

    @Test(arguments: ["169.254.169.254", "10.1.2.3", "192.168.0.1", "[fd00::1]", "[fe80::1]"])
    func redirectsIntoPrivateNetworks(_ host: String) async throws {
        try await Self.whileServing(["/keys": Self.redirect(to: "http://\(host)/keys")]) { server in
            // What `local` stands for, without 127.0.0.0/8.
            let ranges = ["169.254.0.0/16", "10.0.0.0/8", "192.168.0.0/16", "fc00::/7", "fe80::/10"]
            let client = try Self.client("\(server.url)/keys", rejecting: ranges)
            #expect(await Self.failure(of: client)?.code == .keySetAddressRange)
            #expect(AddressRanges.local.contains(try Self.address(host)))
        }
    }

    private static func address(_ host: String) throws -> SocketAddress {
        try SocketAddress(ipAddress: host.filter { !"[]".contains($0) }, port: 80)
    }

    @Test(arguments: [
        ("http://[::1]:9/keys", "PSYNC_S2202"), ("http://[2606:4700::1]/keys", "PSYNC_S2202"),
        ("http://[fd00::1]/keys", "PSYNC_S2202"), ("http://127.0.0.1:9/keys", "PSYNC_S2203"),
        ("http://10.1.2.3/keys", "PSYNC_S2203"),
    ])
    func blockLocalKeySets(_ url: String, _ code: String) async throws {
        let yaml = """
            replication: {connections: [{type: embedded, path: source.db}]}
            storage: {type: sqlite, path: buckets.db}
            sync_config: {content: "streams: {}"}
            client_auth: {audience: [a], block_local_jwks: true, jwks_uri: "\(url)"}
            """
        let configuration = try ServiceConfiguration(yaml: yaml, file: "service.yaml", environment: [:])
        let clients = configuration.authentication.keySetClients(clock: ContinuousClock())
        let failure = await Self.failure(of: try #require(clients.first?.client))
        #expect(failure?.code.rawValue == code)
        #expect(failure?.description == "JWKS request failed")
        #expect(failure?.logDetails?.contains("client_auth") == true)
    }
}
