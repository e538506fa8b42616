import Foundation
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct UploadRejectionTests {
    private let harness = SyncHarness()

    /// A backend that rejects transactions with a row of this name, and takes one transaction a call.
    private static func rejecting(_ name: String) -> ScriptedConnector.Upload {
        { database, _ in
            guard let transaction = try await database.getNextCrudTransaction() else { return }
            if transaction.crud.contains(where: { $0.opData?["name"] == name }) {
                throw UploadRejectionError(reason: "not allowed")
            }
            try await transaction.complete()
        }
    }

    private func update(_ id: String, name: String) async throws {
        try await harness.database.execute(
            sql: "UPDATE lists SET name = ? WHERE id = ?",
            parameters: [name, id]
        )
    }

    /// `id of the row: what keeps the write aside`.
    private func rejected() async throws -> [String] {
        try await harness.database.rejectedWrites().map { "\($0.entry.id): \($0.kind)" }
    }

    @Test func rejectionIsRetriedByDefault() async throws {
        harness.connector.onUpload(Self.rejecting("bad"))
        try await harness.insert("x", name: "bad")
        try await harness.connectAndAccept().send(.checkpoint(1))
        for call in 1...2 {
            try await harness.connector.waitForUploads(call)
            try await harness.clock.waitForTimer(of: .seconds(5))
            #expect(harness.database.currentStatus.uploadError is UploadRejectionError)
            harness.clock.advance(by: .seconds(5))
        }
        #expect(try await harness.database.getUploadQueueStats().count == 1)
        #expect(try await harness.database.rejectedWrites().isEmpty)
    }

    @Test func skippedTransactionIsRecordedAndTheQueueGoesOn() async throws {
        harness.connector.onUpload(Self.rejecting("bad"))
        try await harness.insert("x", name: "bad")
        try await update("x", name: "better")
        try await harness.insert("y", name: "good")
        let stream = try await harness.connectAndAccept(ConnectOptions(uploadRejectionPolicy: .skip))
        stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
        try await harness.service.nextWriteCheckpoint().respond(7)
        try await harness.waitForActivity { $0.upload?.reason.kind == .writeCheckpoint }
        #expect(harness.connector.uploads == 3)
        #expect(try await rejected() == ["x: skipped"])
        #expect(harness.log.messages(.error).isEmpty)
        let warning = try #require(harness.log.messages(.warning).first)
        #expect(
            warning.contains("not allowed") && warning.contains("PUT lists/x") && warning.contains("rejectedWrites()")
        )
        // The server's state wins, as after any upload.
        stream.send(.checkpoint(1, [.bucket("a", count: 1)], writeCheckpoint: 7), .done)
        try await harness.wait { $0.hasSynced == true }
        #expect(try await harness.lists() == ["a1": "remote"])
    }

    @Test func rejectionIsShownUntilAPassHasNone() async throws {
        harness.connector.onUpload(Self.rejecting("bad"))
        try await harness.insert("x", name: "bad")
        try await harness.insert("y", name: "good")
        try await harness.connectAndAccept(ConnectOptions(uploadRejectionPolicy: .skip)).send(.checkpoint(1))
        try await harness.service.nextWriteCheckpoint().respond(1)
        try await harness.waitForUploadPass()
        let error = harness.database.currentStatus.uploadError as? UploadRejectionError
        #expect(error?.description.contains("not allowed") == true)
        #expect(!harness.database.currentStatus.uploading)
        try await harness.clock.waitForTimer(of: .seconds(1))
        harness.clock.advance(by: .seconds(1))
        try await harness.insert("z", name: "good")
        try await harness.service.nextWriteCheckpoint().respond(2)
        try await harness.wait { $0.lastUploadError == nil && !$0.uploading }
    }

    @Test func parkedRowKeepsWhatTheUserWroteAndItsOrder() async throws {
        harness.connector.onUpload(Self.rejecting("bad"))
        try await harness.insert("x", name: "bad")
        try await update("x", name: "better")
        try await harness.insert("y", name: "good")
        let stream = try await harness.connectAndAccept(ConnectOptions(uploadRejectionPolicy: .park))
        stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
        try await harness.service.nextWriteCheckpoint().respond(7)
        try await harness.waitForActivity { $0.upload?.reason.kind == .writeCheckpoint }
        #expect(harness.connector.uploads == 2)
        #expect(try await rejected() == ["x: parked", "x: waiting"])
        #expect(
            harness.log.messages(.warning).first?.contains(": 1 local write and 1 later one of the same rows: ") == true
        )
        stream.send(.checkpoint(1, [.bucket("a", count: 1)], writeCheckpoint: 7), .done)
        try await harness.wait { $0.hasSynced == true }
        #expect(try await harness.lists() == ["a1": "remote", "x": "better"])

        // A new write joins the parked ones: nothing to upload, only the write checkpoint of any local write.
        try await harness.clock.waitForTimer(of: .seconds(1))
        harness.clock.advance(by: .seconds(1))
        try await update("x", name: "best")
        try await harness.service.nextWriteCheckpoint().respond(8)
        #expect(harness.connector.uploads == 2)
        #expect(try await rejected() == ["x: parked", "x: waiting", "x: waiting"])

        let uploaded = UploadedNames()
        harness.connector.onUpload { database, _ in
            guard let transaction = try await database.getNextCrudTransaction() else { return }
            uploaded.append(transaction.crud.map { $0.opData?["name"] ?? nil })
            try await transaction.complete()
        }
        try await harness.clock.waitForTimer(of: .seconds(1))
        harness.clock.advance(by: .seconds(1))
        try await harness.database.restoreParkedWrites()
        try await harness.service.nextWriteCheckpoint().respond(9)
        #expect(uploaded.names == [["bad"], ["better"], ["best"]])
        #expect(try await harness.database.rejectedWrites().isEmpty)
        let accepted = SyncLine.row("a", 2, "lists", "x", #"{"name":"accepted"}"#)
        stream.send(.checkpoint(2, [.bucket("a", count: 2)], writeCheckpoint: 9), accepted, .done)
        try await harness.waitForActivity { $0.upload == nil && $0.download == nil }
        #expect(try await harness.lists() == ["a1": "remote", "x": "accepted"])
    }

    @Test func namedWritesLeaveTheOthersOfTheirTransactionInTheQueue() async throws {
        harness.connector.onUpload { database, _ in
            guard let transaction = try await database.getNextCrudTransaction() else { return }
            let refused = transaction.crud.filter { $0.opData?["name"] == "bad" }
            guard refused.isEmpty else {
                throw UploadRejectionError(refused.map { UploadRejection($0, reason: "no \($0.id)") })
            }
            try await transaction.complete()
        }
        try await harness.database.execute(
            "INSERT INTO lists (id, name) VALUES ('x', 'bad'), ('y', 'ok'), ('z', 'bad')"
        )
        try await harness.connectAndAccept(ConnectOptions(uploadRejectionPolicy: .skip)).send(.checkpoint(1))
        try await harness.service.nextWriteCheckpoint().respond(1)
        #expect(harness.connector.uploads == 2)
        #expect(try await harness.database.rejectedWrites().map(\.reason) == ["no x", "no z"])
    }

    /// The service has none to give: rows of the backend tell them.
    @Test(arguments: [UploadRejectionPolicy.skip, .park])
    func numberOfTheBackendIsAwaitedForWhatItRejects(policy: UploadRejectionPolicy) async throws {
        harness.connector.onUpload { database, _ in
            guard let transaction = try await database.getNextCrudTransaction() else { return }
            throw UploadRejectionError(
                transaction.crud.map { UploadRejection($0, reason: "no") },
                writeCheckpoint: "7"
            )
        }
        try await harness.insert("x", name: "bad")
        let stream = try await harness.connectAndAccept(ConnectOptions(uploadRejectionPolicy: policy))
        stream.send(.checkpoint(1, [.bucket("a", count: 1)], writeCheckpoint: 6), .put("a", 1...1), .done)
        try await harness.waitForActivity { $0.upload?.reason.kind == .writeCheckpoint }
        #expect(harness.database.currentStatus.uploadError is UploadRejectionError)
        #expect(try await harness.lists() == ["x": "bad"])
        stream.send(.diff(1, writeCheckpoint: 7), .done)
        try await harness.wait { $0.hasSynced == true }
        #expect(try await harness.lists() == (policy == .park ? ["a1": "remote", "x": "bad"] : ["a1": "remote"]))
    }

    /// Nothing was uploaded since the last number, so it stands for everything.
    @Test func withoutANumberTheOneOfTheLastUploadIsAwaited() async throws {
        harness.connector.onUpload { database, _ in
            guard let transaction = try await database.getNextCrudTransaction() else { return }
            if transaction.crud.contains(where: { $0.opData?["name"] == "bad" }) {
                throw UploadRejectionError(reason: "no")
            }
            try await transaction.complete(writeCheckpoint: "7")
        }
        try await harness.insert("x", name: "good")
        let stream = try await harness.connectAndAccept(ConnectOptions(uploadRejectionPolicy: .park))
        stream.send(.checkpoint(1, [.bucket("a", count: 1)], writeCheckpoint: 6), .put("a", 1...1), .done)
        try await harness.waitForActivity { $0.upload?.reason.kind == .writeCheckpoint }
        stream.send(.diff(1, writeCheckpoint: 7), .done)
        try await harness.wait { $0.hasSynced == true }

        try await harness.clock.waitForTimer(of: .seconds(1))
        harness.clock.advance(by: .seconds(1))
        try await harness.insert("y", name: "bad")
        try await harness.service.nextWriteCheckpoint().reject(status: 400)
        try await harness.waitForActivity { $0.upload?.reason.kind == .writeCheckpoint }
        #expect(harness.database.currentStatus.uploadError is UploadRejectionError)
        // What others do is shown with the next checkpoint, which has the number.
        stream.send(.diff(2, [.bucket("a", count: 2)], writeCheckpoint: 7), .put("a", 2...2), .done)
        try await harness.waitForActivity { $0.upload == nil && $0.download == nil }
        #expect(try await harness.lists() == ["a1": "remote", "a2": "remote", "y": "bad"])
    }

    @Test func withoutAnyNumberTheRefusalIsReported() async throws {
        harness.connector.onUpload { database, number in
            try await database.getNextCrudTransaction()?.complete(writeCheckpoint: number == 1 ? "7" : nil)
        }
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1, writeCheckpoint: 7), .done)
        try await harness.wait { $0.hasSynced == true }
        try await harness.clock.waitForTimer(of: .seconds(1))
        harness.clock.advance(by: .seconds(1))
        try await harness.insert("y")
        try await harness.service.nextWriteCheckpoint().reject(status: 400)
        try await harness.wait { ($0.lastUploadError as? SyncTransportError)?.httpStatus == 400 }
    }

    @Test func numberOfARejectionThatIsNoneLeavesTheWritesInTheQueue() async throws {
        harness.connector.onUpload { _, _ in throw UploadRejectionError(reason: "no", writeCheckpoint: "seven") }
        try await harness.insert("x", name: "bad")
        try await harness.connectAndAccept(ConnectOptions(uploadRejectionPolicy: .skip)).send(.checkpoint(1))
        try await harness.clock.waitForTimer(of: .seconds(5))
        #expect(harness.database.currentStatus.uploadError is UploadRejectionError)
        #expect(harness.log.messages(.error).contains { $0.contains("'seven' is not a number") })
        #expect(try await harness.database.getUploadQueueStats().count == 1)
        #expect(try await harness.database.rejectedWrites().isEmpty)
    }

    @Test(arguments: [UploadRejectionPolicy.retry, .skip, .park])
    func otherErrorsAreRetriedWithEveryPolicy(policy: UploadRejectionPolicy) async throws {
        harness.connector.onUpload { _, _ in throw ScriptedError() }
        try await harness.insert("x")
        try await harness.connectAndAccept(ConnectOptions(uploadRejectionPolicy: policy)).send(.checkpoint(1))
        try await harness.clock.waitForTimer(of: .seconds(5))
        #expect(harness.database.currentStatus.uploadError is ScriptedError)
        #expect(try await harness.database.getUploadQueueStats().count == 1)
    }

    @Test func rejectionOfWritesThatHaveLeftTheQueueIsAnErrorLikeAnyOther() async throws {
        harness.connector.onUpload { database, _ in
            guard let transaction = try await database.getNextCrudTransaction() else { return }
            try await transaction.complete()
            throw UploadRejectionError(transaction.crud.map { UploadRejection($0, reason: "too late") })
        }
        try await harness.insert("x")
        try await harness.connectAndAccept(ConnectOptions(uploadRejectionPolicy: .skip)).send(.checkpoint(1))
        try await harness.clock.waitForTimer(of: .seconds(5))
        #expect(harness.database.currentStatus.uploadError is UploadRejectionError)
        #expect(try await harness.database.rejectedWrites().isEmpty)
    }

    @Test func rejectionIsShownUntilALaterUploadSucceeds() async throws {
        harness.connector.onUpload(Self.rejecting("bad"))
        try await harness.insert("x", name: "bad")
        let stream = try await harness.connectAndAccept(ConnectOptions(uploadRejectionPolicy: .park))
        stream.send(.checkpoint(1), .done)
        try await harness.service.nextWriteCheckpoint().respond(7)
        try await harness.clock.waitForTimer(of: .seconds(1))
        // A pass that finds nothing to upload, because the app has completed the write itself.
        try await harness.insert("y", name: "good")
        try await harness.database.getNextCrudTransaction()?.complete()
        harness.clock.advance(by: .seconds(1))
        try await harness.service.nextWriteCheckpoint().respond(8)
        try await harness.clock.waitForTimer(of: .seconds(1))
        #expect(harness.connector.uploads == 1)
        #expect(harness.database.currentStatus.uploadError is UploadRejectionError)

        harness.clock.advance(by: .seconds(1))
        try await harness.insert("z", name: "good")
        try await harness.service.nextWriteCheckpoint().respond(9)
        #expect(harness.connector.uploads == 2)
        try await harness.wait { $0.lastUploadError == nil }
    }

    @Test func syncOnceTellsARejection() async throws {
        harness.connector.onUpload(Self.rejecting("bad"))
        try await harness.insert("x", name: "bad")
        let task = Task { [harness] in
            try await harness.database.syncOnce(
                connector: harness.connector,
                options: ConnectOptions(uploadRejectionPolicy: .park),
                deadline: .seconds(25)
            )
        }
        let stream = try await harness.acceptNext()
        stream.send(.checkpoint(1), .done)
        let request = try await harness.service.nextWriteCheckpoint()
        // Already now: when the answer is there, everything may be over.
        #expect(harness.database.currentStatus.uploadError is UploadRejectionError)
        request.respond(7)
        try await harness.waitForActivity { $0.upload?.reason.kind == .writeCheckpoint }
        stream.send(.checkpoint(1, writeCheckpoint: 7), .done)
        let result = try await task.value
        #expect(result.isComplete)
        #expect(result.uploadError is UploadRejectionError)
        #expect(try await harness.lists() == ["x": "bad"])
    }
}
