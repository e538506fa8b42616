import Foundation
import PowerSyncCoreTestSupport
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// A user connects while local writes of another one wait.
@Suite(.timeLimit(.minutes(1))) struct WriterWatchTests {
    private let harness = SyncHarness()

    /// A token with claims, which nobody has signed.
    private static func token(_ claims: String) -> String {
        let payload = Data(claims.utf8).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        return "eyJhbGciOiJub25lIn0.\(payload).c2lnbmF0dXJl"
    }

    private static func token(of user: String) -> String { token(#"{"sub":"\#(user)","exp":1}"#) }

    /// Connects with a token, and uploads what waits if it may.
    private func connect(_ token: String, uploads: Bool = true) async throws -> ScriptedStream {
        harness.connector.onFetch { _ in PowerSyncCredentials(endpoint: "https://sync.test", token: token) }
        harness.connector.onUpload { database, _ in
            guard uploads else { throw ScriptedError() }
            while let transaction = try await database.getNextCrudTransaction() { try await transaction.complete() }
        }
        return try await harness.connectAndAccept(ConnectOptions(crudThrottle: 0))
    }

    /// Writes that were not uploaded while a user was connected.
    private func leaveWrites(of token: String) async throws {
        let stream = try await connect(token, uploads: false)
        try await harness.insert("\(UUID())", name: "of the first user")
        stream.send(.checkpoint(0))
        try await harness.wait { $0.lastUploadError is ScriptedError }
        try await harness.database.disconnect()
    }

    private var warnings: [String] { harness.log.messages(.warning).filter { $0.contains("another user") } }

    @Test func anotherUsersWritesAreToldAndUploaded() async throws {
        try await leaveWrites(of: Self.token(of: "anna"))
        try await harness.insert("second")
        #expect(warnings.isEmpty)
        let stream = try await connect(Self.token(of: "bert"))
        try await harness.waitForActivity { $0.hasWritesOfAnotherUser }
        #expect("\(harness.activity)".contains("uploading writes of another user"))
        #expect(warnings.count == 1)
        #expect(warnings.first?.hasPrefix("2 local writes that wait were made by another user ") == true)
        stream.send(.checkpoint(0))
        try await harness.service.nextWriteCheckpoint().respond(1)
        try await harness.waitForActivity { !$0.hasWritesOfAnotherUser }

        // From here on the queue is the second user's.
        try await leaveWrites(of: Self.token(of: "bert"))
        #expect(warnings.count == 1)
        _ = try await connect(Self.token(of: "anna"))
        try await harness.waitForActivity { $0.hasWritesOfAnotherUser }
        #expect(warnings.count == 2)
        let severities: [LogSeverity] = [.debug, .info, .warning, .error, .fault]
        #expect(!severities.flatMap(harness.log.messages).contains { $0.contains("anna") || $0.contains("bert") })
    }

    @Test func thatIsToldOncePerConnection() async throws {
        try await leaveWrites(of: Self.token(of: "anna"))
        for _ in 1...2 {
            let stream = try await connect(Self.token(of: "bert"), uploads: false)
            try await harness.waitForActivity { $0.hasWritesOfAnotherUser }
            stream.end()
            try await harness.wait { !$0.connected }
            try await harness.clock.waitForTimer(of: .seconds(5))
            harness.clock.advance(by: .seconds(5))
            _ = try await harness.acceptNext()
            #expect(harness.activity.hasWritesOfAnotherUser)
            try await harness.database.disconnect()
            #expect(!harness.activity.hasWritesOfAnotherUser)
        }
        #expect(warnings.count == 2)
    }

    @Test func noticedWhenATokenIsReplacedInTheConnection() async throws {
        try await leaveWrites(of: Self.token(of: "anna"))
        _ = try await connect(Self.token(of: "anna"), uploads: false)
        #expect(!harness.activity.hasWritesOfAnotherUser)
        harness.connector.onFetch { _ in
            PowerSyncCredentials(endpoint: "https://sync.test", token: Self.token(of: "bert"))
        }
        await harness.database.invalidateCredentials()
        try await harness.waitForActivity { $0.hasWritesOfAnotherUser }
        #expect(warnings.count == 1)
    }

    @Test(
        arguments: [
            (token(of: "anna"), token(of: "anna")),
            (token(of: "anna"), "an opaque token"),
            (token(of: "anna"), token(#"{"exp":1}"#)),
            ("an opaque token", token(of: "bert")),
            (token(#"{"exp":1}"#), token(of: "bert")),
        ]
    )
    func nobodyElsesWritesWaitOrNobodyCanBeCompared(first: String, second: String) async throws {
        try await leaveWrites(of: first)
        let stream = try await connect(second)
        stream.send(.checkpoint(0))
        try await harness.service.nextWriteCheckpoint().respond(1)
        #expect(!harness.activity.hasWritesOfAnotherUser)
        #expect(warnings.isEmpty)
    }

    @Test(arguments: [false, true]) func whoSignsOutLeavesNothing(soft: Bool) async throws {
        try await leaveWrites(of: Self.token(of: "anna"))
        try await harness.database.disconnectAndClear(soft: soft)
        try await harness.insert("new")
        _ = try await connect(Self.token(of: "bert"))
        #expect(!harness.activity.hasWritesOfAnotherUser)
        #expect(warnings.isEmpty)
    }

    @Test func theFileKeepsAHashOfItsOwn() async throws {
        let other = SyncHarness()
        var stored: [String?] = []
        for harness in [harness, other] {
            harness.connector.onFetch { _ in
                PowerSyncCredentials(endpoint: "https://sync.test", token: Self.token(of: "anna"))
            }
            _ = try await harness.connectAndAccept()
            stored.append(
                try await harness.database.getOptional("SELECT value FROM ps_kv WHERE key = 'swift_queue_owner'") {
                    try $0.getString(index: 0)
                }
            )
        }
        let hashes = stored.compactMap(\.self)
        #expect(hashes.count == 2 && Set(hashes).count == 2)
        #expect(hashes.allSatisfy { $0.count == 64 })
    }

    @Test(
        arguments: [
            (token(of: "anna"), "anna"),
            (token(#"{"sub":"ä ✓ ??>"}"#), "ä ✓ ??>"),
            (token(#"{"sub":""}"#), ""),
            (token(#"{"sub":7}"#), nil),
            (token(#"{"sub":null}"#), nil),
            (token(#"["sub"]"#), nil),
            (token("no JSON"), nil),
            (token(""), nil),
            ("a.b.c", nil),
            ("a.b.c.d", nil),
            ("..", nil),
            ("", nil),
            (token(of: "anna") + ".more", nil),
        ] as [(String, String?)]
    )
    func subjects(token: String, subject: String?) {
        #expect(WriterWatch.subject(of: token) == subject)
    }
}
