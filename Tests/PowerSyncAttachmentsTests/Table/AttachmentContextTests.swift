import PowerSyncTesting
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

@Suite
struct AttachmentContextTests {
    @Test
    func savedRowHasAllItsValuesAndThePresentTime() async throws {
        try await AttachmentRows.with { rows async throws in
            rows.time = 77
            let row = Attachment.row(.synced, hasSynced: true, localUri: "/files/a.jpg", timestamp: 1)
            #expect(try await rows.context.saveAttachment(attachment: row) == row)
            #expect(try await rows.all() == ["a": row.with(timestamp: 77)])

            rows.time = 78
            try await rows.context.saveAttachments(attachments: [row.with(state: .archived), .row("b", .queuedUpload)])
            #expect(
                try await rows.all() == [
                    "a": row.with(state: .archived, timestamp: 78), "b": .row("b", .queuedUpload, timestamp: 78),
                ]
            )
            try await rows.context.saveAttachments(attachments: [])
        }
    }

    @Test
    func rowsComeOldestFirstActiveOnesByThemselves() async throws {
        try await AttachmentRows.with { rows async throws in
            try await rows.insert(
                .row("e", .queuedDelete, timestamp: 5),
                .row("d", .archived, timestamp: 4),
                .row("c", .synced, timestamp: 3),
                .row("b", .queuedUpload, timestamp: 2),
                .row("a2", .queuedDownload, timestamp: 1),
                .row("a1", .queuedDownload, timestamp: 1)
            )
            #expect(try await rows.context.getAttachments().map(\.id) == ["a1", "a2", "b", "c", "d", "e"])
            #expect(try await rows.context.getActiveAttachments().map(\.id) == ["a1", "a2", "b", "e"])
            #expect(try await Set(rows.context.getAttachmentIds()) == ["a1", "a2", "b", "c", "d", "e"])
        }
    }

    @Test
    func rowsAreIgnoredRemovedAndCleared() async throws {
        try await AttachmentRows.with(files: ["/files/a.jpg"]) { rows async throws in
            try await rows.insert(
                .row("a", .queuedUpload, localUri: "/files/a.jpg"),
                .row("b", .synced),
                .row("c", .synced)
            )
            try await rows.context.ignoreAttachment(id: "a")
            try await rows.context.ignoreAttachment(id: "unknown")
            #expect(
                try await rows.context.getAttachment(id: "a")
                    == .row("a", .archived, localUri: "/files/a.jpg", timestamp: 1000)
            )
            try await rows.context.deleteAttachment(id: "b")
            try await rows.context.deleteAttachment(id: "unknown")
            #expect(try await rows.context.getAttachment(id: "b") == nil)
            try await rows.context.clearQueue()
            #expect(try await rows.all().isEmpty)
            #expect(rows.storage.files.keys.sorted() == ["/files/a.jpg"])
        }
    }

    @Test(
        arguments: ["order", "my files", "a\"b", "a;b--", "日本"]
    )
    func namesOfTablesThatSQLWouldTakeForSomethingElse(name: String) async throws {
        try await AttachmentRows.with(table: createAttachmentTable(name: name), limit: 0) { rows async throws in
            _ = try await rows.context.saveAttachment(attachment: .row(.queuedUpload))
            _ = try await rows.context.markDeleted(id: "a") { _, _ in }
            #expect(try await rows.context.getActiveAttachments().map(\.state) == [.queuedDelete])
            #expect(try await rows.context.commit(.deleted, of: .row(.queuedDelete)) == .none)
            try await rows.process(["b"], at: 1000)
            try await rows.process([], at: 1001)
            #expect(try await rows.state("b") == .archived)
            #expect(try await rows.context.isFileShared(path: "/x", besides: "b") == false)
            #expect(try await rows.context.expire { _ in }.isComplete)
            #expect(try await rows.context.getAttachmentIds().isEmpty)
        }
    }

    @Test
    func columnsOfTheAppSurviveEveryChange() async throws {
        let base = createAttachmentTable(name: "attachments")
        let table = Table(name: base.name, columns: base.columns + [.text("album")], localOnly: true)
        try await AttachmentRows.with(table: table, files: ["/files/a.jpg"]) { rows async throws in
            func album() async throws -> String? {
                try await rows.db.get("SELECT album FROM attachments WHERE id = 'a'") {
                    try $0.getStringOptional(name: "album")
                }
            }
            try await rows.process(["a"], at: 1)
            try await rows.db.execute("UPDATE attachments SET album = 'summer'")
            let started = try #require(try await rows.context.getAttachment(id: "a"))
            let result = TransferOutcome.downloaded(path: "/files/a.jpg", size: 12)
            _ = try await rows.context.commit(result, of: started)
            #expect(try await album() == "summer")
            try await rows.process([], at: 2)
            try await rows.process(["a"], at: 3)
            #expect(try await rows.state("a") == .synced)
            rows.storage["/files/a.jpg"] = nil
            try await rows.verify()
            #expect(try await rows.state("a") == .queuedDownload)
            _ = try await rows.context.saveAttachment(attachment: started)
            _ = try await rows.context.markDeleted(id: "a") { _, _ in }
            try await rows.context.ignoreAttachment(id: "a")
            #expect(try await album() == "summer")
        }
    }

    @Test
    func rowThatIsNoAttachmentIsLoggedAndStopsNoOther() async throws {
        try await AttachmentRows.with(limit: 0, files: ["/files/ok.jpg"]) { rows async throws in
            try await rows.db.execute(
                """
                INSERT INTO attachments (id, state, filename, local_uri) VALUES ('nine', 9, 'nine.jpg', '/gone'),
                    ('nameless', 4, NULL, '/gone'), ('stateless', NULL, 'x.jpg', NULL), ('word', 'synced', 'w.jpg', NULL)
                """
            )
            try await rows.insert(.row("ok", .synced, hasSynced: true, localUri: "/old/ok.jpg"))
            #expect(try await rows.context.getAttachments().map(\.id) == ["word", "ok"], "a text is the state 0")
            #expect(rows.messages(.error).count == 3)
            await #expect(throws: PowerSyncAttachmentError.self) {
                try await rows.context.getAttachment(id: "nine")
            }

            try await rows.verify()
            #expect(try await rows.context.getAttachment(id: "ok")?.localUri == "/files/ok.jpg")
            try await rows.process(["nine", "nameless", "stateless", "new"], at: 50)
            #expect(try await rows.state("new") == .queuedDownload)
            #expect(try await rows.state("ok") == .archived)
            #expect(try await rows.state("word") == .archived)
            #expect(try await rows.context.expire { _ in }.isComplete)
            #expect(try await Set(rows.context.getAttachmentIds()) == ["nine", "nameless", "stateless", "new"])
        }
    }

    @Test
    func rowThatWasWrittenByHandWithOddValuesIsAnAttachment() async throws {
        try await AttachmentRows.with(files: ["/files/a.jpg"]) { rows async throws in
            try await rows.db.execute(
                """
                INSERT INTO attachments (id, timestamp, state, filename, has_synced, local_uri, size, media_type)
                VALUES ('a', 'yesterday', '3', 'a.jpg', NULL, '/files/a.jpg', 'big', '')
                """
            )
            try await rows.verify()
            #expect(rows.messages(.error).isEmpty)
            try await rows.process(["a"], at: 20)
            #expect(
                try await rows.context.getAttachment(id: "a")
                    == Attachment(
                        id: "a",
                        filename: "a.jpg",
                        state: .synced,
                        localUri: "/files/a.jpg",
                        mediaType: "",
                        size: 0
                    )
            )
            try await rows.process([], at: 21)
            #expect(try await rows.state("a") == .archived)
        }
    }

    @Test
    func rowIsWrittenInATransactionOfTheCaller() async throws {
        try await AttachmentRows.with { rows async throws in
            let context = rows.context
            let stored = try await rows.db.writeTransaction { transaction in
                try context.upsertAttachment(.row(.queuedUpload, timestamp: 1), context: transaction)
            }
            #expect(stored == .row(.queuedUpload, timestamp: 1000))
            #expect(try await rows.all() == ["a": stored])
        }
    }

    @Test
    func typeOfTheAppsOwnGetsEverythingFromTheProtocol() async throws {
        struct OwnContext: AttachmentContextProtocol {
            let db: any PowerSyncDatabaseProtocol
            let tableName = "attachments"
            let logger: any LoggerProtocol = DefaultLogger(writers: [])
            let maxArchivedCount: Int64 = 1
        }
        try await AttachmentRows.with { rows async throws in
            let own = OwnContext(db: rows.db)
            try await own.saveAttachments(attachments: [.row("a", .archived), .row("b", .queuedUpload)])
            _ = try await own.saveAttachment(attachment: .row("c", .queuedUpload))
            try await own.ignoreAttachment(id: "b")
            let removed = try await own.deleteArchivedAttachments { _ in }
            #expect(removed)
            #expect(try await own.getAttachments().count == 2)
            #expect(try await own.getAttachments().allSatisfy { $0.timestamp > 1_700_000_000_000 })
        }
    }
}
