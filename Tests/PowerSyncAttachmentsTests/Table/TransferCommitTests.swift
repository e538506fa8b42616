import Foundation
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// The transactions at the end of transfers.
@Suite
struct TransferCommitTests {
    @Test
    func uploadWithoutItsFileIsArchived() async throws {
        try await AttachmentRows.with { rows async throws in
            let row = Attachment.row(.queuedUpload, localUri: "/files/a.jpg")
            try await rows.insert(row)
            #expect(try await rows.context.commit(.localFileMissing, of: row) == .none)
            #expect(try await rows.all() == ["a": .row(.archived, timestamp: 1000)])
            #expect(try await rows.context.getActiveAttachments().isEmpty)
        }
    }

    @Test
    func deletionThatCameDuringAnUploadStays() async throws {
        try await AttachmentRows.with { rows async throws in
            let row = Attachment.row(.queuedUpload, localUri: "/files/a.jpg")
            try await rows.insert(row)
            let deleted = try await rows.context.markDeleted(id: "a") { _, _ in }
            _ = try await rows.context.commit(.uploaded, of: row)
            #expect(try await rows.all() == ["a": deleted])
            #expect(try await rows.context.commit(.deleted, of: deleted) == .none)
            #expect(try await rows.all().isEmpty)
        }
    }

    @Test
    func fileThatWasUnlinkedDuringItsDownloadStaysAsACache() async throws {
        try await AttachmentRows.with { rows async throws in
            try await rows.process(["a"], at: 1)
            let started = try #require(try await rows.context.getAttachment(id: "a"))
            try await rows.process([], at: 2)
            let result = TransferOutcome.downloaded(path: "/files/a.jpg", size: 9)
            #expect(try await rows.context.commit(result, of: started) == .none)
            let row = try #require(try await rows.context.getAttachment(id: "a"))
            #expect(row.state == .archived && row.hasSynced == true && row.localUri == "/files/a.jpg" && row.size == 9)
        }
    }

    @Test
    func downloadWhoseRowWasClearedLeavesNoFile() async throws {
        try await AttachmentRows.with { rows async throws in
            let started = Attachment.row(.queuedDownload)
            let result = TransferOutcome.downloaded(path: "/files/a.jpg", size: 9)
            let unusedFile = try await rows.context.commit(result, of: started)
            #expect(unusedFile == "/files/a.jpg")
            #expect(try await rows.all().isEmpty)
        }
    }

    @Test
    func fileThatAnotherRowRefersToIsNotRemoved() async throws {
        try await AttachmentRows.with { rows async throws in
            try await rows.insert(.row("b", .synced, hasSynced: true, localUri: "/files/a.jpg"))
            let started = Attachment.row(.queuedDownload)
            let result = TransferOutcome.downloaded(path: "/files/a.jpg", size: 9)
            #expect(try await rows.context.commit(result, of: started) == .none)
            #expect(try await rows.context.isFileShared(path: "/files/a.jpg", besides: "a"))
            #expect(try await rows.context.isFileShared(path: "/files/a.jpg", besides: "b") == false)
        }
    }

    @Test
    func namesThatDifferByCaseAreOneFileWhereTheVolumeSaysSo() async throws {
        try await AttachmentsFolder.run { folder async throws in
            try await AttachmentRows.with { rows async throws in
                try await rows.insert(.row("b", .queuedUpload, localUri: folder("Ab.jpg")))
                try folder.write(Data("b".utf8), to: "Ab.jpg")
                #expect(try await rows.context.isFileShared(path: folder("aB.jpg"), besides: "a") == false)
                // What a volume that ignores case would say.
                try FileManager.default.linkItem(atPath: folder("Ab.jpg"), toPath: folder("aB.jpg"))
                #expect(try await rows.context.isFileShared(path: folder("aB.jpg"), besides: "a"))
            }
        }
    }

    @Test
    func uploadWhoseRowWasRemovedIsTold() async throws {
        try await AttachmentRows.with { rows async throws in
            _ = try await rows.context.commit(.uploaded, of: .row(.queuedUpload))
            #expect(rows.messages(.warning).count == 1)
        }
    }
}
