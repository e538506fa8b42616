import Dispatch
import Foundation
import GRDBSQLite
import NIOConcurrencyHelpers
import PowerSync

/// Connections of an app that uses SQLite's C API: one writer, one reader.
///
/// `@unchecked Sendable`: each handle is used on its queue only.
final class PlainPool: SQLiteConnectionPoolProtocol, @unchecked Sendable {
    private struct Lease: SQLiteConnectionLease {
        let pointer: OpaquePointer
    }

    let path: String
    private let writer: OpaquePointer
    private let reader: OpaquePointer
    private let writing = DispatchQueue(label: "writer")
    private let reading = DispatchQueue(label: "reader")
    private let updates = TableUpdates()
    /// How often a callback wrote.
    let writes = Shared(0)
    /// Called when a callback is to write, before it waits for its turn.
    let willWait = Shared<(@Sendable () -> Void)?>(nil)

    /// - Parameters:
    ///   - path: A file, or `:memory:`.
    ///   - first: What each connection runs before anything else.
    init(path: String, first: String = "") {
        self.path = path
        writer = PlainPool.open(path, first)
        reader = PlainPool.open(path, first)
        sqlite3_exec(writer, "PRAGMA journal_mode = WAL", nil, nil, nil)
        updates.install(on: writer)
    }

    private static func open(_ path: String, _ first: String) -> OpaquePointer {
        var connection: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        guard sqlite3_open_v2(path, &connection, flags, nil) == SQLITE_OK, let connection else {
            preconditionFailure("cannot open \(path)")
        }
        sqlite3_exec(connection, first, nil, nil, nil)
        return connection
    }

    var tableUpdates: AsyncStream<Set<String>> { updates.stream() }

    func read<T: Sendable>(
        onConnection: @Sendable @escaping (any SQLiteConnectionLease) throws -> T
    ) async throws -> T {
        try await run(on: reading) { try onConnection(Lease(pointer: self.reader)) }
    }

    func write<T: Sendable>(
        onConnection: @Sendable @escaping (any SQLiteConnectionLease) throws -> T
    ) async throws -> T {
        willWait.value?()
        return try await run(on: writing) {
            self.writes.value += 1
            defer { self.updates.publish() }
            return try onConnection(Lease(pointer: self.writer))
        }
    }

    func withAllConnections<T: Sendable>(
        onConnection:
            @Sendable @escaping (
                _ writer: any SQLiteConnectionLease, _ readers: [any SQLiteConnectionLease]
            ) throws -> T
    ) async throws -> T {
        try await run(on: writing) {
            try self.reading.sync {
                try onConnection(Lease(pointer: self.writer), [Lease(pointer: self.reader)])
            }
        }
    }

    func close() async throws {
        try await run(on: writing) {
            self.reading.sync {
                sqlite3_close_v2(self.writer)
                sqlite3_close_v2(self.reader)
            }
            self.updates.finish()
        }
    }

    private func run<T: Sendable>(
        on queue: DispatchQueue,
        _ body: @escaping @Sendable () throws -> T
    ) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try body() }) }
        }
    }
}

/// Tells subscribers which tables a connection has written.
private final class TableUpdates: Sendable {
    private struct State {
        var changed: Set<String> = []
        var subscribers: [AsyncStream<Set<String>>.Continuation] = []
    }

    private let state = NIOLockedValueBox(State())

    func install(on connection: OpaquePointer) {
        sqlite3_update_hook(
            connection,
            { pointer, _, _, table, _ in
                guard let pointer, let table else { return }
                let updates = Unmanaged<TableUpdates>.fromOpaque(pointer).takeUnretainedValue()
                let name = String(cString: table)
                updates.state.withLockedValue { _ = $0.changed.insert(name) }
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    func stream() -> AsyncStream<Set<String>> {
        let (stream, continuation) = AsyncStream.makeStream(of: Set<String>.self)
        state.withLockedValue { $0.subscribers.append(continuation) }
        return stream
    }

    func publish() {
        let (changed, subscribers) = state.withLockedValue { state in
            defer { state.changed = [] }
            return (state.changed, state.subscribers)
        }
        guard !changed.isEmpty else { return }
        subscribers.forEach { $0.yield(changed) }
    }

    func finish() {
        state.withLockedValue { $0.subscribers }.forEach { $0.finish() }
    }
}
