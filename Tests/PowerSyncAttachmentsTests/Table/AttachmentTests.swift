import Foundation
import PowerSync
import TestSupport
import Testing

@Suite
struct AttachmentTests {
    @Test
    func statesKeepTheNumbersOfTheEstablishedSDK() throws {
        #expect(AttachmentState.allCases.map(\.rawValue) == [0, 1, 2, 3, 4])
        #expect(try AttachmentState.from(3) == .synced)
        #expect(throws: PowerSyncAttachmentError.self) { try AttachmentState.from(5) }
    }

    @Test
    func rowsOfOthersAreReadWithSQLitesConversions() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let db = PowerSyncDatabase(
            schema: Schema(tables: [createAttachmentTable(name: defaultAttachmentsTableName)]),
            dbFilename: folder.appending(path: "test.db").path
        )
        try await db.execute(
            sql: """
                INSERT INTO attachments (id, timestamp, state, filename, has_synced, meta_data)
                VALUES ('a', 'yesterday', 3, 'a.jpg', NULL, '{"by":"me"}')
                """,
            parameters: []
        )

        let attachments = try await db.getAll(
            sql: "SELECT * FROM attachments",
            parameters: [],
            mapper: Attachment.fromCursor
        )

        #expect(
            attachments == [
                Attachment(id: "a", filename: "a.jpg", state: .synced, hasSynced: false, metaData: #"{"by":"me"}"#)
            ]
        )
        try await db.close()
    }
}
