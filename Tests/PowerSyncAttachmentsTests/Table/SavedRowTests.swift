import NIOConcurrencyHelpers
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// The transactions of `saveFile` and `deleteFile`.
@Suite
struct SavedRowTests {
    private struct HookFailed: Error {}

    private static let new = Attachment.row(.queuedUpload, localUri: "/files/a.jpg", timestamp: 0)

    private func photos(_ rows: AttachmentRows) async throws -> [String] {
        try await rows.db.getAll("SELECT file_id FROM photos") { try $0.getString(index: 0) }
    }

    @Test
    func hookAndTheRowAreOneTransaction() async throws {
        try await AttachmentRows.with { rows async throws in
            let saved = try await rows.context.insertSaved(Self.new) { transaction, attachment in
                try transaction.execute(
                    sql: "INSERT INTO photos (id, file_id) VALUES (uuid(), ?)",
                    parameters: [attachment.id]
                )
            }
            #expect(saved == Self.new.with(timestamp: 1000))
            #expect(try await rows.all() == ["a": saved])
            #expect(try await photos(rows) == ["a"])
        }
    }

    @Test
    func whenTheHookThrowsThereIsNoRowAndNothingThatTheHookWrote() async throws {
        try await AttachmentRows.with { rows async throws in
            await #expect(throws: HookFailed.self) {
                try await rows.context.insertSaved(Self.new) { transaction, _ in
                    try transaction.execute(sql: "INSERT INTO photos (id, file_id) VALUES ('p', 'a')", parameters: [])
                    throw HookFailed()
                }
            }
            #expect(try await rows.all().isEmpty)
            #expect(try await photos(rows).isEmpty)
        }
    }

    @Test
    func hookSeesTheOtherRowsAndNotItsOwn() async throws {
        try await AttachmentRows.with { rows async throws in
            try await rows.insert(.row("b", .synced))
            let seen = NIOLockedValueBox<[String]>([])
            _ = try await rows.context.insertSaved(Self.new) { transaction, _ in
                let ids = try transaction.getAll(sql: "SELECT id FROM attachments", parameters: []) {
                    try $0.getString(index: 0)
                }
                seen.withLockedValue { $0 = ids }
            }
            #expect(seen.withLockedValue { $0 } == ["b"])
            #expect(try await rows.all().count == 2)
        }
    }

    @Test(arguments: AttachmentState.allCases)
    func idThatHasARow(_ state: AttachmentState) async throws {
        try await AttachmentRows.with { rows async throws in
            let row = Attachment.row(state, hasSynced: true, localUri: "/files/a.jpg")
            try await rows.insert(row)
            let hookRan = NIOLockedValueBox(false)
            await #expect {
                try await rows.context.insertSaved(Self.new) { _, _ in hookRan.withLockedValue { $0 = true } }
            } throws: { error in
                if case PowerSyncAttachmentError.generalError = error { true } else { false }
            }
            let ran = hookRan.withLockedValue(\.self)
            #expect(!ran)
            #expect(try await rows.all() == ["a": row])
        }
    }

    @Test(arguments: AttachmentState.allCases)
    func rowIsMarkedForDeletion(_ state: AttachmentState) async throws {
        try await AttachmentRows.with { rows async throws in
            let row = Attachment.row(state, hasSynced: true, localUri: "/files/a.jpg")
            try await rows.insert(row)
            let seen = NIOLockedValueBox<Attachment?>(nil)
            let deleted = try await rows.context.markDeleted(id: "a") { transaction, attachment in
                seen.withLockedValue { $0 = attachment }
                try transaction.execute(sql: "INSERT INTO photos (id, file_id) VALUES ('p', 'none')", parameters: [])
            }
            #expect(seen.withLockedValue { $0 } == row)
            #expect(deleted == row.with(state: .queuedDelete, timestamp: 1000, hasSynced: false))
            #expect(try await rows.all() == ["a": deleted])
            #expect(try await photos(rows) == ["none"])
            try await rows.process([], at: 2000)
            #expect(try await rows.state("a") == .queuedDelete)
        }
    }

    @Test
    func whenTheHookOfADeletionThrowsNothingHasChanged() async throws {
        try await AttachmentRows.with { rows async throws in
            try await rows.insert(.row(.synced, hasSynced: true))
            await #expect(throws: HookFailed.self) {
                try await rows.context.markDeleted(id: "a") { transaction, _ in
                    try transaction.execute(sql: "INSERT INTO photos (id, file_id) VALUES ('p', 'a')", parameters: [])
                    throw HookFailed()
                }
            }
            #expect(try await rows.all() == ["a": .row(.synced, hasSynced: true)])
            #expect(try await photos(rows).isEmpty)
        }
    }

    @Test
    func deletionOfAnUnknownIdDoesNotRunTheHook() async throws {
        try await AttachmentRows.with { rows async throws in
            let hookRan = NIOLockedValueBox(false)
            await #expect {
                try await rows.context.markDeleted(id: "a") { _, _ in hookRan.withLockedValue { $0 = true } }
            } throws: { error in
                if case PowerSyncAttachmentError.notFound("a") = error { true } else { false }
            }
            let ran = hookRan.withLockedValue(\.self)
            #expect(!ran)
        }
    }
}
