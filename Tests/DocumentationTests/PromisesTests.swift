import Foundation
import Testing

/// What users of PowerSync rely on, in our own words, and the page of this package that says it.
///
/// A promise that is not kept is not on a page as if it were: ``notKept`` names it, with the page that says so.
@Suite struct PromisesTests {
    /// A promise, and where it stands.
    struct Promise: CustomTestStringConvertible {
        let promise: String
        /// The page below `Sources`, without the folder of the catalog and the extension: `PowerSync/Attachments`.
        let page: String
        /// What must stand there, apart from line breaks.
        let words: [String]

        init(_ promise: String, _ page: String, _ words: String...) {
            (self.promise, self.page, self.words) = (promise, page, words)
        }

        var testDescription: String { "\(page): \(promise)" }

        func text() throws -> String {
            let parts = page.split(separator: "/", maxSplits: 1)
            let path = "Sources/\(parts[0])/Documentation.docc/\(parts[1]).md"
            return PromisesTests.flattened(try Page(path: path).text)
        }
    }

    static func flattened(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    @Test(arguments: all)
    func thePageSaysIt(_ promise: Promise) throws {
        let text = try promise.text()
        for words in promise.words {
            #expect(text.contains(Self.flattened(words)), "\(promise.page) lacks: \(words)")
        }
    }

    @Test(arguments: notKept)
    func thePageSaysThatItIsNotKept(_ promise: Promise) throws {
        let text = try promise.text()
        for words in promise.words {
            #expect(text.contains(Self.flattened(words)), "\(promise.page) lacks: \(words)")
        }
    }

    static let all = architecture + uploads + credentials + priorities + attachments

    // MARK: The client's architecture

    static let architecture = [
        Promise(
            "the client connects with a token, over TLS, with a streamed response or a WebSocket",
            "PowerSync/ConnectingToAService",
            "returns the endpoint of the sync service and a JWT",
            "as a streamed HTTP response",
            "`wss` for `https`"
        ),
        Promise(
            "an app reads the local database, online or offline",
            "PowerSync/PowerSync",
            "The app reads and writes a database file on the device, online or offline"
        ),
        Promise(
            "live queries follow the database",
            "PowerSync/QueriesInViews",
            "Show rows that follow the database"
        ),
        Promise(
            "tables of the schema are views over rows without a schema; adding a column needs no migration",
            "PowerSync/DesigningTheSchema",
            "each table is a view over that JSON",
            "without a migration, and without a download"
        ),
        Promise(
            "rows of tables that the schema lacks are kept, and there with the table",
            "PowerSync/DesigningTheSchema",
            "its synced rows are kept out of sight (`ps_untyped`), and are back with the table"
        ),
        Promise(
            "the file has these tables of its own",
            "PowerSync/Internals/LocalDatabase",
            "`ps_data__<table>`",
            "`ps_data_local__<table>`",
            "`ps_untyped`",
            "`ps_oplog`",
            "`ps_crud`",
            "`ps_buckets`",
            "`ps_migration`"
        ),
        Promise(
            "rows are there twice, and what was downloaded may be newer than what is shown",
            "PowerSync/Internals/LocalDatabase",
            "Most rows are there twice, in `ps_oplog` and in `ps_data__<table>`",
            "The copy in `ps_oplog` may be newer"
        ),
        Promise(
            "of a row in several buckets the one with the highest op id is shown",
            "PowerSync/DesigningTheSchema",
            "the view shows the one with the highest op id"
        ),
        Promise(
            "what is downloaded becomes visible as a whole checkpoint",
            "PowerSync/ConflictsAndConsistency",
            "*A checkpoint is shown as a whole.*"
        ),
        Promise(
            "there are tables without views",
            "PowerSync/RawTables",
            "Sync rows into tables of your own instead of views over JSON"
        ),
        Promise(
            "what the user gets is what the sync config gives",
            "PowerSyncService/RunningAService",
            "The sync config says who gets what"
        ),
        Promise(
            "there are local-only tables",
            "PowerSync/DesigningTheSchema",
            "`localOnly: true` | no | no"
        ),
    ]

    // MARK: Uploads

    static let uploads = [
        Promise(
            "a write and its entry in the upload queue are one transaction",
            "PowerSync/UploadingLocalWrites",
            "appends an entry to the upload queue, in the same transaction"
        ),
        Promise(
            "the queue is first in, first out, and blocks",
            "PowerSync/UploadingLocalWrites",
            "The queue is first in, first out",
            "blocks everything behind it, for ever"
        ),
        Promise(
            "uploads begin after a write, with a connection, and with each keepalive",
            "PowerSync/UploadingLocalWrites",
            "after a local write, when the connection is opened (again), and with every keepalive"
        ),
        Promise(
            "uploadData is called in a loop until the queue is empty, and handles one batch or transaction",
            "PowerSync/UploadingLocalWrites",
            "It need only handle one transaction or batch; it is called again, at once, until the queue is empty"
        ),
        Promise(
            "uploads are throttled: a second by default; failures wait for 5 s",
            "PowerSync/QuestionsAndAnswers",
            "Uploads begin at most once a second (`crudThrottle`)",
            "after 5 s ±10 % (`retryDelay`)"
        ),
        Promise(
            "a write during an upload is uploaded after it, and quick ones together",
            "PowerSync/UploadingLocalWrites",
            "Writes that come during an upload are uploaded after it, and quick ones together"
        ),
        Promise(
            "a backend answers with success what it will never accept",
            "PowerSync/UploadingLocalWrites",
            "a backend that will never accept an entry should answer with success"
        ),
        Promise(
            "an error is shown, and the queue is tried again from its head",
            "PowerSync/UploadingLocalWrites",
            "waits for ``ConnectOptions/retryDelay`` and starts again from the head"
        ),
        Promise(
            "uploadError is in the status",
            "PowerSync/ConnectingToAService",
            "| `uploadError` | `uploadData` threw, or a write checkpoint could not be obtained"
        ),
        Promise(
            "uploadData without complete() is noticed, and waits",
            "PowerSync/UploadingLocalWrites",
            "*Potentially previously uploaded CRUD entries are still present*",
            "waits, too"
        ),
        Promise(
            "without a stream nothing is uploaded",
            "PowerSync/UploadingLocalWrites",
            "Without a connection nothing is uploaded"
        ),
        Promise(
            "an empty queue is followed by a write checkpoint",
            "PowerSync/UploadingLocalWrites",
            "When the queue is empty the SDK asks the service for a *write checkpoint*"
        ),
        Promise(
            "the backend decides about writes",
            "PowerSync/ConflictsAndConsistency",
            "The server's database decides"
        ),
        Promise(
            "raw tables have triggers for uploads",
            "PowerSync/RawTables",
            "powersync_create_raw_table_crud_trigger"
        ),
    ]

    // MARK: Credentials

    static let credentials = [
        Promise(
            "credentials are cached",
            "PowerSync/ConnectingToAService",
            "The SDK caches what it returns"
        ),
        Promise(
            "they are fetched when a connection begins, 30 s before the end, after the end, and after a 401",
            "PowerSync/TokensAndTheirLifetimes",
            "a connection begins",
            "30 seconds or less are left",
            "the token has expired",
            "the service answers 401"
        ),
        Promise(
            "a token of an hour is fetched once an hour",
            "PowerSync/TokensAndTheirLifetimes",
            "a token that is valid for an hour is fetched about once an hour"
        ),
        Promise(
            "fetchCredentials returns a fresh token each time",
            "PowerSync/TokensAndTheirLifetimes",
            "Return a fresh one from each call"
        ),
        Promise(
            "5 to 60 minutes are right, less than 30 s are not",
            "PowerSync/TokensAndTheirLifetimes",
            "| 5 to 60 minutes |",
            "| below 30 s | never"
        ),
        Promise(
            "a token that expires offline is replaced when there is a network",
            "PowerSync/TokensAndTheirLifetimes",
            "A token that expires meanwhile does no harm",
            "the SDK fetches a new one"
        ),
        Promise(
            "the sync token is not the session of the app",
            "PowerSync/TokensAndTheirLifetimes",
            "Uploads go to the app's backend with the session of the app"
        ),
        Promise(
            "a provider's token can be used as it is",
            "PowerSync/TokensAndTheirLifetimes",
            "tokens that the service can verify as they are"
        ),
        Promise(
            "a service tells the remaining time with keepalives about every 20 s",
            "PowerSync/TokensAndTheirLifetimes",
            "with its keepalives about every 20 s"
        ),
    ]

    // MARK: Priorities

    static let priorities = [
        Promise(
            "priorities are 0 to 3, smaller is more urgent, 3 is the default",
            "PowerSync/SyncingUrgentDataFirst",
            "Each stream has a priority from 0 to 3",
            "3 is the default"
        ),
        Promise(
            "one priority everywhere changes nothing",
            "PowerSync/SyncingUrgentDataFirst",
            "With one priority everywhere, nothing changes"
        ),
        Promise(
            "a priority is constant",
            "PowerSync/SyncingUrgentDataFirst",
            "cannot depend on a row"
        ),
        Promise(
            "a client may choose another priority, and the most urgent one counts",
            "PowerSync/SubscribingToStreams",
            "`priority` replaces the one of the sync config",
            "the most urgent priority counts, until the subscription has ended"
        ),
        Promise(
            "other parameters are another subscription",
            "PowerSync/SubscribingToStreams",
            "`todos` of two lists are two subscriptions"
        ),
        Promise(
            "more urgent data interrupts, and is never overtaken",
            "PowerSync/SyncingUrgentDataFirst",
            "More urgent data interrupts",
            "is never shown before that of the more urgent ones"
        ),
        Promise(
            "deleted rows disappear when everything is synced",
            "PowerSync/SyncingUrgentDataFirst",
            "**Deleted rows disappear with the complete checkpoint**"
        ),
        Promise(
            "refused local writes are taken back when everything is synced",
            "PowerSync/SyncingUrgentDataFirst",
            "is taken back with the complete checkpoint"
        ),
        Promise(
            "rows of two priorities may not match",
            "PowerSync/SyncingUrgentDataFirst",
            "may be of different moments"
        ),
        Promise(
            "priority 0 does not wait for uploads, and may flicker",
            "PowerSync/SyncingUrgentDataFirst",
            "Data of priority 0 is shown also while local writes wait for their upload",
            "it may flicker"
        ),
        Promise(
            "an app can wait for a priority, and see its status",
            "PowerSync/SyncingUrgentDataFirst",
            "waitForFirstSync(priority: 1)",
            "priorityStatusEntries",
            "statusForPriority(BucketPriority(1))"
        ),
    ]

    // MARK: Attachments

    static let attachments = [
        Promise(
            "rows have ids, a storage has the files",
            "PowerSync/Attachments",
            "Large files do not belong into synced rows"
        ),
        Promise(
            "five states",
            "PowerSync/Attachments",
            "``AttachmentState/queuedUpload``",
            "``AttachmentState/queuedDownload``",
            "``AttachmentState/synced``",
            "``AttachmentState/queuedDelete``",
            "``AttachmentState/archived``"
        ),
        Promise(
            "the table says where a file is, what it is, and what the app has to say of it",
            "PowerSync/Attachments",
            "`filename`, `media_type`, `size`, `local_uri` (the path of the file on this device), `state`, `timestamp`, `has_synced`",
            "`meta_data`, which is the app's own"
        ),
        Promise(
            "the table is local only and survives restarts",
            "PowerSync/Attachments",
            "local-only table, which survives restarts"
        ),
        Promise(
            "saving works offline, and links the row in one transaction",
            "PowerSync/Attachments",
            "The hook runs in the transaction that adds the row of the file",
            "It works offline"
        ),
        Promise(
            "files never change",
            "PowerSync/Attachments",
            "Files are immutable"
        ),
        Promise(
            "the remote storage is an adapter with three methods",
            "PowerSync/AttachmentStorages",
            "func uploadFile(fileData: Data, attachment: Attachment)",
            "func downloadFile(attachment: Attachment)",
            "func deleteFile(attachment: Attachment)"
        ),
        Promise(
            "signed URLs: no keys of the storage in the app",
            "PowerSync/AttachmentStorages",
            "Never put the keys of a storage into an app"
        ),
        Promise(
            "the local storage is an adapter, and one comes with the SDK",
            "PowerSync/AttachmentStorages",
            "``FileManagerStorageAdapter`` keeps files in the directory of the queue, and is the default"
        ),
        Promise(
            "the queue follows a complete list of references",
            "PowerSync/Attachments",
            "Each element of `watchAttachments` is the complete set of references"
        ),
        Promise(
            "several kinds in one query, or a queue each",
            "PowerSync/AttachmentStorages",
            "UNION ALL",
            "file_extension",
            "give each table a queue of its own"
        ),
        Promise(
            "failed transfers are tried again",
            "PowerSync/Attachments",
            "Every failed transfer is tried again"
        ),
        Promise(
            "an error handler decides about retries",
            "PowerSync/AttachmentStorages",
            "`true` tries again, `false` archives the attachment"
        ),
        Promise(
            "files are compared at each start, and repaired",
            "PowerSync/Attachments",
            "At each start the queue compares rows and files",
            "downloads synced files that are missing",
            "archives uploads whose file is gone"
        ),
        Promise(
            "what is not referenced is a cache, up to a limit",
            "PowerSync/Attachments",
            "the newest 100 archived files"
        ),
        Promise(
            "deleting removes the file everywhere",
            "PowerSync/Attachments",
            "it is removed from the storage and from this device"
        ),
        Promise(
            "transfers can depend on the network",
            "PowerSync/Attachments",
            "for example by the kind of network"
        ),
    ]

    // MARK: What is not kept

    static let notKept = [
        Promise(
            "sources in MongoDB and SQL Server",
            "PowerSync/Comparison",
            "| sources | PostgreSQL, MongoDB, MySQL, SQL Server | PostgreSQL, MySQL, MariaDB, any SQLite file |"
        ),
        Promise(
            "SDKs and attachment helpers for other languages",
            "PowerSync/Comparison",
            "| SDKs for other languages | JavaScript, Kotlin, Dart, .NET, Rust | none; theirs connect to this service |"
        ),
        Promise(
            "a hosted service",
            "PowerSync/Comparison",
            "| a hosted service, support | by its makers | no |"
        ),
    ]
}
