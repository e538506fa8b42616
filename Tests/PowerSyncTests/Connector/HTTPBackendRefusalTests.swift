import Foundation
import HTTPStackTestSupport
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import PowerSyncCoreTestSupport
import PowerSyncTesting
import PowerSyncUpload
import Testing

@testable import PowerSyncClient

/// What a connector does when its backend refuses credentials, sizes, or writes.
@Suite(.onEachHTTPStack, .timeLimit(.minutes(1))) struct HTTPBackendRefusalTests {
    private typealias Backend = ScriptedBackend

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

    // MARK: - Credentials

    @Test func refusedCredentialsAreRenewedOnce() async throws {
        try await Backend.run { backend in
            let fetches = NIOLockedValueBox(0)
            let connector = try backend.connector(credentials: {
                let number = fetches.withLockedValue { count in
                    count += 1
                    return count
                }
                return PowerSyncCredentials(endpoint: "https://sync.test", token: "t\(number)")
            })
            // The token of the sync service is the first one.
            #expect(try await connector.fetchCredentials()?.token == "t1")
            try await backend.insert(["a"], ["b"])
            backend.answer({ _ in Backend.status(.unauthorized) }, { Backend.applied($0.entries[0].operationID) })
            try await connector.uploadData(database: backend.database)
            // The new one is kept.
            backend.answer({ _ in Backend.status(.unauthorized) }, { _ in Backend.status(.unauthorized) })
            let error = try await failure(connector, backend)
            #expect(error?.code == .unauthorized && error?.httpStatus == 401)
            #expect(
                backend.requests.map { $0.header("Authorization") }
                    == ["Bearer t1", "Bearer t2", "Bearer t2", "Bearer t3"]
            )
            #expect(try await backend.waiting() == ["b"])
        }
    }

    @Test func aBackendMayHaveTokensOfItsOwn() async throws {
        try await Backend.run { backend in
            let connector = try backend.connector(
                authorization: { refused in refused.map { "after \($0)" } ?? "Basic first" },
                credentials: { nil }
            )
            try await backend.insert(["a"])
            backend.answer { _ in Backend.status(.unauthorized) }
            try await connector.uploadData(database: backend.database)
            #expect(backend.requests.map { $0.header("Authorization") } == ["Basic first", "after Basic first"])
        }
    }

    @Test
    func eachConnectionAsksForTheAuthorizationAgainAnotherUserMayHaveSignedIn() async throws {
        try await Backend.run { backend in
            let user = NIOLockedValueBox("Basic A")
            let connector = try backend.connector(authorization: { _ in user.withLockedValue { $0 } })
            for name in ["A", "B"] {
                user.withLockedValue { $0 = "Basic \(name)" }
                // As each connection does, before it uploads.
                _ = try await connector.fetchCredentials()
                try await backend.insert(["\(name)1"])
                try await connector.uploadData(database: backend.database)
                // Kept while the connection lasts.
                user.withLockedValue { $0 = "Basic nobody" }
                try await backend.insert(["\(name)2"])
                try await connector.uploadData(database: backend.database)
            }
            #expect(
                backend.requests.map { $0.header("Authorization") } == ["Basic A", "Basic A", "Basic B", "Basic B"]
            )
        }
    }

    @Test
    func authorizationThatComesWhenTheNextConnectionHasBegunIsNotKept() async throws {
        try await Backend.run { backend in
            let asked = NIOLockedValueBox(0)
            let next = NIOLockedValueBox<HTTPBackendConnector?>(nil)
            let connector = try backend.connector(authorization: { _ in
                let number = asked.withLockedValue { count in
                    count += 1
                    return count
                }
                if number == 1 { _ = try await next.withLockedValue { $0 }?.fetchCredentials() }
                return "Basic \(number)"
            })
            next.withLockedValue { $0 = connector }
            for id in ["a", "b", "c"] {
                try await backend.insert([id])
                try await connector.uploadData(database: backend.database)
            }
            #expect(backend.requests.map { $0.header("Authorization") } == ["Basic 1", "Basic 2", "Basic 2"])
            next.withLockedValue { $0 = nil }
        }
    }

    @Test func nobodyIsSignedIn() async throws {
        try await Backend.run { backend in
            try await backend.insert(["a"])
            let connector = try backend.connector(credentials: { nil })
            #expect(try await failure(connector, backend)?.code == .unauthorized)
            #expect(backend.requests.isEmpty)
        }
    }

    // MARK: - Sizes

    @Test func lessIsSentToABackendThatTakesLess() async throws {
        try await Backend.run { backend in
            let connector = try backend.connector()
            try await backend.insert(["a"], ["b"], ["c"], ["d"], ["e", "f", "g"])
            let limit: Backend.Answer = { upload in
                upload.entries.count > 2
                    ? Backend.status(.payloadTooLarge) : Backend.applied(upload.entries.last?.operationID)
            }
            backend.answer(limit, limit, limit, limit, limit, limit)
            try await connector.uploadData(database: backend.database)
            #expect(backend.uploads.map(\.entries.count) == [7, 3, 1])
            for _ in 0..<2 { try await connector.uploadData(database: backend.database) }
            // What was accepted lets the next one be larger.
            #expect(backend.uploads.map(\.entries.count) == [7, 3, 1, 2, 4, 1])
            // A transaction is not divided: it is rejected, which the app's policy decides about.
            let error = await #expect(throws: UploadRejectionError.self) {
                backend.answer(limit)
                try await connector.uploadData(database: backend.database)
            }
            #expect(error?.description.contains("413") == true && error?.description.contains("3 writes") == true)
            #expect(try await backend.waiting() == ["e", "f", "g"])
        }
    }

    @Test func moreIsSentAgainWhenTheBackendTakesIt() async throws {
        try await Backend.run { backend in
            let connector = try backend.connector()
            try await backend.insert(["large"], ["b"])
            backend.answer { _ in Backend.status(.payloadTooLarge) }
            try await connector.uploadData(database: backend.database)
            #expect(backend.uploads.map(\.entries.count) == [2, 1])
            try await backend.insert(["c"], ["d"], ["e"], ["f"], ["g"], ["h"], ["i"], ["j"])
            for _ in 0..<3 { try await connector.uploadData(database: backend.database) }
            #expect(backend.uploads.map(\.entries.count) == [2, 1, 2, 4, 3])
            #expect(try await backend.waiting().isEmpty)
        }
    }

    /// A backend that has not got a request in time gets less, down to one transaction, which is not rejected.
    @Test
    func aRequestThatDidNotArriveInTimeIsSentInParts() async throws {
        try await Backend.run { backend in
            let connector = try backend.connector()
            try await backend.insert(["a"], ["b", "c"])
            let late: Backend.Answer = { _ in Backend.status(.requestTimeout) }
            backend.answer(late, late)
            for _ in 0..<2 { #expect(try await failure(connector, backend)?.httpStatus == 408) }
            for _ in 0..<2 { try await connector.uploadData(database: backend.database) }
            #expect(backend.uploads.map(\.entries.count) == [3, 1, 1, 2])
        }
    }

    @Test func aSingleTransactionThatDidNotArriveInTimeSaysNothingAboutMore() async throws {
        try await Backend.run { backend in
            let connector = try backend.connector()
            try await backend.insert(["a"])
            backend.answer { _ in Backend.status(.requestTimeout) }
            #expect(try await failure(connector, backend)?.httpStatus == 408)
            try await backend.insert(["b"], ["c"])
            try await connector.uploadData(database: backend.database)
            #expect(backend.uploads.map(\.entries.count) == [1, 3])
        }
    }

    // MARK: - Times

    @Test(
        arguments: [
            "30", "Sat, 01 Nov 2025 00:00:30 GMT", "Saturday, 01-Nov-25 00:00:30 GMT", "Sat Nov  1 00:00:30 2025",
        ]
    )
    func aBackendIsLeftAloneAsLongAsItSays(retryAfter: String) async throws {
        try await Backend.run { backend in
            try await backend.insert(["a"])
            let connector = try backend.connector(now: { Date(timeIntervalSince1970: 1_761_955_200) })
            backend.answer { _ in Backend.status(.serviceUnavailable, ["Retry-After": retryAfter]) }
            #expect(try await failure(connector, backend)?.retryAfter == 30)
            async let upload: Void = connector.uploadData(database: backend.database)
            try await backend.clock.waitForTimer(of: .seconds(30))
            #expect(backend.requests.count == 1)
            backend.clock.advance(by: .seconds(30))
            try await upload
            #expect(try await backend.waiting().isEmpty)
        }
    }

    @Test(arguments: ["4000000000", "Fri, 01 Nov 2199 00:00:00 GMT"])
    func noAnswerStopsUploadsForLong(retryAfter: String) async throws {
        try await Backend.run { backend in
            try await backend.insert(["a"])
            let connector = try backend.connector()
            backend.answer { _ in Backend.status(.tooManyRequests, ["Retry-After": retryAfter]) }
            #expect(try await failure(connector, backend)?.httpStatus == 429)
            async let upload: Void = connector.uploadData(database: backend.database)
            try await backend.clock.waitForTimer(of: .seconds(600))
            backend.clock.advance(by: .seconds(600))
            try await upload
        }
    }

    @Test(arguments: ["", "soon", "-5", "1.5"])
    func aTimeThatIsNoneIsIgnored(retryAfter: String) async throws {
        try await Backend.run { backend in
            try await backend.insert(["a"])
            let connector = try backend.connector()
            backend.answer { _ in Backend.status(.serviceUnavailable, ["Retry-After": retryAfter]) }
            let error = try await failure(connector, backend)
            #expect(error?.httpStatus == 503 && error?.retryAfter == nil)
            try await connector.uploadData(database: backend.database)
            #expect(try await backend.waiting().isEmpty)
        }
    }

    // MARK: - Writes

    @Test func rejectedWritesAreNamedAndWhatIsBeforeThemLeavesTheQueue() async throws {
        try await Backend.run { backend in
            let connector = try backend.connector()
            try await backend.insert(["a"], ["b", "c"], ["d"])
            backend.answer { upload in
                Backend.applied(
                    upload.entries[0].operationID,
                    rejecting: [
                        EntryRejection(operationID: upload.entries[1].operationID, .transactionRejected, message: ""),
                        EntryRejection(operationID: upload.entries[2].operationID, .forbidden, message: "Not yours."),
                    ],
                    writeCheckpoint: "17"
                )
            }
            let error = await #expect(throws: UploadRejectionError.self) {
                try await connector.uploadData(database: backend.database)
            }
            #expect(error?.rejections.map(\.entry.id) == ["b", "c"])
            #expect(error?.writeCheckpoint == "17")
            #expect(error?.rejections.map(\.reason) == ["transaction_rejected (424)", "Not yours."])
            #expect(try await backend.waiting() == ["b", "c", "d"])
        }
    }

    /// Nothing leaves the queue behind a write that stays in it, whatever the backend says of later ones.
    @Test
    func aRejectionInsideOfWhatWasAppliedComesFirst() async throws {
        try await Backend.run { backend in
            let connector = try backend.connector()
            try await backend.insert(["a"], ["b"], ["c"])
            backend.answer { upload in
                Backend.applied(
                    upload.entries[2].operationID,
                    rejecting: [EntryRejection(operationID: upload.entries[1].operationID, .constraint, message: "no")]
                )
            }
            await #expect(throws: UploadRejectionError.self) {
                try await connector.uploadData(database: backend.database)
            }
            #expect(try await backend.waiting() == ["b", "c"])
        }
    }

    @Test(arguments: [429, 500, 503])
    func aWriteThatIsWantedLaterIsSentAgain(status: Int) async throws {
        try await Backend.run { backend in
            let connector = try backend.connector()
            try await backend.insert(["a"], ["b"])
            backend.answer { upload in
                Backend.applied(
                    upload.entries[0].operationID,
                    rejecting: [
                        EntryRejection(
                            operationID: upload.entries[1].operationID,
                            .constraint,
                            status: status,
                            message: "locked"
                        )
                    ]
                )
            }
            let error = try await failure(connector, backend)
            #expect(error?.code == .later && error?.description.contains("locked") == true)
            #expect(try await backend.waiting() == ["b"])
            try await connector.uploadData(database: backend.database)
            #expect(try await backend.waiting().isEmpty)
        }
    }

    @Test func damagedWritesAreRejectedWithoutTheBackend() async throws {
        try await Backend.run { backend in
            let connector = try backend.connector()
            try await backend.insert(["a"])
            try await backend.database.execute("INSERT INTO ps_crud(tx_id, data) VALUES (77, 'damaged')")
            try await backend.insert(["b"])
            try await connector.uploadData(database: backend.database)
            #expect(backend.uploads.map { $0.entries.map(\.id) } == [["a"]])
            let error = await #expect(throws: UploadRejectionError.self) {
                try await connector.uploadData(database: backend.database)
            }
            #expect(error?.rejections.count == 1)
            #expect(backend.requests.count == 1)
        }
    }

    @Test(
        arguments: [UploadRejectionPolicy.skip, .park]
    )
    func withAPolicyTheQueueGoesOnBehindWhatTheBackendRejects(policy: UploadRejectionPolicy) async throws {
        let harness = SyncHarness()
        try await LoopbackServer.run { request in
            guard let upload = try? UploadRequest(json: request.body) else { return Backend.status(.badRequest) }
            let applied = upload.transactions.prefix { !$0.contains { $0.id == "bad" } }
            let rejected = upload.transactions.dropFirst(applied.count).first ?? []
            return Backend.applied(
                applied.last?.last?.operationID,
                rejecting: rejected.map { EntryRejection(operationID: $0.operationID, .forbidden, message: "no") }
            )
        } _: { server in
            let connector = try HTTPBackendConnector(uploadURL: server.url) {
                PowerSyncCredentials(endpoint: "https://sync.test", token: "t")
            }
            for id in ["a", "bad", "c"] { try await harness.insert(id) }
            try await harness.database.connect(
                connector: connector,
                options: ConnectOptions(uploadRejectionPolicy: policy)
            )
            let stream = try await harness.acceptNext()
            stream.send(.checkpoint(1))
            try await harness.service.nextWriteCheckpoint().respond(1)
            try await harness.waitForUploadPass()
            let rejected = try await harness.database.rejectedWrites()
            #expect(rejected.map(\.entry.id) == ["bad"] && rejected.map(\.reason) == ["no"])
            #expect(try await harness.database.getUploadQueueStats().count == 0)
            try await harness.database.close()
        }
    }
}
