import Foundation
import NIOConcurrencyHelpers
import PowerSyncTesting

@testable import PowerSyncClient

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
    ///   - schema: The tables.
    ///   - service: Shared between harnesses of one file.
    ///   - clock: Shared between harnesses of one file.
    init(
        path: String = ":memory:",
        schema: Schema = SyncHarness.schema,
        service: ScriptedTransport = ScriptedTransport(),
        clock: TestClock = TestClock()
    ) {
        self.service = service
        self.clock = clock
        database = service.makeDatabase(
            schema: schema,
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

    /// Waits until a pass of uploads has ended: its throttle runs from its beginning, on a clock that stands still.
    func waitForUploadPass() async throws {
        try await clock.waitForTimer(of: .seconds(1))
    }

    /// Writes a row into the view `lists`.
    func insert(_ id: String, name: String = "local") async throws {
        try await database.execute(
            sql: "INSERT INTO lists (id, name) VALUES (?, ?)",
            parameters: [id, name]
        )
    }

    /// Lets the time pass in which other changes of subscriptions are waited for.
    func passSubscriptionChanges() async throws {
        try await clock.waitForTimer(of: SubscriptionChanges.quietTime)
        clock.advance(by: SubscriptionChanges.quietTime)
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
    private let date = NIOLockedValueBox(Date(timeIntervalSince1970: 1_700_000_000))

    var now: Date { date.withLockedValue { $0 } }

    func advance(by seconds: TimeInterval) {
        date.withLockedValue { $0 += seconds }
    }
}
