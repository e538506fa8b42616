import Foundation
import NIOConcurrencyHelpers
import PowerSyncTesting
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1)))
struct QueueFailureTests {
    private struct Offline: Error {}

    @Test
    func handlerThatSaysNoArchivesAFailingDownloadAndIsAskedOnce() async throws {
        let handler = ScriptedErrorHandler { _ in false }
        try await QueueHarness.run(.test { $0.errorHandler = handler }) { harness, queue in
            try await queue.startSync()
            try await harness.link("a")
            try await handler.waitForQuestions(1)
            let row = try #require(try await harness.wait(for: "a", .archived))
            #expect(row.localUri == nil)
            #expect(handler.questions == [.init(direction: .download, id: "a", state: .queuedDownload)])
        }
    }

    @Test
    func failuresAreRepeatedAfterWaitsThatDoubleUntilOneAttemptIsSuccessful() async throws {
        try await QueueHarness.run(remote: ["a.jpg": "abc"]) { harness, queue in
            harness.remote.fail(.download, with: Offline(), times: 3)
            try await queue.startSync()
            try await harness.link("a")
            for (attempt, wait) in [1, 2, 4].enumerated() {
                try await harness.clock.waitForTimer(of: .seconds(wait))
                #expect(harness.remote.calls.count == attempt + 1)
                harness.clock.advance(by: .seconds(wait))
            }
            try await harness.wait(for: "a", .synced)
            #expect(harness.remote.calls.count == 4)
            let warnings = harness.log.messages(.warning)
            for wait in [1, 2, 4] { #expect(warnings.contains { $0.contains("trying again in \(wait).0 seconds") }) }
        }
    }

    @Test(arguments: [86_400, -86_400])
    func wallClockThatJumpsNeitherEndsAWaitNorMakesItLonger(seconds: TimeInterval) async throws {
        try await QueueHarness.run(remote: ["a.jpg": "abc", "b.jpg": "abc"]) { harness, queue in
            harness.remote.fail(.download, with: Offline(), times: 1)
            try await queue.startSync()
            try await harness.link("a")
            try await harness.clock.waitForTimer(of: .seconds(1))
            harness.date.withLockedValue { $0.addTimeInterval(seconds) }
            try await harness.link("b")
            try await harness.wait(for: "b", .synced)
            #expect(harness.remote.calls.filter { $0.id == "a" }.count == 1)
            harness.clock.advance(by: .seconds(1))
            try await harness.wait(for: "a", .synced)
            #expect(harness.remote.calls.filter { $0.id == "a" }.count == 2)
        }
    }

    @Test
    func fileThatWaitsForItsUploadIsNotLostWhileItsVolumeIsAway() async throws {
        let handler = ScriptedErrorHandler { _ in true }
        try await QueueHarness.run(.test { $0.errorHandler = handler }) { harness, queue in
            let path = harness.path("a.jpg")
            try await queue.startSync()
            harness.local.fail(.makeDirectory, with: PowerSyncAttachmentError.ioError(POSIXError(.ENOENT)))
            try await harness.insert(Attachment(id: "a", filename: "a.jpg", state: .queuedUpload, localUri: path))
            try await harness.clock.waitForTimer(of: .seconds(1))
            #expect(try await harness.rows()["a"]?.state == .queuedUpload)

            harness.local.stopFailing()
            harness.local[path] = Data("abc".utf8)
            harness.clock.advance(by: .seconds(1))
            try await harness.wait(for: "a", .synced)
            #expect(harness.remote.calls.map(\.id) == ["a"])
        }
    }

    @Test
    func downloadDoesNotTakeThePlaceOfAFileThatWaitsForItsUploadAndIsAway() async throws {
        try await QueueHarness.run(remote: ["a.jpg": "theirs"]) { harness, queue in
            let path = harness.path("a.jpg")
            harness.remote.fail(.upload, with: Offline())
            harness.local[path] = Data("ours".utf8)
            try await queue.startSync()
            try await harness.insert(Attachment(id: "b", filename: "a.jpg", state: .queuedUpload, localUri: path))
            try await harness.clock.waitForTimer(of: .seconds(1))
            harness.local[path] = nil
            try await harness.link(["a", "b"])
            try await harness.log.wait(for: .warning, containing: "which is not uploaded yet, has its file at \(path)")
            #expect(harness.local[path] == nil)
            #expect(try await harness.rows()["a"]?.state == .queuedDownload)
        }
    }

    @Test
    func manualTriggerEndsAllWaits() async throws {
        try await QueueHarness.run(remote: ["a.jpg": "abc"]) { harness, queue in
            harness.remote.fail(.download, with: Offline(), times: 1)
            try await queue.startSync()
            try await harness.link("a")
            try await harness.clock.waitForTimer(of: .seconds(1))
            try await queue.triggerSync()
            try await harness.wait(for: "a", .synced)
        }
    }

    @Test
    func queueTriesAgainAsSoonAsTheDatabaseIsConnected() async throws {
        let service = ScriptedTransport()
        let harness = QueueHarness(
            remote: InMemoryRemoteStorage(files: ["a.jpg": Data("abc".utf8)]),
            service: service
        )
        let queue = harness.makeQueue()
        harness.remote.fail(.download, with: Offline(), times: 1)
        try await queue.startSync()
        try await harness.link("a")
        try await harness.clock.waitForTimer(of: .seconds(1))
        try await harness.database.connect(connector: IdleConnector(), options: nil)
        try await service.nextStream().accept()
        try await harness.wait(for: "a", .synced)
        try await queue.close()
        try await harness.database.close()
    }

    @Test
    func whatWasGivenUpAndIsStillReferencedIsTriedOncePerInterval() async throws {
        let handler = ScriptedErrorHandler { _ in false }
        try await QueueHarness.run(.test { $0.errorHandler = handler }) { harness, queue in
            try await queue.startSync()
            try await harness.link("a")
            try await harness.wait(for: "a", .archived)
            try await harness.link("b")
            try await harness.wait(for: "a", .queuedDownload)
            try await handler.waitForQuestions(2)
            #expect(harness.remote.calls.map(\.id) == ["a", "b"])
            harness.clock.advance(by: .seconds(30))
            try await handler.waitForQuestions(3)
            #expect(harness.remote.calls.map(\.id) == ["a", "b", "a"])
        }
    }

    @Test
    func deletingWhatTheRemoteStorageDoesNotHaveIsASuccess() async throws {
        let handler = ScriptedErrorHandler { _ in false }
        try await QueueHarness.run(.test { $0.errorHandler = handler }) { harness, queue in
            harness.local[harness.path("a.jpg")] = Data("abc".utf8)
            try await harness.insert(
                Attachment(id: "a", filename: "a.jpg", state: .queuedDelete, localUri: harness.path("a.jpg"))
            )
            try await queue.startSync()
            try await harness.waitForRows { $0.isEmpty }
            #expect(harness.local.files.isEmpty)
            #expect(handler.questions.isEmpty)
        }
    }

    @Test
    func uploadingWhatTheRemoteStorageHasAlreadyIsASuccess() async throws {
        try await QueueHarness.run { harness, queue in
            harness.remote.fail(.upload, with: AttachmentStorageError.alreadyExists)
            try await queue.startSync()
            let saved = try await queue.saveFile(data: Data("a".utf8), mediaType: "image/jpeg", fileExtension: "jpg") {
                try $0.execute(sql: "INSERT INTO users (id, photo_id) VALUES (uuid(), ?)", parameters: [$1.id])
            }
            try await harness.wait(for: saved.id, .synced)
        }
    }

    @Test
    func oneOf100DownloadsFailsAndTheOthersAreSynced() async throws {
        let ids = (0..<100).map { "file\($0)" }
        let files = Dictionary(uniqueKeysWithValues: ids.map { ("\($0).jpg", $0) })
        try await QueueHarness.run(remote: files, .test { $0.maxConcurrentTransfers = 4 }) { harness, queue in
            harness.remote.fail(.download, id: "file50", with: Offline())
            try await queue.startSync()
            try await harness.link(ids)
            let rows = try await harness.waitForRows { $0.values.count { $0.state == .synced } == 99 }
            #expect(rows["file50"]?.state == .queuedDownload)
            #expect(harness.remote.calls.count { $0.id == "file50" } == 1)
            #expect(harness.remote.mostConcurrentCalls <= 4)
        }
    }

    @Test
    func uploadThatWasGivenUpKeepsItsFileAndIsQueuedAgainWhileItIsReferenced() async throws {
        let handler = ScriptedErrorHandler { _ in false }
        try await QueueHarness.run(.test { $0.errorHandler = handler }) { harness, queue in
            harness.remote.fail(.upload, with: Offline(), times: 1)
            try await queue.startSync()
            let saved = try await queue.saveFile(data: Data("a".utf8), mediaType: "image/jpeg", fileExtension: "jpg")
            let row = try #require(try await harness.wait(for: saved.id, .archived))
            #expect(row.localUri == harness.path(saved.filename))
            try await harness.link(saved.id)
            try await harness.wait(for: saved.id, .queuedUpload)
            #expect(harness.remote.calls.count == 1)
            harness.clock.advance(by: .seconds(30))
            try await harness.wait(for: saved.id, .synced)
        }
    }

    @Test
    func defaultHandlerArchivesAfterAnyError() async throws {
        try await QueueHarness.run(.test { $0.errorHandler = DefaultSyncErrorHandler() }) { harness, queue in
            harness.remote.fail(.download, with: URLError(.notConnectedToInternet))
            try await queue.startSync()
            try await harness.link("a")
            try await harness.wait(for: "a", .archived)
        }
    }

    @Test
    func adaptersOwnCancellationIsAFailureThatIsRepeatedAndNoQuestionToTheHandler()
        async throws
    {
        let handler = ScriptedErrorHandler { _ in false }
        try await QueueHarness.run(remote: ["a.jpg": "abc"], .test { $0.errorHandler = handler }) { harness, queue in
            harness.remote.fail(.download, with: CancellationError(), times: 1)
            try await queue.startSync()
            try await harness.link("a")
            try await harness.clock.waitForTimer(of: .seconds(1))
            harness.clock.advance(by: .seconds(1))
            try await harness.wait(for: "a", .synced)
            #expect(handler.questions.isEmpty)
        }
    }

    @Test
    func fullDiskLetsSavingFailAndLeavesNothing() async throws {
        try await QueueHarness.run { harness, queue in
            harness.local.fail(.save, with: PowerSyncAttachmentError.ioError(POSIXError(.ENOSPC)))
            await #expect(throws: PowerSyncAttachmentError.self) {
                try await queue.saveFile(data: Data("a".utf8), mediaType: "image/jpeg", fileExtension: "jpg")
            }
            #expect(harness.local.files.isEmpty)
            let rows = try await harness.rows()
            #expect(rows.isEmpty)
        }
    }

    @Test
    func diskThatCannotBeWrittenDelaysItsDownloadAndNoOther() async throws {
        try await QueueHarness.run(remote: ["a.jpg": "a", "b.jpg": "b"]) { harness, queue in
            let temporary = AttachmentPath.downloadPath(for: harness.path("a.jpg"))
            harness.local.fail(
                .save,
                path: temporary,
                with: PowerSyncAttachmentError.ioError(POSIXError(.ENOSPC)),
                times: 1
            )
            try await queue.startSync()
            try await harness.link(["a", "b"])
            try await harness.wait(for: "b", .synced)
            try await harness.clock.waitForTimer(of: .seconds(1))
            #expect(harness.local.files.keys.sorted() == [harness.path("b.jpg")])
            harness.clock.advance(by: .seconds(1))
            try await harness.wait(for: "a", .synced)
        }
    }

    @Test
    func uploadWhoseFileIsGoneIsArchivedAndTheHandlerIsTold() async throws {
        let handler = ScriptedErrorHandler {
            if case PowerSyncAttachmentError.fileNotFound = $0 { return true }
            return false
        }
        try await QueueHarness.run(.test { $0.errorHandler = handler }) { harness, queue in
            // Verification would archive the row without asking.
            try await queue.waitForInit()
            try await queue.startSync()
            try await harness.insert(
                Attachment(id: "a", filename: "a.jpg", state: .queuedUpload, localUri: harness.path("a.jpg"))
            )
            let row = try #require(try await harness.wait(for: "a", .archived))
            #expect(row.localUri == nil)
            try await handler.waitForQuestions(1)
            #expect(harness.remote.calls.isEmpty)
        }
    }
}

/// Has credentials, and nothing to upload.
private struct IdleConnector: PowerSyncBackendConnectorProtocol {
    func fetchCredentials() async throws -> PowerSyncCredentials? {
        PowerSyncCredentials(endpoint: "https://example.com", token: "token")
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {}
}
