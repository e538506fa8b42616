import CLibPQ
import NIOConcurrencyHelpers
import NIOCore
import PowerSyncProtocol

/// One connection of libpq, used by one thread at a time, which it blocks.
///
/// Every wait ends when ``interrupt()`` was called, from any thread, or its time is up; then the connection is of no use.
final class LibPQ: @unchecked Sendable {
    // @unchecked: the owner calls everything but `interrupt()` from one serial queue; what that touches has locks.

    /// A row that was received.
    struct Row {
        fileprivate let result: OpaquePointer
        fileprivate let row: CInt

        /// The number of columns.
        var count: Int { Int(PQnfields(result)) }

        /// Calls `body` with the text of a value; `nil` for NULL.
        ///
        /// The view is valid while it runs.
        func withValue<Result>(_ column: Int, _ body: (ByteView?) -> Result) -> Result {
            guard PQgetisnull(result, row, CInt(column)) == 0, let text = PQgetvalue(result, row, CInt(column)) else {
                return body(nil)
            }
            let count = Int(PQgetlength(result, row, CInt(column)))
            return body(ByteView(UnsafeRawBufferPointer(start: text, count: count)))
        }
    }

    /// What comes on a replication connection.
    enum CopyData {
        case bytes(ByteBuffer)
        /// Nothing at the moment.
        case nothing
    }

    private var connection: OpaquePointer?
    /// Removed from messages.
    private var secrets: [String] = []
    private let poll: WakeablePoll
    private let interrupted = NIOLockedValueBox(false)

    /// Creates a connection that is not open.
    init() throws(PostgresError) {
        poll = try WakeablePoll()
    }

    deinit {
        PQfinish(connection)
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
    var serverVersion: Int { Int(PQserverVersion(connection)) }

    /// The number of the server's process.
    var processID: Int { Int(PQbackendPID(connection)) }

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
        try readSecrets(of: string)
        let all = [("dbname", string.text)] + parameters.map { ($0.name, $0.value) }
        connection = withCStrings(all.map(\.0)) { names in
            withCStrings(all.map(\.1)) { values in PQconnectStartParams(names, values, 1) }
        }
        guard connection != nil, PQstatus(connection) != CONNECTION_BAD else { throw failure(activity) }
        // Notices would go to the standard error.
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
        var state = PGRES_POLLING_WRITING
        while state != PGRES_POLLING_OK {
            guard state != PGRES_POLLING_FAILED else { throw failure(activity) }
            try wait(state == PGRES_POLLING_READING ? .readable : .writable, until: deadline, activity)
            state = PQconnectPoll(connection)
        }
        guard PQsetnonblocking(connection, 1) == 0 else { throw failure(activity) }
    }

    /// Finds the passwords that no message may have.
    private func readSecrets(of string: PostgresConnectionString) throws {
        let isOptions = string.text.contains("=") || string.text.contains("://")
        guard isOptions else { return }
        guard let options = PQconninfoParse(string.text, nil) else {
            // libpq's message would have parts of the string.
            throw PostgresError(.connection, "The connection string cannot be read.", activity: "connecting")
        }
        defer { PQconninfoFree(options) }
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val, ["password", "sslpassword"].contains(String(cString: keyword)) {
                secrets.append(String(cString: value))
            }
            option += 1
        }
    }

    /// Closes the connection; what runs on the server is cancelled before.
    func finish(cancels: Bool) {
        if cancels, let cancel = PQgetCancel(connection) {
            var buffer = [CChar](repeating: 0, count: 256)
            _ = PQcancel(cancel, &buffer, CInt(buffer.count))
            PQfreeCancel(cancel)
        }
        PQfinish(connection)
        connection = nil
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
                withCStrings(arguments) { values in
                    PQsendQueryParams(connection, sql, CInt(arguments.count), nil, values, nil, nil, 0)
                }
            } else {
                PQsendQuery(connection, sql)
            }
        guard isSent == 1 else { throw failure(activity) }
        try flush(until: deadline, activity)
    }

    /// Receives everything that a statement returns; of several, the last one counts.
    func receiveAll(until deadline: ContinuousClock.Instant, _ activity: String) throws -> [[String?]] {
        var rows: [[String?]] = []
        var failure: PostgresError?
        while let result = try nextResult(until: deadline, activity) {
            defer { PQclear(result) }
            if let error = error(of: result, activity) {
                failure = failure ?? error
                continue
            }
            rows = (0..<PQntuples(result)).map { row in
                (0..<Int(PQnfields(result))).map { column in
                    Row(result: result, row: row).withValue(column) { $0?.string }
                }
            }
        }
        if let failure { throw failure }
        return rows
    }

    /// Lets the rows of the statement that was sent come one by one.
    func beginRows(_ activity: String) throws {
        guard PQsetSingleRowMode(connection) == 1 else { throw failure(activity) }
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
        while let result = try nextResult(until: deadline, activity) {
            defer { PQclear(result) }
            if let error = error(of: result, activity) { failure = failure ?? error }
            guard PQresultStatus(result) == PGRES_SINGLE_TUPLE else { continue }
            body(Row(result: result, row: 0))
            return true
        }
        if let failure { throw failure }
        return false
    }

    private func nextResult(
        until deadline: ContinuousClock.Instant,
        _ activity: String
    ) throws -> OpaquePointer? {
        while PQisBusy(connection) != 0 {
            try wait(.readable, until: deadline, activity)
            guard PQconsumeInput(connection) == 1 else { throw failure(activity) }
        }
        return PQgetResult(connection)
    }

    // MARK: Replication

    /// Begins to stream.
    func startCopy(_ sql: String, until deadline: ContinuousClock.Instant, _ activity: String) throws {
        try send(sql, nil, until: deadline, activity)
        guard let result = try nextResult(until: deadline, activity) else { throw failure(activity) }
        defer { PQclear(result) }
        if let error = error(of: result, activity) { throw error }
        guard PQresultStatus(result) == PGRES_COPY_BOTH else {
            throw PostgresError(.connection, "The server does not stream.", activity: activity)
        }
    }

    /// The next message that has come.
    func copyData(_ activity: String) throws -> CopyData {
        var bytes: UnsafeMutablePointer<CChar>?
        let count = PQgetCopyData(connection, &bytes, 1)
        defer { if let bytes { PQfreemem(bytes) } }
        switch count {
        case 0: return .nothing
        case 1...:
            return .bytes(ByteBuffer(bytes: UnsafeRawBufferPointer(start: bytes, count: Int(count))))
        default:
            // The stream has ended, and the result says why.
            while let result = PQgetResult(connection) {
                defer { PQclear(result) }
                if let error = error(of: result, activity) { throw error }
                if PQresultStatus(result) == PGRES_COPY_IN { break }
            }
            guard count == -1 else { throw failure(activity) }
            throw PostgresError(.connection, "The server has ended the stream.", activity: activity)
        }
    }

    /// Sends a message.
    func putCopyData(_ bytes: ByteBuffer, _ activity: String) throws {
        let result = bytes.withUnsafeReadableBytes { bytes in
            PQputCopyData(connection, bytes.bindMemory(to: CChar.self).baseAddress, CInt(bytes.count))
        }
        guard result >= 0 else { throw failure(activity) }
    }

    /// Sends what can be sent.
    ///
    /// - Returns: Whether that is everything.
    func flushSome(_ activity: String) throws -> Bool {
        let result = PQflush(connection)
        guard result >= 0 else { throw failure(activity) }
        return result == 0
    }

    /// Waits until the socket is ready, somebody calls ``wake()``, or the time is up, and takes what has come.
    func waitForActivity(_ interest: WakeablePoll.Readiness, timeout: Duration, _ activity: String) throws {
        try check(activity)
        let readiness = poll.wait(for: PQsocket(connection), interest, timeout: timeout)
        try check(activity)
        if readiness.contains(.readable), PQconsumeInput(connection) != 1 { throw failure(activity) }
    }

    // MARK: Waiting

    private func check(_ activity: String) throws {
        if isInterrupted {
            throw PostgresError(.closed, "The connection was closed.", activity: activity)
        }
        guard connection != nil else {
            throw PostgresError(.closed, "The connection is not open.", activity: activity)
        }
    }

    private func flush(until deadline: ContinuousClock.Instant, _ activity: String) throws {
        while try !flushSome(activity) {
            try wait([.readable, .writable], until: deadline, activity)
            guard PQconsumeInput(connection) == 1 else { throw failure(activity) }
        }
    }

    private func wait(
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
            let readiness = poll.wait(for: PQsocket(connection), interest, timeout: rest)
            if !readiness.isDisjoint(with: [.readable, .writable]) { return }
        }
    }

    // MARK: Errors

    /// What the connection says is wrong.
    private func failure(_ activity: String) -> PostgresError {
        let message = PQerrorMessage(connection).map { String(cString: $0) } ?? "there is no memory"
        return PostgresError(.connection, withoutSecrets(message), activity: activity)
    }

    /// What a result says is wrong.
    private func error(of result: OpaquePointer, _ activity: String) -> PostgresError? {
        switch PQresultStatus(result) {
        case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE: break
        default: return nil
        }
        func field(_ letter: Character) -> String? {
            PQresultErrorField(result, CInt(letter.asciiValue ?? 0)).map { String(cString: $0) }
        }
        // Only the primary message (M): details may have values of rows.
        guard let state = field("C"), let message = field("M") else { return failure(activity) }
        return PostgresError(.server, withoutSecrets(message), sqlState: state, activity: activity)
    }

    private func withoutSecrets(_ message: String) -> String {
        let text = message.split(whereSeparator: \.isNewline).joined(separator: " ")
        return secrets.filter { !$0.isEmpty }.reduce(text) { text, secret in
            text.split(separator: secret, omittingEmptySubsequences: false).joined(separator: "(secret)")
        }
    }
}

/// Calls `body` with texts that end with zero bytes, in an array that ends with a null pointer.
private func withCStrings<Result>(
    _ texts: [String?],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result
) -> Result {
    var bytes: [CChar] = []
    let offsets = texts.map { text -> Int? in
        guard let text else { return nil }
        defer { bytes += text.utf8CString }
        return bytes.count
    }
    return bytes.withUnsafeBufferPointer { bytes in
        let pointers =
            offsets.map { offset in offset.flatMap { offset in bytes.baseAddress.map { $0 + offset } } } + [nil]
        return pointers.withUnsafeBufferPointer { body($0.baseAddress) }
    }
}
