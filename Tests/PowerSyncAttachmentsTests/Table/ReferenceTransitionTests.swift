import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// The table in docs/attachments.md "Following references", cell by cell, and what the app asks for.
@Suite
struct ReferenceTransitionTests {
    /// A row before an event, and what becomes of it.
    struct Case: CustomTestStringConvertible, Sendable {
        let state: AttachmentState
        let hasSynced: Bool
        var file: LocalFile?
        var downloads = true
        /// `nil`: nothing is written.
        let expected: Attachment?

        var change: AttachmentChange {
            guard let expected else { return .none }
            return .update(expected)
        }

        var testDescription: String {
            let file = file.map { "\($0)" } ?? "not looked for"
            return "\(state), synced: \(hasSynced), file: \(file), downloads: \(downloads)"
        }
    }

    static let path = "/old/a.jpg"

    static let referenced: [Case] = [
        Case(state: .queuedDownload, hasSynced: false, file: .missing, expected: nil),
        Case(state: .queuedDownload, hasSynced: true, file: .inPlace, expected: nil),
        Case(state: .queuedUpload, hasSynced: false, file: .inPlace, expected: nil),
        Case(state: .queuedUpload, hasSynced: true, file: .missing, expected: nil),
        Case(state: .queuedDelete, hasSynced: false, file: .inPlace, expected: nil),
        Case(state: .queuedDelete, hasSynced: true, file: .missing, expected: nil),
        Case(state: .synced, hasSynced: true, file: .inPlace, expected: nil),
        Case(state: .synced, hasSynced: true, file: .missing, expected: nil),
        Case(state: .archived, hasSynced: true, file: nil, expected: nil),
        Case(
            state: .archived,
            hasSynced: true,
            file: .inPlace,
            expected: .row(.synced, hasSynced: true, localUri: path, timestamp: 50)
        ),
        Case(
            state: .archived,
            hasSynced: true,
            file: .inPlace,
            downloads: false,
            expected: .row(.synced, hasSynced: true, localUri: path, timestamp: 50)
        ),
        Case(
            state: .archived,
            hasSynced: true,
            file: .moved(to: "/new/a.jpg"),
            expected: .row(.synced, hasSynced: true, localUri: "/new/a.jpg", timestamp: 50)
        ),
        Case(
            state: .archived,
            hasSynced: false,
            file: .inPlace,
            expected: .row(.queuedUpload, hasSynced: false, localUri: path, timestamp: 50)
        ),
        Case(
            state: .archived,
            hasSynced: false,
            file: .moved(to: "/new/a.jpg"),
            expected: .row(.queuedUpload, hasSynced: false, localUri: "/new/a.jpg", timestamp: 50)
        ),
        Case(
            state: .archived,
            hasSynced: true,
            file: .missing,
            expected: .row(.queuedDownload, hasSynced: false, localUri: nil, timestamp: 50)
        ),
        Case(
            state: .archived,
            hasSynced: false,
            file: .missing,
            expected: .row(.queuedDownload, hasSynced: false, localUri: nil, timestamp: 50)
        ),
        Case(state: .archived, hasSynced: true, file: .missing, downloads: false, expected: nil),
        Case(state: .archived, hasSynced: false, file: .missing, downloads: false, expected: nil),
    ]

    @Test(arguments: referenced)
    func elementHasTheId(_ example: Case) {
        let machine = AttachmentStateMachine(row: before(example))
        let change = machine.referenced(file: example.file, deliveredAt: 50, downloads: example.downloads)
        #expect(change == example.change)
    }

    @Test
    func newReferenceIsDownloadedWithWhatItsItemSays() {
        let item = WatchedAttachmentItem(id: "a", filename: "docs/a.pdf", metaData: "m", mediaType: "application/pdf")
        let change = AttachmentStateMachine.newReference(item, filename: "docs/a.pdf", deliveredAt: 50, downloads: true)
        #expect(
            change
                == .insert(
                    Attachment(
                        id: "a",
                        filename: "docs/a.pdf",
                        state: .queuedDownload,
                        timestamp: 50,
                        hasSynced: false,
                        mediaType: "application/pdf",
                        metaData: "m"
                    )
                )
        )
    }

    @Test
    func withoutDownloadsANewReferenceIsNothing() {
        let item = WatchedAttachmentItem(id: "a", fileExtension: "jpg")
        let change = AttachmentStateMachine.newReference(item, filename: "a.jpg", deliveredAt: 50, downloads: false)
        #expect(change == .none)
    }

    static let unreferenced: [Case] = [
        Case(
            state: .queuedDownload,
            hasSynced: false,
            expected: .row(.archived, hasSynced: false, localUri: path, timestamp: 50)
        ),
        Case(
            state: .queuedDownload,
            hasSynced: true,
            expected: .row(.archived, hasSynced: true, localUri: path, timestamp: 50)
        ),
        Case(
            state: .synced,
            hasSynced: true,
            expected: .row(.archived, hasSynced: true, localUri: path, timestamp: 50)
        ),
        Case(
            state: .synced,
            hasSynced: false,
            expected: .row(.archived, hasSynced: false, localUri: path, timestamp: 50)
        ),
        Case(state: .queuedUpload, hasSynced: false, expected: nil),
        Case(
            state: .queuedUpload,
            hasSynced: true,
            expected: .row(.archived, hasSynced: true, localUri: path, timestamp: 50)
        ),
        Case(state: .queuedDelete, hasSynced: false, expected: nil),
        Case(state: .queuedDelete, hasSynced: true, expected: nil),
        Case(state: .archived, hasSynced: true, expected: nil),
        Case(state: .archived, hasSynced: false, expected: nil),
    ]

    @Test(arguments: unreferenced)
    func elementDoesNotHaveTheId(_ example: Case) {
        let change = AttachmentStateMachine(row: before(example)).unreferenced(deliveredAt: 50, now: 60)
        #expect(change == example.change)
    }

    /// 6.2: an element says nothing about a row that is newer.
    @Test(
        arguments: [(49, true), (50, true), (51, false), (60, false), (61, true)]
    )
    func staleElement(timestamp: Int, isArchived: Bool) {
        let row = Attachment.row(.synced, hasSynced: true, timestamp: timestamp)
        let change = AttachmentStateMachine(row: row).unreferenced(deliveredAt: 50, now: 60)
        #expect(
            change == (isArchived ? .update(.row(.archived, hasSynced: true, timestamp: 50)) : .none),
            "61 is in the future: the clock was set back"
        )
    }

    @Test(arguments: AttachmentState.allCases)
    func deleteFile(_ state: AttachmentState) {
        let row = Attachment.row(state, hasSynced: true, localUri: "/old/a.jpg")
        #expect(
            AttachmentStateMachine(row: row).deleted(now: 60)
                == .row(.queuedDelete, hasSynced: false, localUri: "/old/a.jpg", timestamp: 60)
        )
    }

    @Test(arguments: AttachmentState.allCases)
    func ignoreAttachment(_ state: AttachmentState) {
        let row = Attachment.row(state, hasSynced: true, localUri: "/old/a.jpg")
        let archived = Attachment.row(.archived, hasSynced: true, localUri: "/old/a.jpg", timestamp: 60)
        let change = AttachmentStateMachine(row: row).ignored(now: 60)
        #expect(change == (state == .archived ? .none : .update(archived)))
    }

    private func before(_ example: Case) -> Attachment {
        .row(example.state, hasSynced: example.hasSynced, localUri: Self.path)
    }
}

extension Attachment {
    /// A row of the id `a`.
    static func row(
        _ state: AttachmentState,
        hasSynced: Bool = false,
        localUri: String? = nil,
        timestamp: Int = 10,
        size: Int64? = 5
    ) -> Attachment {
        row("a", state, hasSynced: hasSynced, localUri: localUri, timestamp: timestamp, size: size)
    }
}
