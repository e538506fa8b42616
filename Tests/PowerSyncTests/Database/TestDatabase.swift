import Foundation
import NIOConcurrencyHelpers
import PowerSync
import TestSupport

/// The tables of most tests.
let testSchema = Schema(
    Table(name: "users", columns: [.text("name"), .text("email"), .integer("age"), .real("score")]),
    Table(name: "tasks", columns: [.text("user_id"), .text("title"), .integer("done")])
)

/// Runs a test on a database in memory and closes it.
func withMemoryDatabase<T>(
    _ schema: Schema = testSchema,
    logger: any LoggerProtocol = DefaultLogger(writers: []),
    _ body: (any PowerSyncDatabaseProtocol) async throws -> T
) async throws -> T {
    try await closingAfterwards(PowerSyncDatabase(schema: schema, dbFilename: ":memory:", logger: logger), body)
}

/// Runs a test on a database in a new file and deletes it.
func withFileDatabase<T>(
    _ schema: Schema = testSchema,
    logger: any LoggerProtocol = DefaultLogger(writers: []),
    _ body: (any PowerSyncDatabaseProtocol) async throws -> T
) async throws -> T {
    try await withTemporaryDirectory { directory in
        let path = directory.appendingPathComponent("test.db").path
        return try await closingAfterwards(PowerSyncDatabase(schema: schema, dbFilename: path, logger: logger), body)
    }
}

private func closingAfterwards<T>(
    _ database: any PowerSyncDatabaseProtocol,
    _ body: (any PowerSyncDatabaseProtocol) async throws -> T
) async throws -> T {
    let result: T
    do {
        result = try await body(database)
    } catch {
        try? await database.close()
        throw error
    }
    try await database.close()
    return result
}

/// Keeps what was logged.
final class CollectingLogWriter: LogWriterProtocol {
    struct Entry: Equatable {
        let severity: LogSeverity
        let message: String
        let tag: String?
    }

    private let state = NIOLockedValueBox<[Entry]>([])

    var entries: [Entry] { state.withLockedValue { $0 } }

    func messages(_ severity: LogSeverity) -> [String] {
        entries.filter { $0.severity == severity }.map(\.message)
    }

    func log(severity: LogSeverity, message: String, tag: String?) {
        state.withLockedValue { $0.append(Entry(severity: severity, message: message, tag: tag)) }
    }
}

extension PowerSyncDatabaseProtocol {
    /// Adds a user.
    func insertUser(_ name: String, id: String = UUID().uuidString) async throws {
        try await execute(
            sql: "INSERT INTO users (id, name, email) VALUES (?, ?, ?)",
            parameters: [id, name, "\(name)@example.org"]
        )
    }

    /// The number of rows of a table or view.
    func count(_ table: String) async throws -> Int {
        try await get("SELECT count(*) FROM \(table)") { try $0.getInt(index: 0) }
    }
}

/// A gate that synchronous callbacks wait at, until the test opens it.
final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    /// Blocks the thread until the gate is opened once more.
    func wait() { semaphore.wait() }

    /// Lets waiting callbacks through.
    func open(times: Int = 1) {
        for _ in 0..<times { semaphore.signal() }
    }
}

/// A count that a test can wait for.
final class Counter: Sendable {
    private let signal = AsyncStream.makeStream(of: Void.self)

    /// Adds one.
    func increment() { signal.continuation.yield() }

    /// Waits for this many increments.
    ///
    /// Call it once.
    func wait(for count: Int) async {
        var iterator = signal.stream.makeAsyncIterator()
        for _ in 0..<count { await iterator.next() }
    }
}

/// A value that several tasks read and write.
final class Shared<Value: Sendable>: Sendable {
    private let mutex: NIOLockedValueBox<Value>

    init(_ value: Value) {
        mutex = NIOLockedValueBox(value)
    }

    var value: Value {
        get { mutex.withLockedValue { $0 } }
        set { mutex.withLockedValue { $0 = newValue } }
    }
}
