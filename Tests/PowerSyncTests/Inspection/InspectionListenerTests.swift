import Foundation
import NIOCore
import PowerSyncProtocol
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncClient

/// Who can look into a running app, at which socket, and until when.
@Suite(.timeLimit(.minutes(1))) struct InspectionListenerTests {
    private let harness = SyncHarness()

    private func app() throws -> InspectedApp { try InspectedApp(harness.database) }

    private func expect(
        _ code: PowerSyncErrorCode,
        listeningAt path: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let error = await #expect(throws: PowerSyncError.self, sourceLocation: sourceLocation) {
            try await harness.database.listenForInspection(at: URL(fileURLWithPath: path)) {
                Issue.record("it listens", sourceLocation: sourceLocation)
            }
        }
        #expect(error?.code == code, "\(String(describing: error))", sourceLocation: sourceLocation)
    }

    @Test func nothingListensUnlessItIsAsked() async throws {
        try await withTemporaryDirectory { folder in
            let harness = SyncHarness(path: folder.appending(path: "a.db").path)
            try await harness.insert("1")
            _ = try await harness.database.inspection()
            let sockets = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
                let attributes = try FileManager.default.attributesOfItem(atPath: folder.appending(path: $0).path)
                return attributes[.type] as? FileAttributeType == .typeSocket
            }
            #expect(sockets == [])
            try await harness.database.close()
        }
    }

    @Test func onlyTheUserOfTheProcessCanConnect() async throws {
        let app = try app()
        try await app.whileListening {
            #expect(app.attributes?[.type] as? FileAttributeType == .typeSocket)
            #expect(app.attributes?[.posixPermissions] as? Int == 0o600)
        }
        #expect(app.attributes == nil)
    }

    @Test func closingTheDatabaseEndsItAndItsConnections() async throws {
        let app = try app()
        try await app.connectedWhileListeningPublicly { client in
            _ = try await client.ask("follow")
            try await harness.database.close()
            while try await client.next() != nil {}
        }
        #expect(app.attributes == nil)
        await expect(.closed, listeningAt: app.path)
    }

    @Test func theTaskEndsItWithAConnectionThatFollows() async throws {
        let app = try app()
        try await app.connectedWhileListening { client in
            _ = try await client.ask("follow")
        }
        #expect(app.attributes == nil)
        try await app.expectToAnswer()
    }

    @Test func aSocketThatWasLeftBehindIsReplaced() async throws {
        let app = try app()
        let dead = try SocketFile(at: app.path)
        close(dead.descriptor)
        #expect(app.attributes?[.type] as? FileAttributeType == .typeSocket)
        try await app.expectToAnswer()
        #expect(app.attributes == nil)
    }

    @Test func anAppThatListensKeepsItsSocket() async throws {
        let app = try app()
        try await app.expectToAnswer { await expect(.fileInUse, listeningAt: app.path) }
    }

    @Test func otherFilesStay() async throws {
        let app = try app()
        try Data("letter".utf8).write(to: URL(fileURLWithPath: app.path))
        await expect(.fileInUse, listeningAt: app.path)
        #expect(try String(contentsOfFile: app.path, encoding: .utf8) == "letter")
        try FileManager.default.removeItem(atPath: app.path)
        try await app.whileListening {
            try FileManager.default.removeItem(atPath: app.path)
            try Data("letter".utf8).write(to: URL(fileURLWithPath: app.path))
        }
        #expect(try String(contentsOfFile: app.path, encoding: .utf8) == "letter")
        // A link is not followed.
        let link = app.folder.path("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: app.path)
        await expect(.fileInUse, listeningAt: link)
    }

    @Test func pathsThatNoSocketCanHaveAreRefused() async throws {
        let app = try app()
        let prefix = app.path + "-"
        let missing = SocketFile.longestPath - prefix.utf8.count
        await expect(.invalidArgument, listeningAt: prefix + String(repeating: "x", count: missing + 1))
        await expect(.invalidArgument, listeningAt: prefix + String(repeating: "é", count: missing / 2 + 1))
        await expect(.cannotOpen, listeningAt: app.folder.path("nowhere/app.socket"))
        var longest = app
        longest.name = "app.socket-" + String(repeating: "x", count: missing)
        #expect(longest.path.utf8.count == SocketFile.longestPath)
        try await longest.expectToAnswer()
    }

    @Test func oneConnectionTooManyIsToldSo() async throws {
        var app = try app()
        app.limits.connections = 1
        try await app.connectedWhileListening { client in
            #expect(try await client.rows("SELECT 1") == "[[1]]")
            for _ in 0..<5 {
                try await app.connect { other in
                    let error = try await other.next()
                    #expect(
                        error?["error"]?.text
                            == #"{"code":-32001,"message":"1 connection is open already; close one"}"#
                    )
                    #expect(try await other.next() == nil)
                }
            }
            #expect(try await client.rows("SELECT 2") == "[[2]]")
        }
    }

    @Test func aReaderThatReadsNothingStandsInNobodysWay() async throws {
        var app = try app()
        app.limits.connections = 3
        try await app.whileListening {
            try await app.connect(reading: false) { idle in
                let query = RPCRequest(
                    id: 1,
                    method: "query",
                    parameters: ["sql": "SELECT printf('%.*c', 4000000, 'x')"]
                )
                for _ in 0..<4 { try await idle.send(query.text + "\n") }
                #expect(try await app.rows("SELECT 1") == "[[1]]")
                #expect(try await app.rows("SELECT count(*) FROM lists") == "[[0]]")
            }
        }
    }
}

extension InspectedApp {
    /// Listens, and asks after a body.
    func expectToAnswer(after body: () async throws -> Void = {}) async throws {
        try await whileListening {
            try await body()
            let rows = try await rows("SELECT 1")
            #expect(rows == "[[1]]")
        }
    }

    /// Connects while the database listens.
    func connectedWhileListening(_ body: (inout InspectionClient) async throws -> Void) async throws {
        try await whileListening { try await connect(body) }
    }

    /// Connects while the database listens, until that ends by itself.
    func connectedWhileListeningPublicly(_ body: (inout InspectionClient) async throws -> Void) async throws {
        let (start, started) = AsyncStream.makeStream(of: Never.self)
        async let listening: Void = database.listenForInspection(at: URL(fileURLWithPath: path)) { started.finish() }
        for await _ in start {}
        try await connect(body)
        try await listening
    }
}
