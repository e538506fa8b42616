import NIOConcurrencyHelpers
import PowerSyncCore

/// What the databases of one file share: at most one of them syncs, and stream handles of all of them count.
///
/// ``StateMachine`` says who syncs and whose turn it is.
final class SyncGroup: Sendable {
    /// The streams for which the app holds handles.
    let liveStreams = LiveStreams()

    /// A call that was not answered, or whose connection was not made.
    private struct Waiting {
        var continuation: CheckedContinuation<Answer, Never>?
        var makeConnection: (@Sendable (ConnectionID) -> Connection)?
    }

    private struct Answer {
        var answer: StateMachine.Answer
        var connection: Connection?
    }

    private struct Guarded {
        var machine = StateMachine()
        var waiting: [CallID: Waiting] = [:]
        /// The connection whose loops run.
        ///
        /// Not those whose methods have not returned: they would keep the database alive, which owns this group.
        var connection: Connection?
    }

    private let guarded = NIOLockedValueBox(Guarded())
    /// The id of the last entry of the upload queue that a clear has removed.
    private let lastClearedEntry = NIOLockedValueBox(Int64.min)

    /// Creates the group of a file that nobody syncs.
    init() {}

    /// A number for a database.
    func newMember() -> MemberID {
        guarded.withLockedValue { $0.machine.joined() }
    }

    /// Removes a member.
    func remove(_ member: MemberID) {
        guarded.withLockedValue { $0.machine.left(member) }
    }

    /// A transaction has cleared the upload queue.
    ///
    /// - Parameter lastEntry: The id of the newest entry that was ever added.
    func uploadQueueWasCleared(through lastEntry: Int64) {
        lastClearedEntry.withLockedValue { $0 = max($0, lastEntry) }
    }

    /// Whether an entry of the upload queue was removed by a clear, or before it.
    func isCleared(entry id: Int64) -> Bool {
        lastClearedEntry.withLockedValue { id <= $0 }
    }

    /// Whether a member was closed.
    func isClosed(_ member: MemberID) -> Bool {
        guarded.withLockedValue { $0.machine.isClosed(member) }
    }

    /// The connection that syncs, whoever has opened it.
    var connection: Connection? {
        guarded.withLockedValue { $0.machine.running == nil ? nil : $0.connection }
    }

    /// Drops the credentials of the connection, whoever owns it.
    func invalidateCredentials() {
        guarded.withLockedValue { $0.connection }?.invalidateCredentials()
    }

    /// Tells the connection that handles or subscriptions changed.
    ///
    /// - Parameter stored: The subscription that was stored, if one was.
    /// - Returns: Whether an iteration runs that deals with it and will publish the result.
    @discardableResult
    func subscriptionsChanged(stored: StreamStatus? = nil) -> Bool {
        guarded.withLockedValue { $0.connection }?.subscriptionsChanged(stored) == true
    }
}

// MARK: - Calls; the table in ``StateMachine`` says what each waits for.

extension SyncGroup {
    /// Opens a connection, after ending the one that runs.
    ///
    /// - Parameters:
    ///   - member: The database that is to sync.
    ///   - makeConnection: Makes the connection. Called when everything earlier has ended.
    /// - Throws: ``PowerSyncError`` when the database was closed, `CancellationError` while another call is served.
    func connect(_ member: MemberID, _ makeConnection: @escaping @Sendable (ConnectionID) -> Connection) async throws {
        try await call(.connect, by: member, makeConnection)
    }

    /// The connection of the member, or a new one.
    ///
    /// - Parameters:
    ///   - member: The database that is to sync.
    ///   - makeConnection: Makes the connection.
    /// - Returns: The connection, and whether it is new.
    /// - Throws: As ``connect(_:_:)``, and when another database syncs.
    func joinOrConnect(
        _ member: MemberID,
        _ makeConnection: @escaping @Sendable (ConnectionID) -> Connection
    ) async throws -> (connection: Connection, isNew: Bool) {
        let answer = try await call(.syncOnce, by: member, makeConnection)
        guard let connection = answer.connection else { throw PowerSyncError.disconnectedWhileSyncingOnce }
        return (connection, answer.answer == .opened(connection.id))
    }

    /// Ends the member's connection.
    func disconnect(_ member: MemberID) async {
        _ = try? await call(.disconnect, by: member)
    }

    /// Ends the member's connection; it does not open another one.
    func close(_ member: MemberID) async {
        _ = try? await call(.close, by: member)
    }

    /// Ends a connection that ``joinOrConnect(_:_:)`` has opened.
    func end(_ connection: ConnectionID, of member: MemberID) async {
        _ = try? await call(.endOnce(connection), by: member)
    }

    /// Ends the connection, whoever has it, and does something while nobody can connect.
    ///
    /// - Throws: What `body` throws.
    func whileStopped<Result>(by member: MemberID, _ body: () async throws -> Result) async throws -> Result {
        try await alone(.clear, member, body)
    }

    /// Does something while nobody syncs, and nobody can start to.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` when somebody does; what `body` throws.
    func whileDisconnected<Result>(by member: MemberID, _ body: () async throws -> Result) async throws -> Result {
        try await alone(.changeSchema, member, body)
    }

    private func alone<Result>(
        _ request: StateMachine.Request,
        _ member: MemberID,
        _ body: () async throws -> Result
    ) async throws -> Result {
        let id = guarded.withLockedValue { $0.machine.newCall() }
        try await call(request, by: member, id: id)
        defer { perform { $0.machine.bodyEnded(of: id) } }
        return try await body()
    }

    @discardableResult private func call(
        _ request: StateMachine.Request,
        by member: MemberID,
        id: CallID? = nil,
        _ makeConnection: (@Sendable (ConnectionID) -> Connection)? = nil
    ) async throws -> Answer {
        let id = id ?? guarded.withLockedValue { $0.machine.newCall() }
        let inside = ConnectorCalls.connection
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                perform { guarded in
                    guarded.waiting[id] = Waiting(continuation: continuation, makeConnection: makeConnection)
                    // A cancellation before this point did not find the call.
                    let isCancelled = Task.isCancelled
                    return guarded.machine.called(id, request, by: member, inside: inside, isCancelled: isCancelled)
                }
            }
        } onCancel: {
            perform { $0.machine.cancelled(id) }
        }
        switch answer.answer {
        case .done, .proceed, .opened, .joined, .ended: return answer
        case .cancelled: throw CancellationError()
        case .refusedConnected:
            throw PowerSyncError.connectedWhileUpdatingSchema
        case .refusedOther:
            throw PowerSyncError.syncedByAnother
        case .refusedClosed: throw PowerSyncError.databaseIsClosed
        }
    }
}

// MARK: - What the machine wants done

extension SyncGroup {
    private func perform(_ event: (inout Guarded) -> [StateMachine.Action]) {
        run(guarded.withLockedValue(event))
    }

    private func run(_ actions: [StateMachine.Action]) {
        for action in actions {
            switch action {
            case .open(let connection, let call): open(connection, for: call)
            case .stop: guarded.withLockedValue { $0.connection }?.stop()
            case .answer(let call, let answer): self.answer(call, answer)
            }
        }
    }

    private func open(_ id: ConnectionID, for call: CallID) {
        guard let makeConnection = guarded.withLockedValue({ $0.waiting[call]?.makeConnection }) else {
            preconditionFailure("A connection is to be opened for a call that has none")
        }
        let connection = makeConnection(id)
        guarded.withLockedValue { $0.connection = connection }
        connection.start {
            self.perform { guarded in
                guarded.connection = nil
                return guarded.machine.loopsEnded(of: id)
            }
        } isOver: {
            self.perform { $0.machine.returned(id) }
        }
        perform { $0.machine.opened(by: call) }
    }

    private func answer(_ call: CallID, _ answer: StateMachine.Answer) {
        let (continuation, connection) = guarded.withLockedValue { guarded in
            let waiting = guarded.waiting.removeValue(forKey: call)
            if answer == .done, let makeConnection = waiting?.makeConnection {
                // Answered before its connection is opened.
                guarded.waiting[call] = Waiting(continuation: nil, makeConnection: makeConnection)
            }
            let connection = guarded.connection.flatMap { connection in
                answer == .opened(connection.id) || answer == .joined(connection.id) ? connection : nil
            }
            return (waiting?.continuation, connection)
        }
        continuation?.resume(returning: Answer(answer: answer, connection: connection))
    }
}
