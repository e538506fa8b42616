import Foundation
import HTTPStackTestSupport
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import PowerSyncTesting
import PowerSyncUpload
import Testing

@testable import PowerSyncClient

/// The connector for backends that take uploads over HTTP.
@Suite(.onEachHTTPStack, .timeLimit(.minutes(1))) struct HTTPBackendConnectorTests {
    private typealias Backend = ScriptedBackend

    /// The error of an upload.
    private func failure(
        _ connector: HTTPBackendConnector,
        _ backend: ScriptedBackend
    ) async throws -> HTTPBackendError? {
        do {
            try await connector.uploadData(database: backend.database)
            return nil
        } catch let error as HTTPBackendError {
            return error
        }
    }

    @Test func transactionsGoTogetherAndAsTheyAre() async throws {
        try await Backend.run { backend in
            try await backend.database.execute(
                """
                INSERT INTO lists(id, name, score, size, _metadata)
                VALUES ('a', 'A', 1.0, 9007199254740993, 'from a test')
                """
            )
            try await backend.database.execute("UPDATE lists SET score = 2.5 WHERE id = 'a'")
            try await backend.insert(["b", "c"])
            try await backend.database.execute("DELETE FROM lists WHERE id = 'b'")
            var options = HTTPBackendOptions()
            options.headers = ["X-Tenant": "north", "authorization": "Basic app"]
            try await backend.connector(options).uploadData(database: backend.database)
            #expect(try await backend.waiting().isEmpty)

            let request = try #require(backend.requests.first)
            #expect(backend.requests.count == 1)
            #expect(request.head.method == .POST && request.head.uri == "/api/upload?v=1")
            #expect(request.header("Authorization") == "Bearer t1" && request.header("X-Tenant") == "north")
            #expect(request.header("Content-Type") == "application/json")
            let upload = try #require(backend.uploads.first)
            #expect(upload.clientID == (try await backend.database.getClientId()))
            #expect(upload.transactions.map { $0.map(\.id) } == [["a"], ["a"], ["b", "c"], ["b"]])
            #expect(upload.entries.map(\.op) == [.put, .patch, .put, .put, .delete])
            #expect(
                upload.entries[0].data
                    == ["name": .string("A"), "score": .double(1), "size": .int(9_007_199_254_740_993)]
            )
            #expect(upload.entries[0].metadata == "from a test")
            #expect(upload.entries[1].previousValues?["score"] == .double(1))
        }
    }

    @Test func anEmptyQueueAsksNobody() async throws {
        try await Backend.run { backend in
            try await backend.connector().uploadData(database: backend.database)
            #expect(backend.requests.isEmpty)
        }
    }

    /// Requests end between transactions, at the limits or when a single transaction is larger.
    @Test
    func limitsAreKept() async throws {
        try await Backend.run { backend in
            var options = HTTPBackendOptions()
            options.maximumEntries = 3
            let connector = try backend.connector(options)
            try await backend.insert(["a"], ["b", "c"], ["d", "e", "f", "g"], ["h"], ["i"])
            while try await !backend.waiting().isEmpty {
                try await connector.uploadData(database: backend.database)
            }
            let sent = backend.uploads.map { $0.entries.map(\.id).joined() }
            #expect(sent == ["abc", "defg", "hi"])

            options.maximumBytes = 1
            try await backend.insert(["j", "k"], ["l"])
            try await backend.connector(options).uploadData(database: backend.database)
            #expect(backend.uploads.last?.entries.map(\.id) == ["j", "k"])
        }
    }

    @Test func whatWasAppliedLeavesTheQueue() async throws {
        try await Backend.run { backend in
            let connector = try backend.connector()
            try await backend.insert(["a"], ["b", "c"], ["d"])
            // Half of a transaction is not one.
            backend.answer { Backend.applied($0.entries[1].operationID) }
            try await connector.uploadData(database: backend.database)
            #expect(try await backend.waiting() == ["b", "c", "d"])
            backend.answer { Backend.applied($0.entries[1].operationID) }
            try await connector.uploadData(database: backend.database)
            #expect(try await backend.waiting() == ["d"])
        }
    }

    @Test func anAnswerWithoutProgressIsAnError() async throws {
        try await Backend.run { backend in
            try await backend.insert(["a", "b"])
            let connector = try backend.connector()
            for through in [nil, 0, 1] as [Int64?] {
                backend.answer { _ in Backend.applied(through) }
                #expect(try await failure(connector, backend)?.code == .noProgress)
            }
            #expect(try await backend.waiting() == ["a", "b"])
        }
    }

    @Test(arguments: [
        "", "null", "OK", "<html></html>", "{}", "{\"applied_through\":\"1\"}", "{\"applied_through\":1",
        "{\"applied_through\":999}", "{\"applied_through\":1,\"rejections\":[{\"op_id\":77,\"status\":403}]}",
        "{\"applied_through\":1,\"rejections\":[{\"op_id\":1}]}", "\u{FF}\u{0}",
    ])
    func garbageLeavesTheQueueAsItIs(body: String) async throws {
        try await Backend.run { backend in
            try await backend.insert(["a"])
            for status in [HTTPResponseStatus.ok, .noContent] where status == .ok || body.isEmpty {
                backend.answer { _ in Backend.body(body.utf8, status) }
                let error = try await failure(backend.connector(), backend)
                #expect(error?.code == .unexpectedResponse)
                #expect(error?.description.contains("/api/upload") == true)
            }
            #expect(try await backend.waiting() == ["a"])
        }
    }

    @Test(arguments: [301, 400, 403, 404, 409, 422, 500, 502, 504])
    func aStatusAboutTheWholeRequestIsNoRejection(status: Int) async throws {
        try await Backend.run { backend in
            try await backend.insert(["a"])
            backend.answer { _ in Backend.body("not today".utf8, HTTPResponseStatus(statusCode: status)) }
            let error = try await failure(backend.connector(), backend)
            #expect(error?.code == .status && error?.httpStatus == status)
            // FoundationNetworking keeps the body of a redirect that leads nowhere to itself.
            let hasBody = status != 301 || HTTPStack.current == .nio
            #expect(error?.description.contains(hasBody ? "not today" : "301") == true)
            #expect(try await backend.waiting() == ["a"])
        }
    }

    @Test func aConnectionThatBreaksIsAnError() async throws {
        try await Backend.run { backend in
            try await backend.insert(["a"])
            backend.answer { upload in
                var response = Backend.applied(1)
                response.headers.add(name: "Content-Length", value: "1000")
                response.end = .abrupt
                return response
            }
            #expect(try await failure(backend.connector(), backend)?.code == .connection)
            let nobody = try HTTPBackendConnector(
                uploadURL: "http://127.0.0.1:1/",
                credentials: { .init(endpoint: "", token: "t") }
            )
            #expect(try await failure(nobody, backend)?.code == .connection)
            #expect(try await backend.waiting() == ["a"])
        }
    }

    @Test func aBackendThatDoesNotAnswerIsGivenUp() async throws {
        try await Backend.run { backend in
            try await backend.insert(["a"])
            backend.answer { _ in LoopbackServer.Response(end: .open) }
            let connector = try backend.connector()
            async let error = failure(connector, backend)
            try await backend.clock.waitForTimer(of: .seconds(60))
            backend.clock.advance(by: .seconds(60))
            #expect(try await error?.code == .timeout)
            #expect(try await backend.waiting() == ["a"])
        }
    }

    @Test func whatIsNotAnsweredInTimeIsSentInParts() async throws {
        try await Backend.run { backend in
            try await backend.insert(["a"], ["b"], ["c"], ["d"])
            let isSent = Counter()
            backend.answer { _ in
                isSent.increment()
                return LoopbackServer.Response(end: .open)
            }
            let connector = try backend.connector()
            async let error = failure(connector, backend)
            await isSent.wait(for: 1)
            try await backend.clock.waitForTimer(of: .seconds(60))
            backend.clock.advance(by: .seconds(60))
            #expect(try await error?.code == .timeout)
            for _ in 0..<2 { try await connector.uploadData(database: backend.database) }
            #expect(backend.uploads.map { $0.entries.map(\.id).joined() } == ["abcd", "ab", "cd"])
        }
    }

    @Test func aLargeTransactionHasLonger() async throws {
        try await Backend.run { backend in
            // What is around it in the request has less than 3,000 bytes.
            let name = String(repeating: "n", count: 40 * 4096 + 1000)
            try await backend.database.execute(sql: "INSERT INTO lists(id, name) VALUES ('a', ?)", parameters: [name])
            backend.answer { _ in LoopbackServer.Response(end: .open) }
            let connector = try backend.connector()
            async let error = failure(connector, backend)
            try await backend.clock.waitForTimer(of: .seconds(60 + 40))
            backend.clock.advance(by: .seconds(60 + 40))
            #expect(try await error?.code == .timeout)
            #expect(try await backend.waiting() == ["a"])
        }
    }

    @Test func cancellingEndsAnUpload() async throws {
        try await Backend.run { backend in
            try await backend.insert(["a"])
            backend.answer { _ in LoopbackServer.Response(end: .open) }
            let connector = try backend.connector()
            let upload = Task { try await connector.uploadData(database: backend.database) }
            try await backend.clock.waitForTimer(of: .seconds(60))
            upload.cancel()
            await #expect(throws: CancellationError.self) { try await upload.value }
            #expect(try await backend.waiting() == ["a"])
        }
    }

    @Test func theWriteCheckpointOfTheBackendCountsWhenEverythingIsApplied() async throws {
        try await Backend.run { backend in
            let connector = try backend.connector()
            let sql = "SELECT CAST(value AS TEXT) FROM ps_kv WHERE key = 'target_checkpoint_request_id'"
            try await backend.insert(["a"], ["b"])
            for target in ["\(Int64.max)", "42"] {
                backend.answer { upload in
                    var response = UploadResponse(appliedThrough: upload.entries[0].operationID)
                    response.writeCheckpoint = "42"
                    return Backend.body(response.json)
                }
                try await connector.uploadData(database: backend.database)
                #expect(try await backend.database.get(sql) { try $0.getString(index: 0) } == target)
            }
        }
    }

    @Test(arguments: ["", "api.example.com", "ftp://a/b", "http://", "https://user:pw@host/", "ht tp://x"])
    func addressesThatAreNoneAreRefused(url: String) {
        #expect(throws: PowerSyncError.self) { try HTTPBackendConnector(uploadURL: url) { nil } }
    }

    @Test(arguments: [0, 1, 2, 3])
    func impossibleOptionsAreRefused(index: Int) {
        var options = HTTPBackendOptions()
        switch index {
        case 0: options.maximumEntries = 0
        case 1: options.maximumBytes = -1
        case 2: options.timeout = .nan
        default: options.longestRetryAfter = -1
        }
        #expect(throws: PowerSyncError.self) {
            try HTTPBackendConnector(uploadURL: "https://a/", options: options) { nil }
        }
    }
}
