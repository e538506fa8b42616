import Foundation
import PowerSyncProtocol
import PowerSyncTesting
import Synchronization

@testable import PowerSync

/// The real SDK on a scripted service and a clock that stands still.
final class SyncHarness: Sendable {
    let service: ScriptedTransport
    let clock: TestClock
    let connector = ScriptedConnector()
    let log = RecordingLogger()
    let date = TestDate()
    let database: any PowerSyncDatabaseProtocol

    static let schema = Schema(
        tables: [
            Table(name: "lists", columns: [.text("name")]),
            Table(name: "logs", columns: [.text("line")], insertOnly: true),
        ]
    )

    /// - Parameters:
    ///   - path: Where the database is; in memory by default.
    ///   - service: Shared between harnesses of one file.
    ///   - clock: Shared between harnesses of one file.
    init(
        path: String = ":memory:",
        service: ScriptedTransport = ScriptedTransport(),
        clock: TestClock = TestClock()
    ) {
        self.service = service
        self.clock = clock
        database = service.makeDatabase(
            schema: SyncHarness.schema,
            dbFilename: path,
            clock: clock,
            now: { [date] in date.now },
            logger: log
        )
    }

    /// Connects with the harness's connector.
    func connect(_ options: ConnectOptions = ConnectOptions()) async throws {
        try await database.connect(connector: connector, options: options)
    }

    /// Connects and accepts the first stream.
    func connectAndAccept(_ options: ConnectOptions = ConnectOptions()) async throws -> ScriptedStream {
        try await connect(options)
        return try await acceptNext()
    }

    /// Accepts the next stream and waits until the client knows.
    func acceptNext() async throws -> ScriptedStream {
        let stream = try await service.nextStream()
        stream.accept()
        try await wait { $0.connected }
        return stream
    }

    /// Waits for a status.
    func wait(until isReached: @escaping @Sendable (SyncStatusSnapshot) -> Bool) async throws {
        guard let status = database.currentStatus as? LiveSyncStatus else { return }
        try await status.wait(until: isReached)
    }

    /// Writes a row into the view `lists`.
    func insert(_ id: String, name: String = "local") async throws {
        try await database.execute(
            sql: "INSERT INTO lists (id, name) VALUES (?, ?)",
            parameters: [id, name]
        )
    }

    /// The ids in the view `lists`, with their names.
    func lists() async throws -> [String: String] {
        let rows = try await database.getAll("SELECT id, name FROM lists") { cursor in
            (try cursor.getString(name: "id"), try cursor.getString(name: "name"))
        }
        return Dictionary(uniqueKeysWithValues: rows)
    }

    /// An integer from the database.
    func integer(_ sql: String) async throws -> Int? {
        try await database.getOptional(sql) { try $0.getInt(index: 0) }
    }
}

/// A date that stands still until a test moves it.
final class TestDate: Sendable {
    private let date = Mutex(Date(timeIntervalSince1970: 1_700_000_000))

    var now: Date { date.withLock { $0 } }

    func advance(by seconds: TimeInterval) {
        date.withLock { $0 += seconds }
    }
}

/// A back end that does what a test says.
final class ScriptedConnector: PowerSyncBackendConnectorProtocol {
    typealias Fetch = @Sendable (_ call: Int) async throws -> PowerSyncCredentials?
    typealias Upload = @Sendable (_ database: any PowerSyncDatabaseProtocol, _ call: Int) async throws -> Void

    private struct State {
        var fetch: Fetch = { PowerSyncCredentials(endpoint: "https://sync.test", token: "token \($0)") }
        var upload: Upload = { database, _ in
            while let transaction = try await database.getNextCrudTransaction() {
                try await transaction.complete()
            }
        }
        var fetches = 0
        var uploads = 0
    }

    private let state = Mutex(State())
    private let changes = Signal()

    /// How often `fetchCredentials` was called.
    var fetches: Int { state.withLock { $0.fetches } }
    /// How often `uploadData` was called.
    var uploads: Int { state.withLock { $0.uploads } }

    /// Says what `fetchCredentials` does; calls count from 1.
    func onFetch(_ fetch: @escaping Fetch) {
        state.withLock { $0.fetch = fetch }
    }

    /// Says what `uploadData` does; calls count from 1.
    func onUpload(_ upload: @escaping Upload) {
        state.withLock { $0.upload = upload }
    }

    /// Waits until `fetchCredentials` was called this often.
    func waitForFetches(_ count: Int) async throws {
        try await changes.wait { fetches >= count ? () : nil }
    }

    /// Waits until `uploadData` was called this often.
    func waitForUploads(_ count: Int) async throws {
        try await changes.wait { uploads >= count ? () : nil }
    }

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        let (fetch, call) = state.withLock { state in
            state.fetches += 1
            return (state.fetch, state.fetches)
        }
        changes.fire()
        return try await fetch(call)
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        let (upload, call) = state.withLock { state in
            state.uploads += 1
            return (state.upload, state.uploads)
        }
        changes.fire()
        try await upload(database, call)
    }
}

/// Remembers messages.
final class RecordingLogger: LoggerProtocol {
    private let messages = Mutex<[(severity: LogSeverity, text: String)]>([])
    private let changes = Signal()

    /// The messages of a severity, in order.
    func messages(_ severity: LogSeverity) -> [String] {
        messages.withLock { $0.filter { $0.severity == severity }.map(\.text) }
    }

    /// Waits for a message.
    func wait(for severity: LogSeverity, containing text: String) async throws {
        try await changes.wait { messages(severity).contains { $0.contains(text) } ? () : nil }
    }

    private func record(_ severity: LogSeverity, _ text: String) {
        messages.withLock { $0.append((severity, text)) }
        changes.fire()
    }

    func info(_ message: String, tag: String?) { record(.info, message) }
    func error(_ message: String, tag: String?) { record(.error, message) }
    func debug(_ message: String, tag: String?) { record(.debug, message) }
    func warning(_ message: String, tag: String?) { record(.warning, message) }
    func fault(_ message: String, tag: String?) { record(.fault, message) }
}

/// Something that a test makes happen.
struct ScriptedError: Error, Equatable {
    var name = "scripted"
}

/// A gate that tasks wait at until the test opens it.
final class TaskGate: Sendable {
    private let isOpen = Mutex(false)
    private let changes = Signal()

    func open() {
        isOpen.withLock { $0 = true }
        changes.fire()
    }

    func pass() async throws {
        try await changes.wait { isOpen.withLock { $0 } ? () : nil }
    }
}

extension SyncLine {
    /// A checkpoint; checksums are 0.
    static func checkpoint(
        _ opID: Int64,
        _ buckets: [BucketDescription] = [],
        writeCheckpoint: Int64? = nil,
        streams: [StreamDescription] = []
    ) -> SyncLine {
        .checkpoint(
            Checkpoint(
                lastOpID: OpID(opID),
                writeCheckpoint: writeCheckpoint.map { WriteCheckpoint($0) },
                buckets: buckets,
                streams: streams
            )
        )
    }

    /// Operations that put rows into `lists`; the ids of rows are `<bucket><op id>`.
    static func put(_ bucket: String, _ opIDs: ClosedRange<Int64>) -> SyncLine {
        var line = DataLine(bucket: BucketName(bucket))
        for opID in opIDs {
            line.append(
                .put,
                opID: OpID(opID),
                checksum: .zero,
                objectType: "lists",
                objectID: "\(bucket)\(opID)",
                data: #"{"name":"remote"}"#
            )
        }
        return .data(line)
    }

    /// The end of a checkpoint.
    static let done = SyncLine.checkpointComplete(CheckpointComplete(lastOpID: nil))

    /// The end of the part of a checkpoint up to a priority.
    static func done(_ priority: Int32) -> SyncLine {
        .partialCheckpointComplete(PartialCheckpointComplete(lastOpID: nil, priority: Priority(priority)))
    }
}

extension BucketDescription {
    /// A bucket of a checkpoint; the checksum is 0.
    static func bucket(
        _ name: String,
        _ priority: Int32 = 3,
        count: Int64? = nil,
        reasons: [BucketReason] = []
    ) -> BucketDescription {
        BucketDescription(
            name: BucketName(name),
            checksum: .zero,
            priority: Priority(priority),
            count: count,
            reasons: reasons
        )
    }
}
