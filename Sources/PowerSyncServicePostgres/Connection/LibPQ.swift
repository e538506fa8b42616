import CLibPQ
import NIOConcurrencyHelpers
import NIOCore
import PowerSyncProtocol
import PowerSyncServiceCore

/// One connection of libpq, used by one thread at a time, which it blocks.
///
/// Every wait ends when ``interrupt()`` was called, from any thread, or its time is up; then the connection is of no use.
///
/// `@safe`: the connection of libpq is made and freed here, is `nil` once it is freed, and libpq takes `nil` for a connection that
/// is closed.
@safe final class LibPQ: @unchecked Sendable {
    // @unchecked: the owner calls everything but `interrupt()` from one serial queue; what that touches has locks.

    /// A row that was received.
    ///
    /// `@safe`: rows are handed to closures that end before their result is freed, and libpq checks the numbers of rows and columns.
    @safe struct Row {
        fileprivate let result: OpaquePointer
        fileprivate let row: CInt

        /// The number of columns.
        var count: Int { unsafe Int(PQnfields(result)) }

        /// The name of a column, as the statement has it.
        func name(_ column: Int) -> String {
            unsafe PQfname(result, CInt(column)).map { unsafe String(cString: $0) } ?? "number \(column + 1)"
        }

        /// Calls `body` with the text of a value; `nil` for NULL.
        ///
        /// The view is valid while it runs.
        func withValue<Result>(_ column: Int, _ body: (ByteView?) -> Result) -> Result {
            guard unsafe PQgetisnull(result, row, CInt(column)) == 0,
                let text = unsafe PQgetvalue(result, row, CInt(column))
            else {
                return body(nil)
            }
            let count = unsafe Int(PQgetlength(result, row, CInt(column)))
            return unsafe body(ByteView(UnsafeRawBufferPointer(start: text, count: count)))
        }

        /// The memory of a value; `nil` for NULL.
        ///
        /// It is valid as long as the row.
        func memory(_ column: Int) -> UnsafeRawBufferPointer? {
            guard unsafe PQgetisnull(result, row, CInt(column)) == 0,
                let value = unsafe PQgetvalue(result, row, CInt(column))
            else {
                return nil
            }
            return unsafe UnsafeRawBufferPointer(start: value, count: Int(PQgetlength(result, row, CInt(column))))
        }
    }

    private(set) var connection: OpaquePointer?
    private let poll: WakeablePoll
    private let interrupted = NIOLockedValueBox(false)

    /// Creates a connection that is not open.
    init() throws(PostgresError) {
        poll = try WakeablePoll()
    }

    deinit {
        unsafe PQfinish(connection)
    }

    /// Ends what is running, and refuses everything else.
    func interrupt() {
        interrupted.withLockedValue { $0 = true }
        poll.wake()
    }

    /// Whether ``interrupt()`` was called.
    var isInterrupted: Bool { interrupted.withLockedValue { $0 } }

    /// Ends a wait of ``waitForActivity(_:timeout:)``.
    func wake() { poll.wake() }

    /// The version of the server, such as 150_000.
    var serverVersion: Int { unsafe Int(PQserverVersion(connection)) }

    /// The process of the server that answers, as was said when the connection was made.
    var process: Int32 { unsafe PQbackendPID(connection) }

    // MARK: Opening and closing

    /// Connects.
    ///
    /// - Parameters:
    ///   - string: Where to.
    ///   - parameters: Of libpq, stronger than those of the string.
    ///   - deadline: Until when.
    /// - Throws: ``PostgresError``.
    func connect(
        _ string: PostgresConnectionString,
        _ parameters: [(name: String, value: String)],
        until deadline: ContinuousClock.Instant
    ) throws {
        let activity = "connecting"
        try Self.check(string)
        let all = [("dbname", string.text)] + parameters.map { ($0.name, $0.value) }
        unsafe connection = withCStrings(all.map(\.0)) { names in
            unsafe withCStrings(all.map(\.1)) { values in unsafe PQconnectStartParams(names, values, 1) }
        }
        guard unsafe connection != nil, unsafe PQstatus(connection) != CONNECTION_BAD else { throw failure(activity) }
        // Notices would go to the standard error.
        unsafe PQsetNoticeProcessor(connection, { _, _ in }, nil)
        var state = PGRES_POLLING_WRITING
        while state != PGRES_POLLING_OK {
            guard state != PGRES_POLLING_FAILED else { throw failure(activity) }
            // Nothing has been sent to the address yet, be it the first one of the host or another one.
            try checkAddress(string.rejectedAddresses, activity)
            try wait(state == PGRES_POLLING_READING ? .readable : .writable, until: deadline, activity)
            state = unsafe PQconnectPoll(connection)
        }
        guard unsafe PQsetnonblocking(connection, 1) == 0 else { throw failure(activity) }
    }

    private func checkAddress(_ rejected: AddressRanges, _ activity: String) throws {
        guard !rejected.isEmpty, let text = unsafe PQhostaddr(connection),
            let address = unsafe try? SocketAddress(ipAddress: String(cString: text), port: 0),
            rejected.contains(address)
        else { return }
        let host = unsafe PQhost(connection).map { unsafe String(cString: $0) } ?? ""
        throw PostgresError(
            .connection,
            "\(host) has an address in a range that reject_ip_ranges refuses",
            activity: activity
        )
    }

    /// Closes the connection.
    func finish() {
        unsafe PQfinish(connection)
        unsafe connection = nil
    }

    /// What cancels the statement that the server runs, also when the connection is closed; `nil` when it runs none, be it that
    /// the connection is not open yet.
    var cancellation: Cancellation? {
        // Streams and pipelines count as active until their last result was taken.
        guard unsafe PQtransactionStatus(connection) == PQTRANS_ACTIVE else { return nil }
        return unsafe PQgetCancel(connection).map { unsafe Cancellation($0) }
    }

    /// Cancels a statement, on a connection of its own.
    ///
    /// `@safe`: it alone has the pointer, which it frees at its end.
    @safe final class Cancellation: @unchecked Sendable {
        // @unchecked: used by one thread, and libpq only reads it.
        private let cancel: OpaquePointer

        fileprivate init(_ cancel: OpaquePointer) {
            unsafe self.cancel = cancel
        }

        deinit {
            unsafe PQfreeCancel(cancel)
        }

        /// Asks the server; blocks until that has answered, which may be minutes if it cannot be reached.
        func run() {
            var buffer = [CChar](repeating: 0, count: 256)
            _ = unsafe PQcancel(cancel, &buffer, CInt(buffer.count))
        }
    }

    // MARK: Statements

    /// Sends a statement with parameters, or several without.
    func send(
        _ sql: String,
        _ arguments: [String?]?,
        until deadline: ContinuousClock.Instant,
        _ activity: String
    ) throws {
        try check(activity)
        let isSent =
            if let arguments {
                unsafe withCStrings(arguments) { values in
                    unsafe PQsendQueryParams(connection, sql, CInt(arguments.count), nil, values, nil, nil, 0)
                }
            } else {
                unsafe PQsendQuery(connection, sql)
            }
        guard isSent == 1 else { throw failure(activity) }
        try flush(until: deadline, activity)
    }

    /// Sends a statement whose parameters and results have their binary form.
    func send(
        _ sql: String,
        binary arguments: [PostgresArgument],
        until deadline: ContinuousClock.Instant,
        _ activity: String
    ) throws {
        try check(activity)
        try Self.checkSizes(of: arguments, activity)
        try queue(sql, arguments, activity)
        try flush(until: deadline, activity)
    }

    /// Checks that the server takes values of this size, before anything is sent: the connection can be used on.
    static func checkSizes(of arguments: [PostgresArgument], _ activity: String) throws {
        guard arguments.allSatisfy({ $0.bytes.map { $0.count < PostgresArgument.maximumBytes } ?? true }) else {
            throw PostgresError(.server, "A value is larger than the server takes: 1 GiB.", activity: activity)
        }
    }

    /// Gives a statement to libpq, which sends it with the next flush.
    func queue(_ sql: String, _ arguments: [PostgresArgument], _ activity: String) throws {
        let types = arguments.map { Oid($0.type) }
        let lengths = arguments.map { CInt($0.bytes?.count ?? 0) }
        let formats = [CInt](repeating: 1, count: arguments.count)
        let isSent = unsafe withPointers(arguments.map(\.bytes)) { values in
            unsafe PQsendQueryParams(connection, sql, CInt(arguments.count), types, values, lengths, formats, 1)
        }
        guard isSent == 1 else { throw failure(activity) }
    }

    /// The rows of a result, as long as that is there.
    func rows(of result: OpaquePointer) -> some Sequence<Row> {
        unsafe (0..<PQntuples(result)).lazy.map { unsafe Row(result: result, row: $0) }
    }

    /// Receives the rows of one statement.
    ///
    /// What comes is received to its end also when `body` throws: then the connection can be used again.
    ///
    /// - Returns: The number of rows that were changed or returned.
    func receiveRows(
        until deadline: ContinuousClock.Instant,
        _ activity: String,
        _ body: (Row) throws -> Void
    ) throws -> Int {
        var count = 0
        var failure: (any Error)?
        while let result = unsafe try nextResult(until: deadline, activity) {
            defer { unsafe PQclear(result) }
            if let error = unsafe error(of: result, activity) { failure = failure ?? error }
            if let changed = unsafe PQcmdTuples(result).flatMap({ unsafe Int(String(cString: $0)) }) { count = changed }
            guard failure == nil else { continue }
            do {
                for row in unsafe rows(of: result) { try body(row) }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return count
    }

    /// Receives everything that a statement returns; of several, the last one counts.
    func receiveAll(until deadline: ContinuousClock.Instant, _ activity: String) throws -> [[String?]] {
        var rows: [[String?]] = []
        var failure: PostgresError?
        while let result = unsafe try nextResult(until: deadline, activity) {
            defer { unsafe PQclear(result) }
            if let error = unsafe error(of: result, activity) {
                failure = failure ?? error
                continue
            }
            rows = unsafe (0..<PQntuples(result)).map { row in
                unsafe (0..<Int(PQnfields(result))).map { column in
                    unsafe Row(result: result, row: row).withValue(column) { $0?.string }
                }
            }
        }
        if let failure { throw failure }
        return rows
    }

    /// Lets the rows of the statement that was sent come one by one.
    func beginRows(_ activity: String) throws {
        guard unsafe PQsetSingleRowMode(connection) == 1 else { throw failure(activity) }
    }

    /// Receives the next row, if ``beginRows(_:)`` was called.
    ///
    /// - Returns: `false` at the end.
    func nextRow(
        until deadline: ContinuousClock.Instant,
        _ activity: String,
        _ body: (Row) -> Void
    ) throws -> Bool {
        var failure: PostgresError?
        while let result = unsafe try nextResult(until: deadline, activity) {
            defer { unsafe PQclear(result) }
            if let error = unsafe error(of: result, activity) { failure = failure ?? error }
            guard unsafe PQresultStatus(result) == PGRES_SINGLE_TUPLE else { continue }
            unsafe body(Row(result: result, row: 0))
            return true
        }
        if let failure { throw failure }
        return false
    }

    /// The next result of what was sent; `nil` at the end.
    func nextResult(
        until deadline: ContinuousClock.Instant,
        _ activity: String
    ) throws -> OpaquePointer? {
        while unsafe PQisBusy(connection) != 0 {
            try wait(.readable, until: deadline, activity)
            guard unsafe PQconsumeInput(connection) == 1 else { throw failure(activity) }
        }
        return unsafe PQgetResult(connection)
    }

    // MARK: Notifications

    /// Takes the notifications that have come.
    ///
    /// - Returns: What they say.
    func takeNotifications() -> [String] {
        var texts: [String] = []
        while let notification = unsafe PQnotifies(connection) {
            unsafe texts.append(notification.pointee.extra.map { unsafe String(cString: $0) } ?? "")
            unsafe PQfreemem(notification)
        }
        return texts
    }

    // MARK: Waiting

    /// Sends what can be sent.
    ///
    /// - Returns: Whether that is everything.
    func flushSome(_ activity: String) throws -> Bool {
        let result = unsafe PQflush(connection)
        guard result >= 0 else { throw failure(activity) }
        return result == 0
    }

    /// Waits until the socket is ready, ``wake()`` is called, or the time is up, and takes what has come.
    func waitForActivity(_ interest: WakeablePoll.Readiness, timeout: Duration, _ activity: String) throws {
        try check(activity)
        let readiness = unsafe poll.wait(for: PQsocket(connection), interest, timeout: timeout)
        try check(activity)
        if readiness.contains(.readable), unsafe PQconsumeInput(connection) != 1 { throw failure(activity) }
    }

    /// Takes what the server has sent to a connection that waits for nothing: its last words, and the end.
    ///
    /// - Throws: ``PostgresError`` when the server has ended the connection.
    func takeWhatHasCome(_ activity: String) throws {
        try check(activity)
        while unsafe poll.wait(for: PQsocket(connection), .readable, timeout: .zero).contains(.readable) {
            guard unsafe PQconsumeInput(connection) == 1, unsafe PQisBusy(connection) == 0 else {
                throw failure(activity)
            }
        }
        try check(activity)
    }

    /// Checks that the connection can be used.
    func check(_ activity: String) throws {
        if isInterrupted {
            throw PostgresError(.closed, "The connection was closed.", activity: activity)
        }
        guard unsafe connection != nil else {
            throw PostgresError(.closed, "The connection is not open.", activity: activity)
        }
    }

    /// Sends everything.
    func flush(until deadline: ContinuousClock.Instant, _ activity: String) throws {
        while try !flushSome(activity) {
            try wait([.readable, .writable], until: deadline, activity)
            guard unsafe PQconsumeInput(connection) == 1 else { throw failure(activity) }
        }
    }

    /// Waits until the socket is ready.
    ///
    /// - Throws: ``PostgresError`` when the time is up, or ``interrupt()`` was called.
    func wait(
        _ interest: WakeablePoll.Readiness,
        until deadline: ContinuousClock.Instant,
        _ activity: String
    ) throws {
        while true {
            try check(activity)
            let rest = ContinuousClock.now.duration(to: deadline)
            guard rest > .zero else {
                throw PostgresError(.timeout, "The server did not answer in time.", activity: activity)
            }
            let readiness = unsafe poll.wait(for: PQsocket(connection), interest, timeout: rest)
            if !readiness.isDisjoint(with: [.readable, .writable]) { return }
        }
    }
}
