import Foundation
import NIOConcurrencyHelpers
import PowerSyncTesting

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// A queue over a real database, storages in memory and a clock that stands still.
///
/// The references are the `photo_id`s of the table `users`.
final class QueueHarness: Sendable {
    static let directory = "/attachments"
    static let schema = Schema(tables: [
        Table(name: "users", columns: [.text("photo_id")]),
        Table(name: "documents", columns: [.text("file_id")]),
        createAttachmentTable(name: "attachments"),
        createAttachmentTable(name: "document_files"),
    ])

    let remote: InMemoryRemoteStorage
    let local: InMemoryLocalStorage
    let clock = TestClock()
    let date = NIOLockedValueBox(Date(timeIntervalSince1970: 1_700_000_000))
    let log = RecordingLogger()
    let database: any PowerSyncDatabaseProtocol

    /// - Parameters:
    ///   - path: Where the database is; in memory by default.
    ///   - remote: The remote storage.
    ///   - local: The local storage.
    ///   - service: What the database syncs with; nothing by default.
    init(
        path: String = ":memory:",
        remote: InMemoryRemoteStorage = InMemoryRemoteStorage(),
        local: InMemoryLocalStorage = InMemoryLocalStorage(),
        service: ScriptedTransport = ScriptedTransport()
    ) {
        self.remote = remote
        self.local = local
        database = service.makeDatabase(schema: QueueHarness.schema, dbFilename: path, clock: clock, logger: log)
    }

    /// Runs a test with a queue, which is closed afterwards with the database.
    ///
    /// The first verification has ended, so it does not see rows that the test writes without files.
    static func run(
        remote files: [String: String] = [:],
        _ options: AttachmentQueueOptions = .test,
        _ body: (QueueHarness, AttachmentQueue) async throws -> Void
    ) async throws {
        let harness = QueueHarness(remote: InMemoryRemoteStorage(files: files.mapValues { Data($0.utf8) }))
        let queue = harness.makeQueue(options)
        try await harness.closing(queue) {
            try await queue.waitForInit()
            try await body(harness, queue)
        }
    }

    /// Runs a test, and closes its queue and the database whatever becomes of it.
    func closing(_ queue: AttachmentQueue, _ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch {
            try? await end(queue)
            throw error
        }
        try await end(queue)
    }

    private func end(_ queue: AttachmentQueue) async throws {
        try await queue.close()
        try await database.close()
    }

    /// Makes a queue that follows the photos of users.
    func makeQueue(
        _ options: AttachmentQueueOptions = .test,
        storage: AttachmentQueueStorage? = nil,
        directory: String = QueueHarness.directory,
        localStorage: (any LocalStorageAdapter)? = nil,
        references: (@Sendable () throws -> AsyncThrowingStream<[WatchedAttachmentItem], any Error>)? = nil
    ) -> AttachmentQueue {
        AttachmentQueue(
            db: database,
            storage: storage ?? .remote(remote),
            attachmentsDirectory: directory,
            watchAttachments: references ?? { [database] in try QueueHarness.photos(of: database) },
            localStorage: localStorage ?? local,
            options: options,
            environment: environment
        )
    }

    /// What transfers without a queue need, one at a time by default.
    func transferContext(
        service: any AttachmentServiceProtocol,
        table: SharedAttachmentTable,
        limit: Int = 1,
        logger: (any LoggerProtocol)? = nil,
        transport: (any AttachmentTransportAdapter)? = nil
    ) -> TransferContext {
        var options = AttachmentQueueOptions()
        options.maxConcurrentTransfers = limit
        options.syncThrottle = .zero
        return TransferContext(
            transport: transport ?? BufferedAttachmentTransport(remote: remote, local: local),
            keepsPartialDownloads: false,
            localStorage: local,
            service: service,
            directory: QueueHarness.directory,
            paths: AttachmentPaths(directory: nil) { [self] in path($0) },
            options: options,
            logger: logger ?? log,
            table: table,
            progress: TransferProgressHub(),
            clock: ElapsedClock(clock),
            random: { 0.5 },
            isDatabaseClosed: { false }
        )
    }

    /// The environment of the queues.
    var environment: SyncEnvironment {
        var environment = SyncEnvironment.live
        environment.clock = clock
        environment.now = { [self] in
            // Each look at the date is a millisecond later than the one before, so that the order of rows is that of time.
            date.withLockedValue { date in
                date.addTimeInterval(0.001)
                return date
            }
        }
        environment.random = { 0.5 }
        return environment
    }

    /// The photos of all users, as an app watches them.
    static func photos(
        of database: any PowerSyncDatabaseProtocol
    ) throws -> AsyncThrowingStream<[WatchedAttachmentItem], any Error> {
        try database.watch(
            options: WatchOptions(
                sql: "SELECT photo_id FROM users WHERE photo_id IS NOT NULL",
                throttle: 0,
                mapper: { WatchedAttachmentItem(id: try $0.getString(index: 0), fileExtension: "jpg") }
            )
        )
    }

    /// Adds a user with a photo.
    func link(_ id: String) async throws {
        try await database.execute(
            sql: "INSERT INTO users (id, photo_id) VALUES (uuid(), ?)",
            parameters: [id]
        )
    }

    /// Adds users with photos, in one transaction.
    func link(_ ids: [String]) async throws {
        try await database.writeTransaction { transaction in
            for id in ids {
                try transaction.execute(
                    sql: "INSERT INTO users (id, photo_id) VALUES (uuid(), ?)",
                    parameters: [id]
                )
            }
        }
    }

    /// Removes the users with a photo.
    func unlink(_ id: String) async throws {
        try await database.execute(sql: "DELETE FROM users WHERE photo_id = ?", parameters: [id])
    }

    /// Writes rows of the attachments table.
    func insert(_ attachments: Attachment..., table: String = "attachments") async throws {
        let context = AttachmentContext(db: database, tableName: table, logger: log, maxArchivedCount: 100)
        try await context.saveAttachments(attachments: attachments)
    }

    /// The rows of the attachments table by id.
    func rows(in table: String = "attachments") async throws -> [String: Attachment] {
        let rows = try await database.getAll("SELECT * FROM \(table)", mapper: Attachment.fromCursor)
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0) })
    }

    /// Waits for rows.
    ///
    /// - Returns: The rows by id.
    @discardableResult
    func waitForRows(
        in table: String = "attachments",
        until isReached: ([String: Attachment]) -> Bool
    ) async throws -> [String: Attachment] {
        let options = WatchOptions(sql: "SELECT * FROM \(table)", throttle: 0, mapper: Attachment.fromCursor)
        for try await rows in try database.watch(options: options) {
            let rows = Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0) })
            if isReached(rows) { return rows }
        }
        throw CancellationError()
    }

    /// Waits until an attachment is in a state.
    @discardableResult
    func wait(for id: String, _ state: AttachmentState) async throws -> Attachment? {
        try await waitForRows { $0[id]?.state == state }[id]
    }

    /// The path of a file.
    func path(_ filename: String) -> String { "\(QueueHarness.directory)/\(filename)" }
}

extension AttachmentQueueOptions {
    /// Without a throttle, which tests of the throttle set.
    static var test: AttachmentQueueOptions {
        var options = AttachmentQueueOptions()
        options.syncThrottle = .zero
        return options
    }

    /// The options of most tests, with changes.
    static func test(_ change: (inout AttachmentQueueOptions) -> Void) -> AttachmentQueueOptions {
        var options = test
        change(&options)
        return options
    }
}

/// An error handler that answers as a test says, and remembers what it was asked.
final class ScriptedErrorHandler: SyncErrorHandler {
    struct Question: Sendable, Equatable {
        let direction: AttachmentTransferProgress.Direction
        let id: String
        let state: AttachmentState
    }

    private let answer: @Sendable (any Error) -> Bool
    private let asked = NIOLockedValueBox<[Question]>([])
    private let changes = Signal()

    init(_ answer: @escaping @Sendable (any Error) -> Bool) {
        self.answer = answer
    }

    var questions: [Question] { asked.withLockedValue { $0 } }

    func waitForQuestions(_ count: Int) async throws {
        try await changes.wait { questions.count >= count ? () : nil }
    }

    private func ask(
        _ direction: AttachmentTransferProgress.Direction,
        _ attachment: Attachment,
        _ error: any Error
    ) -> Bool {
        asked.withLockedValue { $0.append(Question(direction: direction, id: attachment.id, state: attachment.state)) }
        changes.fire()
        return answer(error)
    }

    func onDownloadError(attachment: Attachment, error: any Error) async -> Bool { ask(.download, attachment, error) }
    func onUploadError(attachment: Attachment, error: any Error) async -> Bool { ask(.upload, attachment, error) }
    func onDeleteError(attachment: Attachment, error: any Error) async -> Bool { ask(.delete, attachment, error) }
}
