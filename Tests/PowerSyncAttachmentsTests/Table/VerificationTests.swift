import Foundation
import PowerSyncTesting
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// Rows compared with what is on the disk.
@Suite(.timeLimit(.minutes(1)))
struct VerificationTests {
    @Test
    func wrongPathIsCorrectedWhateverTheTimestampIs() async throws {
        try await AttachmentRows.with(files: ["/files/a.jpg"]) { rows async throws in
            try await rows.db.execute(
                """
                INSERT INTO attachments (id, timestamp, state, filename, has_synced, local_uri, meta_data)
                VALUES ('a', '2026-01-01', 3, 'a.jpg', 1, '/wrong/a.jpg', '')
                """
            )
            try await rows.verify()
            let row = try #require(try await rows.context.getAttachment(id: "a"))
            #expect(row.localUri == "/files/a.jpg" && row.state == .synced && row.hasSynced == true)
            #expect(row.metaData == "")
        }
    }

    @Test
    func lostFileIsDownloadedAgain() async throws {
        try await AttachmentRows.with { rows async throws in
            try await rows.insert(.row(.synced, hasSynced: true, localUri: "/files/a.jpg"))
            try await rows.verify()
            #expect(try await rows.all() == ["a": .row(.queuedDownload)])
        }
    }

    @Test
    func withoutDownloadsALostFileLeavesItsRowSyncedWithoutAPath() async throws {
        try await AttachmentRows.with { rows async throws in
            try await rows.insert(.row(.synced, hasSynced: true, localUri: "/files/a.jpg"))
            try await rows.verify(downloads: false)
            #expect(try await rows.all() == ["a": .row(.synced, hasSynced: true)])
        }
    }

    @Test
    func fileThatWasLostBeforeItsUploadIsToldAndArchived() async throws {
        try await AttachmentRows.with { rows async throws in
            try await rows.insert(.row(.queuedUpload, localUri: "/files/a.jpg"))
            try await rows.verify()
            #expect(try await rows.all() == ["a": .row(.archived, timestamp: 1000)])
            #expect(rows.messages(.error).count == 1)
        }
    }

    @Test
    func fileThatIsToBeDeletedMayBeGone() async throws {
        try await AttachmentRows.with { rows async throws in
            try await rows.insert(.row(.queuedDelete, localUri: "/files/a.jpg"))
            try await rows.verify()
            #expect(try await rows.all() == ["a": .row(.queuedDelete)])
            #expect(try await rows.context.getActiveAttachments().map(\.id) == ["a"])
        }
    }

    @Test
    func pathsFollowADirectoryThatWasMoved() async throws {
        let ids = AttachmentState.allCases.map { "\($0)" }
        try await AttachmentRows.with(files: ids.map { "/files/\($0).jpg" }) { rows async throws in
            for state in AttachmentState.allCases {
                try await rows.insert(.row("\(state)", state, hasSynced: true, localUri: "/old/\(state).jpg"))
            }
            let before = try await rows.all()
            try await rows.verify()
            #expect(try await rows.all() == before.mapValues { $0.with(localUri: "/files/\($0.filename)") })
            try await rows.process(ids, at: 20)
            #expect(try await rows.state("archived") == .synced)
        }
    }

    /// Paths follow a directory that was moved, also when the storage will not hear of the old one.
    @Test(
        arguments: [
            PowerSyncAttachmentError.invalidPath("/old"), PowerSyncAttachmentError.ioError(POSIXError(.EACCES)),
            CancellationError(),
        ] as [any Error]
    )
    func refusedDirectory(error: any Error) async throws {
        let ids = AttachmentState.allCases.map { "\($0)" }
        try await AttachmentRows.with(files: ids.map { "/files/\($0).jpg" }) { rows async throws in
            for state in AttachmentState.allCases {
                try await rows.insert(.row("\(state)", state, hasSynced: true, localUri: "/old/\(state).jpg"))
                rows.storage.fail(.exists, path: "/old/\(state).jpg", with: error)
            }
            let before = try await rows.all()
            try await rows.verify()
            #expect(try await rows.all() == before.mapValues { $0.with(localUri: "/files/\($0.filename)") })
        }
    }

    @Test
    func fileAtAPathThatTheStorageRefusesIsLostWhenItIsNowhereElse() async throws {
        try await AttachmentRows.with { rows async throws in
            try await rows.insert(.row(.synced, hasSynced: true, localUri: "/old/a.jpg"))
            rows.storage.fail(.exists, path: "/old/a.jpg", with: PowerSyncAttachmentError.invalidPath("/old/a.jpg"))
            try await rows.verify()
            #expect(try await rows.all() == ["a": .row(.queuedDownload)])
        }
    }

    @Test
    func secondRunChangesNothing() async throws {
        try await AttachmentRows.with(files: ["/files/b.jpg"]) { rows async throws in
            try await rows.insert(
                .row("a", .queuedUpload, localUri: "/files/a.jpg"),
                .row("b", .synced, hasSynced: true, localUri: "/old/b.jpg"),
                .row("c", .synced, hasSynced: true, localUri: "/old/c.jpg"),
                .row("d", .archived, hasSynced: true, localUri: "/old/d.jpg")
            )
            try await rows.verify()
            let first = try await rows.all()
            rows.time = 2000
            try await rows.verify()
            #expect(try await rows.all() == first)
        }
    }

    @Test
    func fileThatTheStorageCannotTellAnythingAboutLeavesItsRowAlone() async throws {
        struct Broken: Error {}
        try await AttachmentRows.with { rows async throws in
            try await rows.insert(
                .row("a", .synced, hasSynced: true, localUri: "/files/a.jpg"),
                .row("b", .synced, hasSynced: true, localUri: "/files/b.jpg")
            )
            rows.storage.fail(.exists, path: "/files/a.jpg", with: Broken())
            rows.storage.fail(.exists, path: "/files/b.jpg", with: CancellationError(), times: 1)
            try await rows.verify()
            #expect(try await rows.all().values.allSatisfy { $0.state == .synced && $0.localUri != nil })
            #expect(rows.messages(.error).count == 2)
        }
    }

    @Test(
        arguments: ["../secret", "/secret", "a/../../secret"]
    )
    func nameThatLeadsOutOfTheDirectoryTakesNothingOver(_ filename: String) async throws {
        try await AttachmentRows.with(files: ["/secret", "/files/../secret"]) { rows async throws in
            let row = Attachment(id: "a", filename: filename, state: .queuedUpload)
            try await rows.insert(row)
            try await rows.verify()
            #expect(try await rows.all() == ["a": row])
            #expect(rows.messages(.error).count == 1)
        }
    }

    @Test(arguments: ["/files/photo.jpg", "/files/Photo.jpg"])
    func noRowTakesOverTheFileOfAnother(path: String) async throws {
        try await AttachmentRows.with(files: ["/files/photo.jpg", "/files/Photo.jpg"]) { rows async throws in
            try await rows.insert(
                Attachment(id: "1", filename: "photo.jpg", state: .synced, hasSynced: true, localUri: path),
                Attachment(id: "2", filename: "photo.jpg", state: .synced, hasSynced: true, localUri: "/old/photo.jpg")
            )
            try await rows.verify()
            #expect(try await rows.context.getAttachment(id: "1")?.localUri == path)
            #expect(try await rows.state("2") == .queuedDownload)
        }
    }

    @Test
    func rowThatChangesWhileFilesAreLookedForIsLeftToTheNextRun() async throws {
        try await AttachmentRows.with(files: ["/files/b.jpg"]) { rows async throws in
            try await rows.insert(
                .row("a", .synced, hasSynced: true, localUri: "/old/a.jpg"),
                .row("b", .synced, hasSynced: true, localUri: "/old/b.jpg")
            )
            let gate = rows.storage.hold(.exists, path: "/files/b.jpg")
            async let verification: Void = rows.verify()
            try await rows.storage.waitForCalls(4, of: .exists)
            try await rows.db.execute("UPDATE attachments SET local_uri = '/new/a.jpg' WHERE id = 'a'")
            gate.open()
            try await verification
            #expect(try await rows.context.getAttachment(id: "a")?.localUri == "/new/a.jpg")
            #expect(try await rows.state("a") == .synced)
            #expect(try await rows.context.getAttachment(id: "b")?.localUri == "/files/b.jpg")
        }
    }

    @Test
    func closedDatabaseIsAnErrorOfTheWholeVerification() async throws {
        try await AttachmentRows.with { rows async throws in
            try await rows.db.close()
            await #expect(throws: PowerSyncError.self) { try await rows.verify() }
        }
    }
}
