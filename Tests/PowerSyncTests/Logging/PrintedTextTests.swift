import Foundation
import PowerSyncProtocol
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient
@testable import PowerSyncCore

/// What `print` shows of values: one line for people, without values of rows.
@Suite struct PrintedTextTests {
    struct Case: CustomTestStringConvertible {
        let value: any Sendable
        let text: String

        init(_ value: any Sendable, _ text: String) {
            self.value = value
            self.text = text
        }

        var testDescription: String { text }
    }

    private static let date = Date(timeIntervalSince1970: 0)
    private static let error = PowerSyncError.operationFailed(message: "no network")
    private static let entry = CrudEntry(
        id: "1",
        clientId: 7,
        op: .patch,
        table: "todos",
        transactionId: 3,
        metadata: "secret",
        opDataTyped: ["title": .string("secret"), "done": .int(1)],
        previousValuesTyped: ["title": .string("secret")],
        damage: nil
    )
    private static let deletion = CrudEntry(
        id: "2",
        clientId: 8,
        op: .delete,
        table: "todos",
        transactionId: 3,
        metadata: nil,
        opDataTyped: nil,
        previousValuesTyped: nil,
        damage: DamagedCrudEntryError(
            clientId: 8,
            QueuedWrite.Damage(rawText: "secret", reason: "Entry 8 has no table.")
        )
    )

    private static func activity() -> ConnectionActivity {
        ConnectionActivity(
            download: SyncWait(reason: .serviceUnreachable(retryAt: date, error: error), since: date),
            upload: SyncWait(reason: .upload(entries: 2), since: date)
        )
    }

    private static func status(_ change: (inout SyncStatusSnapshot) -> Void) -> SyncStatusSnapshot {
        var status = SyncStatusSnapshot()
        change(&status)
        return status
    }

    private static func stream(_ progress: OperationCounts? = nil) -> SyncStreamStatus {
        SyncStreamStatus(
            StreamStatus(
                key: StreamKey(name: "todos", parameters: JSONObject(["list": .string("a")])),
                isActive: true,
                isDefault: false,
                hasExplicitSubscription: true,
                lastSyncedAt: SyncInstant(microseconds: 0),
                progress: progress
            )
        )
    }

    static let statuses: [Case] = [
        Case(status { _ in }, "not connected"),
        Case(status { $0.download.streams = [] }, "not connected, never synced"),
        Case(
            status { status in
                status.download.isConnected = true
                status.download.streams = []
                status.download.priorities = [
                    PriorityStatus(priority: .complete, lastSyncedAt: SyncInstant(microseconds: 0))
                ]
                let counts = OperationCounts(total: 100, downloaded: 40)
                status.download.progress = DownloadProgress(priorities: [.init(priority: Priority(1), counts: counts)])
                status.isUploading = true
                status.lastUploadError = error
            },
            "connected, downloading 40 of 100 operations, uploading, last synced at 1970-01-01 00:00:00 +0000, "
                + "upload error: no network"
        ),
        Case(
            status { status in
                status.download.isConnecting = true
                status.lastDownloadError = PowerSyncError.sqliteError(
                    extendedResultCode: 19,
                    message: "CHECK failed (context: replacing into todos, id = 1, data = {\"title\":\"secret\"})"
                )
            },
            "connecting, download error: SQLite failure (code 19), CHECK failed"
        ),
        Case(ConnectionActivity(), "waiting for nothing"),
        Case(
            activity(),
            "download waiting for the sync service to be reachable at 1970-01-01 00:00:00 +0000, after no network, "
                + "since 1970-01-01 00:00:00 +0000, "
                + "upload waiting for the app to upload 2 local writes, since 1970-01-01 00:00:00 +0000"
        ),
        Case(
            SyncOnceResult(
                isComplete: false,
                uploadedEntries: 3,
                activity: ConnectionActivity(),
                uploadError: nil,
                downloadError: error
            ),
            "not complete, 3 local writes uploaded, download error: no network"
        ),
        Case(
            SyncOnceResult(
                isComplete: true,
                uploadedEntries: 1,
                activity: ConnectionActivity(),
                uploadError: nil,
                downloadError: nil
            ),
            "complete, 1 local write uploaded"
        ),
        Case(BucketPriority(2), "priority 2"),
        Case(
            PriorityStatusEntry(priority: .fullSyncPriority, lastSyncedAt: date, hasSynced: true),
            "all priorities: synced at 1970-01-01 00:00:00 +0000"
        ),
        Case(
            PriorityStatusEntry(priority: BucketPriority(1), lastSyncedAt: nil, hasSynced: nil),
            "priority 1: not known"
        ),
        Case(
            stream(),
            #"stream todos {"list":"a"}, subscribed, last synced at 1970-01-01 00:00:00 +0000"#
        ),
        Case(
            stream(OperationCounts(total: 10, downloaded: 4)),
            #"stream todos {"list":"a"}, subscribed, last synced at 1970-01-01 00:00:00 +0000, "#
                + "downloading 4 of 10 operations"
        ),
        Case(
            stream(OperationCounts(total: 1, downloaded: 0)),
            #"stream todos {"list":"a"}, subscribed, last synced at 1970-01-01 00:00:00 +0000, "#
                + "downloading 0 of 1 operation"
        ),
    ]

    static let writes: [Case] = [
        Case(entry, "PATCH todos/1 (done, title)"),
        Case(deletion, "DELETE todos/2, damaged"),
        Case([entry], "[PATCH todos/1 (done, title)]"),
        Case(UploadRejection(entry, reason: "forbidden"), "PATCH todos/1 (done, title): forbidden"),
        Case(
            RejectedWrite(entry: entry, kind: .parked, reason: "forbidden", rejectedAt: date),
            "PATCH todos/1 (done, title), parked: forbidden"
        ),
    ]

    static let attachments: [Case] = [
        Case(AttachmentState.queuedUpload, "queued for upload"),
        Case(
            Attachment(id: "1", filename: "1.jpg", state: .synced, localUri: "/a/1.jpg", size: 12, metaData: "secret"),
            "attachment 1, synced, 1.jpg, 12 bytes"
        ),
        Case(
            Attachment(id: "1", filename: "1.jpg", state: .synced, localUri: "/a/1.jpg", size: 1),
            "attachment 1, synced, 1.jpg, 1 byte"
        ),
        Case(
            Attachment(id: "1", filename: "1.jpg", state: .queuedDownload),
            "attachment 1, queued for download, 1.jpg, not on this device"
        ),
        Case(
            AttachmentTransferProgress(
                attachmentId: "1",
                direction: .upload,
                phase: .running,
                transferredBytes: 5,
                totalBytes: 10
            ),
            "upload of 1, running, 5 of 10 bytes"
        ),
        Case(AttachmentQueueProgress(), "0 transfers finished, 0 remaining, 0 of them running"),
        Case(AttachmentQueueStats(shares: [:]), "no attachments"),
        Case(
            AttachmentQueueStats(shares: [.synced: .init(count: 2, bytes: 20), .archived: .init(count: 1)]),
            "2 synced (20 bytes), 1 archived (0 bytes)"
        ),
    ]

    static let errors: [Case] = [
        Case(error, "no network"),
        Case(PowerSyncError.operationFailed(message: "Cannot open", underlyingError: error), "Cannot open: no network"),
        Case(PowerSyncError.operationFailed(), "An unknown error occurred."),
        Case(
            PowerSyncError.sqliteError(extendedResultCode: 1, message: "no such table: a", sql: "SELECT *\n    FROM a"),
            "SQLite failure (code 1), no such table: a for SQL: SELECT * FROM a"
        ),
        Case(SqlCursorError.columnNotFound("email"), "SqlCursorError:columnNotFound:email"),
        Case(CheckpointWaitError.timeout, "The checkpoint was not applied in time."),
        Case(CheckpointRequestError.instanceNotSupported, "The sync service does not support checkpoint requests."),
        Case(AttachmentStorageError.notFound, "The remote storage has no such file."),
        Case(PowerSyncAttachmentError.fileNotFound("/a"), "There is no file at /a."),
        Case(TableError.duplicateColumn(tableName: "a", columnName: "b"), "The table 'a' has two columns 'b'."),
        Case(SchemaError.duplicateTableName("a"), "The schema has two tables 'a'."),
        Case(deletion.damage.map { $0 as any Sendable } ?? "none", "Entry 8 has no table."),
        Case(
            PowerSyncCredentials(endpoint: "https://a", token: "secret"),
            "PowerSyncCredentials(endpoint: https://a, token: <redacted>)"
        ),
    ]

    @Test(arguments: statuses + writes + attachments + errors)
    func aValueIsPrintedInALine(_ testCase: Case) {
        #expect("\(testCase.value)" == testCase.text)
    }

    @Test(arguments: errors)
    func foundationShowsTheTextOfAnError(_ testCase: Case) {
        guard let error = testCase.value as? any Error else { return }
        #expect(
            error.localizedDescription.split(whereSeparator: \.isWhitespace).joined(separator: " ") == testCase.text
        )
    }

    @Test func theStatusOfADatabaseIsPrinted() async throws {
        try await withMemoryDatabase { database in
            try await database.waitForReady()
            #expect("\(database.currentStatus)" == "not connected, never synced")
            #expect("\(database.syncStream(name: "todos", params: ["a": .int(1)]))" == #"stream todos {"a":1}"#)
            try await database.insertUser("Ada", id: "1")
            let transaction = try #require(try await database.getNextCrudTransaction())
            #expect("\(transaction)" == "transaction 1 with 1 local write: PUT users/1 (email, name)")
            let batch = try #require(try await database.getCrudBatch())
            #expect("\(batch)" == "batch of 1 local write: PUT users/1 (email, name)")
        }
    }
}
