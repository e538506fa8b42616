import PowerSyncTesting
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// What an element of the watch does to the table.
@Suite
struct WatchElementTests {
    @Test
    func withoutDownloadsANewReferenceGetsNoRow() async throws {
        try await AttachmentRows.with { rows async throws in
            #expect(try await rows.process(["a"], at: 1, downloads: false) == WatchElementSummary())
            #expect(try await rows.all().isEmpty)
        }
    }

    @Test
    func newRowHasWhatItsItemSays() async throws {
        try await AttachmentRows.with { rows async throws in
            let item = WatchedAttachmentItem(
                id: "a",
                fileExtension: "jpg",
                filename: "docs/a.pdf",
                metaData: "m",
                mediaType: "application/pdf"
            )
            #expect(try await rows.process(items: [item], at: 7) == WatchElementSummary(inserted: 1))
            #expect(
                try await rows.all() == [
                    "a": Attachment(
                        id: "a",
                        filename: "docs/a.pdf",
                        state: .queuedDownload,
                        timestamp: 7,
                        mediaType: "application/pdf",
                        metaData: "m"
                    )
                ]
            )
        }
    }

    @Test
    func unlinkingArchivesLinkingAgainRestoresWithoutADownload() async throws {
        try await AttachmentRows.with(files: ["/files/a.jpg"]) { rows async throws in
            try await rows.insert(.row(.synced, hasSynced: true, localUri: "/files/a.jpg"))
            #expect(try await rows.process([], at: 20) == WatchElementSummary(archived: 1))
            #expect(try await rows.context.expire { _ in }.isComplete)
            #expect(try await rows.state("a") == .archived)
            #expect(try await rows.process(["a"], at: 30) == WatchElementSummary(restored: 1))
            #expect(
                try await rows.all() == ["a": .row(.synced, hasSynced: true, localUri: "/files/a.jpg", timestamp: 30)]
            )
        }
    }

    @Test
    func fileThatWaitsForItsUploadIsArchivedByTheElementAfterIt() async throws {
        try await AttachmentRows.with { rows async throws in
            let row = Attachment.row(.queuedUpload, localUri: "/files/a.jpg")
            try await rows.insert(row)
            try await rows.process([], at: 20)
            #expect(try await rows.all() == ["a": row])
            rows.time = 25
            _ = try await rows.context.commit(.uploaded, of: row)
            try await rows.process([], at: 30)
            #expect(try await rows.state("a") == .archived)
        }
    }

    @Test
    func archivedFileThatIsGoneIsDownloadedNotRestored() async throws {
        try await AttachmentRows.with { rows async throws in
            try await rows.insert(.row(.archived, hasSynced: true, localUri: "/files/a.jpg"))
            try await rows.process(["a"], at: 20)
            #expect(try await rows.all() == ["a": .row(.queuedDownload, timestamp: 20)])
        }
    }

    @Test
    func fileThatWasLostBeforeItsUploadIsLookedForInTheRemoteStorage() async throws {
        try await AttachmentRows.with { rows async throws in
            let row = Attachment.row(.queuedUpload, localUri: "/files/a.jpg")
            try await rows.insert(row)
            _ = try await rows.context.commit(.localFileMissing, of: row)
            #expect(try await rows.all() == ["a": .row(.archived, timestamp: 1000)])
            rows.time = 1100
            try await rows.process(["a"], at: 1100)
            #expect(try await rows.all() == ["a": .row(.queuedDownload, timestamp: 1100)])
        }
    }

    @Test
    func archivedFileIsFoundWhereTheDirectoryIsNow() async throws {
        try await AttachmentRows.with(files: ["/files/a.jpg"]) { rows async throws in
            try await rows.insert(.row(.archived, hasSynced: true, localUri: "/old/a.jpg"))
            try await rows.process(["a"], at: 20)
            #expect(
                try await rows.all() == ["a": .row(.synced, hasSynced: true, localUri: "/files/a.jpg", timestamp: 20)]
            )
        }
    }

    @Test
    func whenTheStorageCannotTellAnArchivedRowWaitsForTheNextElement() async throws {
        struct Broken: Error {}
        try await AttachmentRows.with(files: ["/files/a.jpg"]) { rows async throws in
            let row = Attachment.row(.archived, hasSynced: true, localUri: "/files/a.jpg")
            try await rows.insert(row)
            rows.storage.fail(.exists, with: Broken(), times: 1)
            try await rows.process(["a", "b"], at: 20)
            #expect(try await rows.all()["a"] == row)
            #expect(try await rows.state("b") == .queuedDownload)
            #expect(rows.messages(.error).count == 1)
            try await rows.process(["a", "b"], at: 21)
            #expect(try await rows.state("a") == .synced)
        }
    }

    @Test
    func idThatComesTwiceGetsOneRowWithTheFirstName() async throws {
        try await AttachmentRows.with { rows async throws in
            let items = ["1.jpg", "2.jpg", "1.jpg"].map { WatchedAttachmentItem(id: "a", filename: $0) }
            #expect(try await rows.process(items: items, at: 1) == WatchElementSummary(inserted: 1))
            #expect(try await rows.context.getAttachments().map(\.filename) == ["1.jpg"])
            #expect(rows.messages(.warning).count == 1)
        }
    }

    @Test
    func laterElementDoesNotChangeTheNameOfAFile() async throws {
        try await AttachmentRows.with { rows async throws in
            try await rows.process(items: [WatchedAttachmentItem(id: "a", filename: "1.jpg")], at: 1)
            try await rows.process(items: [WatchedAttachmentItem(id: "a", filename: "2.jpg")], at: 2)
            #expect(try await rows.context.getAttachments().map(\.filename) == ["1.jpg"])
        }
    }

    @Test(
        arguments: ["../../etc/passwd", "/etc/passwd", "a/../../b", "a\0b", String(repeating: "x", count: 300), ""]
    )
    func referenceWhoseNameMayNotBeIsSkipped(_ filename: String) async throws {
        try await AttachmentRows.with { rows async throws in
            let items = [filename, "good.jpg"].map { WatchedAttachmentItem(id: "id of " + $0, filename: $0) }
            #expect(try await rows.process(items: items, at: 1) == WatchElementSummary(inserted: 1))
            #expect(try await rows.context.getAttachmentIds() == ["id of good.jpg"])
            #expect(rows.messages(.warning).count == 1)
        }
    }

    @Test
    func idsThatOnlyLookTheSameAreDifferent() async throws {
        try await AttachmentRows.with { rows async throws in
            let ids = ["é", "e\u{301}", "A", "a", "👩‍👩‍👧", String(repeating: "i", count: 4096), "'; DROP TABLE x; --"]
            let items =
                ids.enumerated().map { WatchedAttachmentItem(id: $1, filename: "\($0).jpg") } + [
                    WatchedAttachmentItem(id: "", filename: "none.jpg")
                ]
            #expect(try await rows.process(items: items, at: 1).inserted == ids.count)
            #expect(try await rows.context.getAttachments().count == ids.count)
            #expect(try await rows.process(Array(ids.dropFirst()), at: 2).archived == 1)
            let archived = try await rows.context.getAttachments().filter { $0.state == .archived }
            #expect(archived.map { Array($0.id.utf8) } == [Array("é".utf8)])
        }
    }

    @Test
    func elementThatSaysTheSameAgainWritesNothing() async throws {
        try await AttachmentRows.with(files: ["/files/b.jpg"]) { rows async throws in
            try await rows.insert(
                .row("a", .archived, timestamp: 3),
                .row("b", .synced, localUri: "/files/b.jpg", timestamp: 4),
                .row("c", .queuedDelete, hasSynced: true, timestamp: 5)
            )
            let before = try await rows.all()
            let changes = try rows.db.watch("SELECT count(*) FROM attachments") { try $0.getInt(index: 0) }
            var results = changes.makeAsyncIterator()
            #expect(try await results.next() == [3])
            for time in Int64(100)..<110 {
                #expect(try await rows.process(["b", "c"], at: time) == WatchElementSummary())
            }
            #expect(try await rows.all() == before)
            // Any write in between would have come first.
            try await rows.process(["b", "c", "d"], at: 200)
            #expect(try await results.next() == [4])
        }
    }

    @Test
    func oldElementDoesNotArchiveWhatWasSavedAndUploadedSince() async throws {
        try await AttachmentRows.with(limit: 0, files: ["/files/a.jpg"]) { rows async throws in
            rows.time = 101
            let saved = try await rows.context.insertSaved(.row(.queuedUpload, localUri: "/files/a.jpg")) { _, _ in }
            rows.time = 102
            _ = try await rows.context.commit(.uploaded, of: saved)
            rows.time = 103
            try await rows.process([], at: 100)
            #expect(try await rows.context.expire { _ in Issue.record("a file was removed") }.isComplete)
            #expect(try await rows.state("a") == .synced)
            try await rows.process(["a"], at: 103)
            #expect(try await rows.state("a") == .synced)
        }
    }

    @Test
    func elementThatWaitedWhileADownloadWasFinishedStillArchivesItsRow() async throws {
        try await AttachmentRows.with { rows async throws in
            try await rows.process(["a"], at: 100)
            let started = try #require(try await rows.context.getAttachment(id: "a"))
            rows.time = 120
            let result = TransferOutcome.downloaded(path: "/files/a.jpg", size: 3)
            _ = try await rows.context.commit(result, of: started)
            rows.time = 130
            try await rows.process([], at: 110)
            #expect(try await rows.state("a") == .archived)
        }
    }

    @Test
    func elementThatWaitedWhileAnotherWasProcessedSeesWhatThatOneDid() async throws {
        try await AttachmentRows.with { rows async throws in
            rows.time = 120
            try await rows.process(["a"], at: 100)
            try await rows.process([], at: 110)
            #expect(try await rows.state("a") == .archived)
        }
    }

    @Test
    func nothingIsArchivedAsLongAsTheAppSaysSo() async throws {
        try await AttachmentRows.with { rows async throws in
            try await rows.insert(.row(.synced, hasSynced: true))
            #expect(try await rows.process(["b"], at: 20, archives: false) == WatchElementSummary(inserted: 1))
            #expect(try await rows.state("a") == .synced)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func fiveThousandReferences() async throws {
        try await AttachmentRows.with { rows async throws in
            let ids = (0..<5_000).map { "file-\($0)" }
            #expect(try await rows.process(ids, at: 100) == WatchElementSummary(inserted: 5_000))
            #expect(try await rows.process(ids, at: 101) == WatchElementSummary())
            #expect(try await rows.process(Array(ids.dropLast()), at: 102) == WatchElementSummary(archived: 1))
            #expect(try await rows.context.getActiveAttachments().count == 4_999)
        }
    }
}
