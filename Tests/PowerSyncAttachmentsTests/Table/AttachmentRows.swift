import Foundation
import NIOConcurrencyHelpers
import PowerSyncTesting
import TestSupport

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// A database with an attachments table, a context over it, and a clock that stands still until a test sets it.
final class AttachmentRows: Sendable {
    let db: any PowerSyncDatabaseProtocol
    let context: AttachmentContext
    let storage: InMemoryLocalStorage
    private let log = RecordingLogger()
    private let clock: ClockOfRows

    /// The time that the context sees.
    var time: Int64 {
        get { clock.time.withLockedValue(\.self) }
        set { clock.time.withLockedValue { $0 = newValue } }
    }

    private final class ClockOfRows: Sendable {
        let time = NIOLockedValueBox<Int64>(1000)
    }

    private init(tables: [Table], tableName: String, limit: Int64, files: [String], path: String) {
        let clock = ClockOfRows()
        self.clock = clock
        db = PowerSyncDatabase(schema: Schema(tables: tables), dbFilename: path, logger: log)
        storage = InMemoryLocalStorage(files: Dictionary(uniqueKeysWithValues: files.map { ($0, Data($0.utf8)) }))
        context = AttachmentContext(db: db, tableName: tableName, logger: log, maxArchivedCount: limit) {
            clock.time.withLockedValue(\.self)
        }
    }

    /// Runs a test with a database of its own.
    ///
    /// There is a table `photos` with a column `file_id`, which stands for the app's data.
    static func with(
        table: Table = createAttachmentTable(name: "attachments"),
        limit: Int64 = 100,
        files: [String] = [],
        _ body: (AttachmentRows) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "rows-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let rows = AttachmentRows(
            tables: [table, Table(name: "photos", columns: [.text("file_id")])],
            tableName: table.name,
            limit: limit,
            files: files,
            path: folder.appending(path: "test.db").path
        )
        do {
            try await body(rows)
        } catch {
            try? await rows.db.close()
            throw error
        }
        try await rows.db.close()
    }

    /// What was logged with a severity.
    func messages(_ severity: LogSeverity) -> [String] {
        log.messages(severity)
    }

    /// Writes rows exactly as they are, with their timestamps.
    func insert(_ attachments: Attachment...) async throws {
        let store = context.store
        _ = try await db.writeTransaction { transaction in
            for attachment in attachments { try store.insert(attachment, in: transaction) }
        }
    }

    /// All rows, by id.
    func all() async throws -> [String: Attachment] {
        Dictionary(uniqueKeysWithValues: try await context.getAttachments().map { ($0.id, $0) })
    }

    /// The state of a row; `nil` when there is none.
    func state(_ id: String) async throws -> AttachmentState? {
        try await context.getAttachment(id: id)?.state
    }

    /// Processes an element whose files are in `/files`.
    @discardableResult
    func process(
        _ ids: [String],
        at time: Int64,
        downloads: Bool = true,
        archives: Bool = true
    ) async throws -> WatchElementSummary {
        let items = ids.map { WatchedAttachmentItem(id: $0, fileExtension: "jpg") }
        return try await process(items: items, at: time, downloads: downloads, archives: archives)
    }

    /// Processes an element whose files are in `/files`.
    @discardableResult
    func process(
        items: [WatchedAttachmentItem],
        at time: Int64,
        downloads: Bool = true,
        archives: Bool = true
    ) async throws -> WatchElementSummary {
        try await context.process(
            items,
            filenames: { item in
                let name = item.filename ?? "\(item.id).\(item.fileExtension ?? "")"
                try AttachmentPath.check(filename: name)
                return name
            },
            deliveredAt: time,
            downloads: downloads,
            archives: archives,
            localUri: AttachmentRows.localUri,
            storage: storage
        )
    }

    /// Verifies all rows; the files should be in `/files`.
    func verify(downloads: Bool = true) async throws {
        try await context.verify(downloads: downloads, localUri: AttachmentRows.localUri, storage: storage)
    }

    /// The path of a file in `/files`.
    @Sendable
    static func localUri(_ filename: String) async throws -> String {
        try AttachmentPath.check(filename: filename)
        return "/files/\(filename)"
    }
}

extension Attachment {
    /// A row as tests have it: everything that a transition must keep is set.
    static func row(
        _ id: String,
        _ state: AttachmentState,
        hasSynced: Bool = false,
        localUri: String? = nil,
        timestamp: Int = 10,
        size: Int64? = 5
    ) -> Attachment {
        Attachment(
            id: id,
            filename: "\(id).jpg",
            state: state,
            timestamp: timestamp,
            hasSynced: hasSynced,
            localUri: localUri,
            mediaType: "image/jpeg",
            size: size,
            metaData: #"{"by":"me"}"#
        )
    }
}
