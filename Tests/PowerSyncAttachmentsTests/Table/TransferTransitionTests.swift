import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// The table in docs/attachments.md "Transfers", cell by cell.
@Suite
struct TransferTransitionTests {
    static let old = "/old/a.jpg"
    static let new = "/files/a.jpg"

    struct Case: CustomTestStringConvertible, Sendable {
        let result: TransferOutcome
        let started: Attachment
        /// The row when the transfer ends.
        let now: Attachment?
        var change = AttachmentChange.none
        var unusedFile: String?

        var testDescription: String {
            "\(started.state) \(result), row now: \(now.map { "\($0.state) at \($0.localUri ?? "-")" } ?? "none")"
        }
    }

    static let upload = Attachment.row(.queuedUpload, localUri: old)
    static let download = Attachment.row(.queuedDownload, size: nil)
    static let delete = Attachment.row(.queuedDelete, localUri: old)
    static let downloaded = TransferOutcome.downloaded(path: new, size: 7)

    static let uploads: [Case] = [
        Case(
            result: .uploaded,
            started: upload,
            now: upload,
            change: .update(.row(.synced, hasSynced: true, localUri: old, timestamp: 60))
        ),
        Case(
            result: .uploaded,
            started: upload,
            now: .row(.queuedUpload, localUri: new),
            change: .update(.row(.synced, hasSynced: true, localUri: new, timestamp: 60))
        ),
        Case(result: .uploaded, started: upload, now: .row(.queuedDelete, localUri: old)),
        Case(
            result: .uploaded,
            started: upload,
            now: .row(.archived, localUri: old),
            change: .update(.row(.archived, hasSynced: true, localUri: old))
        ),
        Case(result: .uploaded, started: upload, now: .row(.archived, hasSynced: true, localUri: old)),
        Case(result: .uploaded, started: upload, now: .row(.queuedDownload)),
        Case(result: .uploaded, started: upload, now: .row(.synced, hasSynced: true, localUri: old)),
        Case(result: .uploaded, started: upload, now: nil),
        Case(
            result: .localFileMissing,
            started: upload,
            now: upload,
            change: .update(.row(.archived, hasSynced: false, localUri: nil, timestamp: 60))
        ),
        Case(result: .localFileMissing, started: upload, now: .row(.queuedUpload, localUri: new)),
        Case(result: .localFileMissing, started: upload, now: .row(.queuedDelete, localUri: old)),
        Case(result: .localFileMissing, started: upload, now: .row(.archived, localUri: old)),
        Case(result: .localFileMissing, started: upload, now: nil),
        Case(
            result: .givenUp,
            started: upload,
            now: upload,
            change: .update(.row(.archived, localUri: old, timestamp: 60))
        ),
        Case(result: .givenUp, started: upload, now: .row(.queuedDelete, localUri: old)),
        Case(result: .givenUp, started: upload, now: .row(.synced, hasSynced: true, localUri: old)),
        Case(result: .givenUp, started: upload, now: nil),
    ]

    static let downloads: [Case] = [
        Case(
            result: downloaded,
            started: download,
            now: download,
            change: .update(.row(.synced, hasSynced: true, localUri: new, size: 7))
        ),
        Case(
            result: downloaded,
            started: download,
            now: .row(.archived, size: nil),
            change: .update(.row(.archived, hasSynced: true, localUri: new, size: 7))
        ),
        Case(
            result: downloaded,
            started: download,
            now: .row(.queuedDelete, size: nil),
            change: .update(.row(.queuedDelete, localUri: new, size: nil))
        ),
        Case(result: downloaded, started: download, now: .row(.queuedDelete, localUri: new)),
        Case(
            result: downloaded,
            started: download,
            now: .row(.synced, hasSynced: true, localUri: old),
            unusedFile: new
        ),
        Case(result: downloaded, started: download, now: .row(.synced, hasSynced: true, localUri: new)),
        Case(
            result: downloaded,
            started: download,
            now: .row(.queuedUpload, localUri: old),
            unusedFile: new
        ),
        Case(result: downloaded, started: download, now: .row(.queuedUpload, localUri: new)),
        Case(result: downloaded, started: download, now: nil, unusedFile: new),
        Case(
            result: downloaded,
            started: download,
            now: Attachment(id: "a", filename: "other.jpg", state: .queuedDownload),
            unusedFile: new
        ),
        Case(
            result: .givenUp,
            started: download,
            now: .row(.queuedDownload, localUri: old),
            change: .update(.row(.archived, localUri: nil, timestamp: 60))
        ),
        Case(result: .givenUp, started: download, now: .row(.archived)),
        Case(result: .givenUp, started: download, now: .row(.queuedDelete)),
        Case(result: .givenUp, started: download, now: nil),
    ]

    static let deletions: [Case] = [
        Case(result: .deleted, started: delete, now: delete, change: .remove),
        Case(
            result: .deleted,
            started: delete,
            now: .row(.synced, hasSynced: true, localUri: old),
            change: .update(.row(.synced, hasSynced: false, localUri: old))
        ),
        Case(result: .deleted, started: delete, now: .row(.archived, localUri: old)),
        Case(
            result: .deleted,
            started: delete,
            now: .row(.queuedUpload, hasSynced: true, localUri: old),
            change: .update(.row(.queuedUpload, hasSynced: false, localUri: old))
        ),
        Case(
            result: .deleted,
            started: delete,
            now: .row(.queuedDownload, hasSynced: true),
            change: .update(.row(.queuedDownload, hasSynced: false))
        ),
        Case(result: .deleted, started: delete, now: nil),
        Case(
            result: .givenUp,
            started: delete,
            now: delete,
            change: .update(.row(.archived, localUri: old, timestamp: 60))
        ),
        Case(result: .givenUp, started: delete, now: .row(.synced, hasSynced: true, localUri: old)),
        Case(result: .givenUp, started: delete, now: nil),
    ]

    @Test(arguments: uploads + downloads + deletions)
    func transferEnds(_ example: Case) {
        #expect(
            AttachmentStateMachine.finish(example.result, of: example.started, row: example.now, now: 60)
                == TransferCommit(change: example.change, unusedFile: example.unusedFile)
        )
    }

    @Test
    func uploadUnderAnotherNameIsNotTheUploadOfTheRow() {
        let renamed = Attachment(id: "a", filename: "other.jpg", state: .queuedUpload, localUri: Self.old)
        let commit = AttachmentStateMachine.finish(.uploaded, of: Self.upload, row: renamed, now: 60)
        #expect(commit == TransferCommit())
    }
}
