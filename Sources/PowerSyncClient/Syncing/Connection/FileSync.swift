import NIOConcurrencyHelpers
import PowerSyncCore

/// The sync of one file: at most one connection, whichever handle has opened it, and the stream handles of all of them.
///
/// ``ConnectionRules`` say what becomes of a connection at each call, and whose turn it is.
final class FileSync: Sendable {
    /// The streams for which the app holds handles.
    let liveStreams = LiveStreams()

    /// How a call has ended, or may go on, and the connection that was opened or joined, if it runs.
    typealias Answer = (answer: ConnectionRules.Answer, connection: Connection?)

    private struct Guarded {
        var rules = ConnectionRules()
        /// The calls that were not answered.
        var waiting: [ConnectionRules.CallID: CheckedContinuation<Answer, Never>] = [:]
        /// What makes the connections of calls that have none yet.
        var makers: [ConnectionRules.CallID: @Sendable (ConnectionRules.ConnectionID) -> Connection] = [:]
        /// The connection whose loops run.
        ///
        /// Not those whose methods have not returned: they would keep the database alive, which owns this object.
        var connection: Connection?
    }

    private let guarded = NIOLockedValueBox(Guarded())
    /// The id of the last entry of the upload queue that a clear has removed.
    private let lastClearedEntry = NIOLockedValueBox(Int64.min)

    /// Creates the sync of a file that is not connected.
    init() {}

    /// A number for a handle.
    func newHandle() -> ConnectionRules.HandleID {
        guarded.withLockedValue { $0.rules.joined() }
    }

    /// A handle is gone.
    func remove(_ handle: ConnectionRules.HandleID) {
        guarded.withLockedValue { $0.rules.left(handle) }
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

    /// Whether a handle was closed.
    func isClosed(_ handle: ConnectionRules.HandleID) -> Bool {
        guarded.withLockedValue { $0.rules.isClosed(handle) }
    }

    /// The connection that syncs, whichever handle has opened it.
    var connection: Connection? {
        guarded.withLockedValue { $0.rules.running == nil ? nil : $0.connection }
    }

    /// Drops the credentials of the connection, whichever handle has opened it.
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

// MARK: - Calls; the table at ``ConnectionRules`` says what each waits for.

extension FileSync {
    /// Calls for a handle.
    ///
    /// - Parameters:
    ///   - request: What is asked for.
    ///   - handle: The handle.
    ///   - makeConnection: Makes the connection of a call that opens one. Called when everything earlier has ended.
    /// - Returns: The answer, when it is the call's turn.
    /// - Throws: ``PowerSyncError`` when the call is refused, `CancellationError` for a cancelled one.
    @discardableResult func call(
        _ request: ConnectionRules.Request,
        by handle: ConnectionRules.HandleID,
        _ makeConnection: (@Sendable (ConnectionRules.ConnectionID) -> Connection)? = nil
    ) async throws -> Answer {
        try await call(request, by: handle, id: newCall(), makeConnection)
    }

    /// Calls for a handle, and does something while no other call is served.
    ///
    /// - Parameters:
    ///   - request: What is asked for.
    ///   - handle: The handle.
    ///   - body: What is done.
    /// - Returns: What `body` returns.
    /// - Throws: As ``call(_:by:_:)``, and what `body` throws.
    func alone<Result>(
        _ request: ConnectionRules.Request,
        by handle: ConnectionRules.HandleID,
        _ body: () async throws -> Result
    ) async throws -> Result {
        let id = newCall()
        try await call(request, by: handle, id: id)
        defer { perform { $0.rules.bodyEnded(of: id) } }
        return try await body()
    }

    private func newCall() -> ConnectionRules.CallID { guarded.withLockedValue { $0.rules.newCall() } }

    @discardableResult private func call(
        _ request: ConnectionRules.Request,
        by handle: ConnectionRules.HandleID,
        id: ConnectionRules.CallID,
        _ makeConnection: (@Sendable (ConnectionRules.ConnectionID) -> Connection)? = nil
    ) async throws -> Answer {
        let inside = ConnectorCalls.connection
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                perform { guarded in
                    guarded.waiting[id] = continuation
                    guarded.makers[id] = makeConnection
                    // A cancellation before this point did not find the call.
                    let isCancelled = Task.isCancelled
                    return guarded.rules.called(id, request, by: handle, inside: inside, isCancelled: isCancelled)
                }
            }
        } onCancel: {
            perform { $0.rules.cancelled(id) }
        }
        switch answer.answer {
        case .done, .proceed, .opened, .joined, .ended: return answer
        case .cancelled: throw CancellationError()
        case .refusedConnected: throw PowerSyncError.connectedWhileUpdatingSchema
        case .refusedOther: throw PowerSyncError.syncedByAnother
        case .refusedClosed: throw PowerSyncError.databaseIsClosed
        }
    }
}

// MARK: - What the rules want done

extension FileSync {
    private func perform(_ event: (inout Guarded) -> [ConnectionRules.Action]) {
        run(guarded.withLockedValue(event))
    }

    private func run(_ actions: [ConnectionRules.Action]) {
        for action in actions {
            switch action {
            case .open(let connection, let call): open(connection, for: call)
            case .stop: guarded.withLockedValue { $0.connection }?.stop()
            case .answer(let call, let answer): self.answer(call, answer)
            }
        }
    }

    private func open(_ id: ConnectionRules.ConnectionID, for call: ConnectionRules.CallID) {
        guard let makeConnection = guarded.withLockedValue({ $0.makers[call] }) else {
            preconditionFailure("A connection is to be opened for a call that has none")
        }
        let connection = makeConnection(id)
        guarded.withLockedValue { $0.connection = connection }
        connection.start {
            self.perform { guarded in
                guarded.connection = nil
                return guarded.rules.loopsEnded(of: id)
            }
        } isOver: {
            self.perform { $0.rules.returned(id) }
        }
        perform { $0.rules.opened(by: call) }
    }

    private func answer(_ call: ConnectionRules.CallID, _ answer: ConnectionRules.Answer) {
        let (continuation, connection, _) = guarded.withLockedValue { guarded in
            // A call that is done may be answered before its connection is opened. What makes connections goes away outside the lock.
            let maker = answer == .done ? nil : guarded.makers.removeValue(forKey: call)
            let connection = guarded.connection.flatMap { connection in
                answer == .opened(connection.id) || answer == .joined(connection.id) ? connection : nil
            }
            return (guarded.waiting.removeValue(forKey: call), connection, maker)
        }
        continuation?.resume(returning: (answer, connection))
    }
}
