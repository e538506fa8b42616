import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// The table in docs/attachments.md "Verification", cell by cell.
@Suite
struct VerificationTransitionTests {
    static let old = "/old/a.jpg"
    static let new = "/files/a.jpg"

    struct Case: CustomTestStringConvertible, Sendable {
        let row: Attachment
        let file: LocalFile
        var downloads = true
        /// `nil`: nothing is written.
        let expected: Attachment?

        var change: AttachmentChange {
            guard let expected else { return .none }
            return .update(expected)
        }

        var testDescription: String {
            "\(row.state) at \(row.localUri ?? "-"), file \(file), downloads: \(downloads)"
        }
    }

    static let inPlace: [Case] = AttachmentState.allCases.map { state in
        Case(row: .row(state, hasSynced: true, localUri: old), file: .inPlace, expected: nil)
    }

    static let moved: [Case] = AttachmentState.allCases.map { state in
        Case(
            row: .row(state, hasSynced: true, localUri: old),
            file: .moved(to: new),
            expected: .row(state, hasSynced: true, localUri: new)
        )
    }

    static let missing: [Case] = [
        Case(
            row: .row(.queuedDownload, hasSynced: false, localUri: old),
            file: .missing,
            expected: .row(.queuedDownload, hasSynced: false, localUri: nil)
        ),
        Case(
            row: .row(.queuedUpload, hasSynced: false, localUri: old),
            file: .missing,
            expected: .row(.archived, hasSynced: false, localUri: nil, timestamp: 60)
        ),
        Case(
            row: .row(.queuedDelete, hasSynced: false, localUri: old),
            file: .missing,
            expected: .row(.queuedDelete, hasSynced: false, localUri: nil)
        ),
        Case(
            row: .row(.synced, hasSynced: true, localUri: old),
            file: .missing,
            expected: .row(.queuedDownload, hasSynced: false, localUri: nil)
        ),
        Case(
            row: .row(.synced, hasSynced: true, localUri: old),
            file: .missing,
            downloads: false,
            expected: .row(.synced, hasSynced: true, localUri: nil)
        ),
        Case(
            row: .row(.archived, hasSynced: true, localUri: old),
            file: .missing,
            expected: .row(.archived, hasSynced: false, localUri: nil)
        ),
    ]

    static let withoutPath: [Case] = [
        Case(row: .row(.queuedDownload), file: .moved(to: new), expected: nil),
        Case(row: .row(.queuedDownload), file: .missing, expected: nil),
        Case(
            row: .row(.queuedUpload),
            file: .moved(to: new),
            expected: .row(.queuedUpload, localUri: new)
        ),
        Case(row: .row(.queuedUpload), file: .missing, expected: .row(.archived, timestamp: 60)),
        Case(row: .row(.queuedDelete), file: .moved(to: new), expected: nil),
        Case(row: .row(.queuedDelete), file: .missing, expected: nil),
        Case(
            row: .row(.synced, hasSynced: true),
            file: .moved(to: new),
            expected: .row(.synced, hasSynced: true, localUri: new)
        ),
        Case(
            row: .row(.synced, hasSynced: true),
            file: .missing,
            expected: .row(.queuedDownload, hasSynced: false)
        ),
        Case(row: .row(.synced, hasSynced: true), file: .missing, downloads: false, expected: nil),
        Case(row: .row(.archived, hasSynced: true), file: .moved(to: new), expected: nil),
        Case(row: .row(.archived, hasSynced: true), file: .missing, expected: nil),
    ]

    @Test(arguments: inPlace + moved + missing + withoutPath)
    func fileWasLookedFor(_ example: Case) {
        let machine = AttachmentStateMachine(row: example.row)
        let change = machine.verified(file: example.file, downloads: example.downloads, now: 60)
        #expect(change == example.change)
    }
}
