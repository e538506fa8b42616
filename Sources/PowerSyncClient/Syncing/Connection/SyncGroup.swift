import NIOConcurrencyHelpers
import PowerSyncCore

/// What the databases of one file share: at most one of them syncs, and stream handles of all of them count.
///
/// ``StateMachine`` says who syncs and whose turn it is.
final class SyncGroup: Sendable {
    /// How long a call waits for methods of a connector that take no notice of their cancellation: 10 s.
    ///
    /// Apps get half a minute or less to do things in the background.
    static let returnLimit = Duration.seconds(10)

    /// The streams for which the app holds handles.
    let liveStreams = LiveStreams()

    /// A call that was not answered, or whose session was not made.
    private struct Waiting {
        var continuation: CheckedContinuation<Answer, Never>?
        var makeSession: (@Sendable (SessionID) -> SyncSession)?
    }

    private struct Answer {
        var answer: StateMachine.Answer
        var session: SyncSession?
    }

    private struct Guarded {
        var machine = StateMachine()
        var waiting: [CallID: Waiting] = [:]
        /// The session whose loops run.
        ///
        /// Not those whose methods have not returned: they would keep the database alive, which owns this group.
        var session: SyncSession?
        /// Sessions whose loops have ended.
        var returning: [SessionID: Returning] = [:]
    }

    /// What is left of a session while methods of its connector have not returned.
    private struct Returning {
        let clock: ElapsedClock
        let logger: any LoggerProtocol
        var limit: Task<Void, Never>?
    }

    private let guarded = NIOLockedValueBox(Guarded())

    private struct WeakStatus {
        weak var status: LiveSyncStatus?
    }

    /// The statuses of the members.
    private let statuses = NIOLockedValueBox<[MemberID: WeakStatus]>([:])

    /// Creates the group of a file that nobody syncs.
    init() {}

    /// Makes a database a member.
    ///
    /// - Parameter status: Its status.
    /// - Returns: Its number in the group.
    func add(_ status: LiveSyncStatus) -> MemberID {
        let member = guarded.withLockedValue { $0.machine.joined() }
        statuses.withLockedValue { $0[member] = WeakStatus(status: status) }
        return member
    }

    /// Removes a member.
    func remove(_ member: MemberID) {
        guarded.withLockedValue { $0.machine.left(member) }
        _ = statuses.withLockedValue { $0.removeValue(forKey: member) }
    }

    /// A transaction of a member has removed what the database knew of earlier syncs, so the statuses start over.
    ///
    /// An iteration that runs is told instead: it ends, and the next one publishes the status and downloads everything.
    func syncStateWasReset(to offline: DownloadStatus) {
        let statuses = statuses.withLockedValue { $0.values.compactMap(\.status) }
        // Under the lock, so that no session starts and publishes in between.
        guarded.withLockedValue { guarded in
            if let session = guarded.session, session.dataWasCleared() { return }
            for status in statuses { status.syncStateWasReset(to: offline) }
        }
    }

    /// Whether a member was closed.
    func isClosed(_ member: MemberID) -> Bool {
        guarded.withLockedValue { $0.machine.isClosed(member) }
    }

    /// The session of a member, if it is the one that syncs.
    func session(of member: MemberID) -> SyncSession? {
        guarded.withLockedValue { $0.machine.running?.member == member ? $0.session : nil }
    }

    /// Whether a member has a session whose loops have not ended, and publish its status.
    func hasSession(_ member: MemberID) -> Bool {
        guarded.withLockedValue { $0.machine.syncing == member }
    }

    /// Drops the credentials of the session, whoever owns it.
    func invalidateCredentials() {
        guarded.withLockedValue { $0.session }?.invalidateCredentials()
    }

    /// Tells the session that handles or subscriptions changed.
    ///
    /// - Parameters:
    ///   - member: The database whose handles or subscriptions changed.
    ///   - stored: The subscription that was stored, if one was.
    /// - Returns: Whether this member has an iteration that deals with it and will publish the result.
    @discardableResult
    func subscriptionsChanged(by member: MemberID, stored: StreamStatus? = nil) -> Bool {
        guarded.withLockedValue { guarded in
            guard let session = guarded.session else { return false }
            let isHandled = session.subscriptionsChanged(stored)
            return isHandled && guarded.machine.running?.member == member
        }
    }
}

// MARK: - Calls; the table in ``StateMachine`` says what each waits for.

extension SyncGroup {
    /// Opens a session, after ending the one that runs.
    ///
    /// - Parameters:
    ///   - member: The database that is to sync.
    ///   - makeSession: Makes the session. Called when everything earlier has ended.
    /// - Throws: ``PowerSyncError`` when the database was closed, `CancellationError` while another call is served.
    func connect(_ member: MemberID, _ makeSession: @escaping @Sendable (SessionID) -> SyncSession) async throws {
        try await call(.connect, by: member, makeSession)
    }

    /// The session of the member, or a new one.
    ///
    /// - Parameters:
    ///   - member: The database that is to sync.
    ///   - makeSession: Makes the session.
    /// - Returns: The session, and whether it is new.
    /// - Throws: As ``connect(_:_:)``, and when another database syncs.
    func joinOrConnect(
        _ member: MemberID,
        _ makeSession: @escaping @Sendable (SessionID) -> SyncSession
    ) async throws -> (session: SyncSession, isNew: Bool) {
        let answer = try await call(.syncOnce, by: member, makeSession)
        guard let session = answer.session else { throw PowerSyncError.disconnectedWhileSyncingOnce }
        return (session, answer.answer == .opened(session.id))
    }

    /// Ends the member's session.
    func disconnect(_ member: MemberID) async {
        _ = try? await call(.disconnect, by: member)
    }

    /// Ends the member's session; it does not open another one.
    func close(_ member: MemberID) async {
        _ = try? await call(.close, by: member)
    }

    /// Ends a session that ``joinOrConnect(_:_:)`` has opened.
    func end(_ session: SessionID, of member: MemberID) async {
        _ = try? await call(.endOnce(session), by: member)
    }

    /// Ends the session, whoever has it, and does something while nobody can connect.
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
        _ makeSession: (@Sendable (SessionID) -> SyncSession)? = nil
    ) async throws -> Answer {
        let id = id ?? guarded.withLockedValue { $0.machine.newCall() }
        let inside = ConnectorCalls.session
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                perform { guarded in
                    guarded.waiting[id] = Waiting(continuation: continuation, makeSession: makeSession)
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
            case .open(let session, let call): open(session, for: call)
            case .stop: guarded.withLockedValue { $0.session }?.stop()
            case .startLimit(let session): startLimit(of: session)
            case .answer(let call, let answer): self.answer(call, answer)
            }
        }
    }

    private func open(_ id: SessionID, for call: CallID) {
        guard let makeSession = guarded.withLockedValue({ $0.waiting[call]?.makeSession }) else {
            preconditionFailure("A session is to be opened for a call that has none")
        }
        let session = makeSession(id)
        guarded.withLockedValue { $0.session = session }
        let returning = Returning(clock: session.clock, logger: session.logger)
        session.start {
            self.perform { guarded in
                guarded.session = nil
                guarded.returning[id] = returning
                return guarded.machine.loopsEnded(of: id)
            }
        } returned: {
            self.perform { guarded in
                guarded.returning.removeValue(forKey: id)?.limit?.cancel()
                return guarded.machine.returned(id)
            }
        }
        perform { $0.machine.opened(by: call) }
    }

    private func startLimit(of session: SessionID) {
        guarded.withLockedValue { guarded in
            guard let returning = guarded.returning[session] else { return }
            guarded.returning[session]?.limit = Task {
                guard (try? await returning.clock.sleep(for: SyncGroup.returnLimit)) != nil else { return }
                self.limitReached(of: session, returning.logger)
            }
        }
    }

    private func limitReached(of session: SessionID, _ logger: any LoggerProtocol) {
        let actions = guarded.withLockedValue { guarded in
            guarded.returning[session] = nil
            return guarded.machine.limitReached(of: session)
        }
        guard let actions else { return }
        // Before those who wait go on.
        logger.warning(
            """
            A method of the connector has not returned \(SyncGroup.returnLimit) after its connection was ended. \
            It is not waited for any more. Let uploadData and fetchCredentials end when their task is cancelled.
            """,
            tag: LogTag.database
        )
        run(actions)
    }

    private func answer(_ call: CallID, _ answer: StateMachine.Answer) {
        let (continuation, session) = guarded.withLockedValue { guarded in
            let waiting = guarded.waiting.removeValue(forKey: call)
            if answer == .done, let makeSession = waiting?.makeSession {
                // Answered before its session is opened.
                guarded.waiting[call] = Waiting(continuation: nil, makeSession: makeSession)
            }
            let session = guarded.session.flatMap { session in
                answer == .opened(session.id) || answer == .joined(session.id) ? session : nil
            }
            return (waiting?.continuation, session)
        }
        continuation?.resume(returning: Answer(answer: answer, session: session))
    }
}
