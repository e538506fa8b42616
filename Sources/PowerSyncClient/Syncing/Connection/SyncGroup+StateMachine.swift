extension SyncGroup {
    /// Who syncs a file, and whose turn it is: connecting, disconnecting, clearing, changing the schema, closing.
    ///
    /// ```
    ///             open                 stop                   loops ended
    ///   nobody ────────► running ────────────► stopping ─────────────────► nobody
    ///                                                                      + returning, until the methods of its
    ///                                                                        connector have returned, or 10 s
    /// ```
    ///
    /// A session consists of loops, which are ours and end as soon as they are cancelled, and of methods of the app's connector,
    /// which may take no notice. Calls come from the app, from any of the databases of one file, or from inside such a method.
    /// They are served in the order in which they came:
    ///
    /// | call | a session that runs | before it goes on | then |
    /// | --- | --- | --- | --- |
    /// | `connect` | is stopped, whoever has it | loops and methods have ended | opens a session |
    /// | `disconnect`, `close` | is stopped if it is of this database; another one is left alone | loops and methods have ended | returns |
    /// | `disconnectAndClear` | is stopped, whoever has it | loops and methods have ended | deletes, and no other call is served meanwhile |
    /// | `updateSchema` | refuses | | changes, and no other call is served meanwhile |
    /// | `syncOnce` | of this database: is used; of another one: refuses | methods have ended | opens a session |
    /// | end of `syncOnce` | is stopped if the call has opened it | loops and methods have ended | returns |
    /// | `invalidateCredentials` | goes on, whoever has it; its ``CredentialsCache`` drops what it has | | returns |
    ///
    /// Credentials live and die with a session, so invalidating them is no event here: without a session there are none, and one
    /// that is opened later fetches its own. It waits for nothing and is not behind calls that wait. What a session does without
    /// credentials, and that a fetch under way does not count, is in ``CredentialsCache/StateMachine``.
    ///
    /// `syncOnce` does not wait for methods after its deadline, neither before it opens a session nor at its end; others do.
    ///
    /// **Which call wins**: the last one. After `close`, the database's calls that wait to connect are refused.
    ///
    /// **No call waits for ever.** Methods that have not returned ``SyncGroup/returnLimit`` after the loops are not waited for any
    /// more. A call from inside a method does not wait for its own session's methods, and is not behind calls that do: it
    /// would wait for itself. For what it asks, its session has ended when the loops have, so it cannot end a connection that
    /// the app opens after its own. `connect` from inside returns at once, and opens its session when it is its turn, unless
    /// `disconnect` or `disconnectAndClear` from inside the same session comes after it. A method that is not waited for any
    /// more calls like the app.
    ///
    /// **Cancellation** takes `connect`, `updateSchema` and `syncOnce` out of the queue, unless they have told a session to end
    /// already. What only ends something goes on.
    ///
    /// It has no clock and no tasks: events return what is to be done, in this order, after the lock was released.
    struct StateMachine: Sendable {
        /// What is asked for.
        enum Request: Equatable, Sendable {
            case connect
            case disconnect
            case close
            case clear
            case changeSchema
            case syncOnce
            /// The end of `syncOnce`, which has opened this session.
            case endOnce(SessionID)

            /// Whether nothing is left to do for a caller that was cancelled.
            fileprivate var isCancellable: Bool {
                switch self {
                case .connect, .changeSchema, .syncOnce: true
                case .disconnect, .close, .clear, .endOnce: false
                }
            }
        }

        /// How a call ends, or how it goes on.
        enum Answer: Equatable, Sendable {
            /// Everything is done.
            case done
            /// The caller may do what it wants to do alone, and says when it has: ``bodyEnded(of:)``.
            case proceed
            /// This session was opened.
            case opened(SessionID)
            /// This session runs already.
            case joined(SessionID)
            /// A later call from inside the same session has ended what this one was to open.
            case ended
            /// Somebody syncs.
            case refusedConnected
            /// Another database of the same file syncs.
            case refusedOther
            /// The database was closed.
            case refusedClosed
            /// The caller was cancelled.
            case cancelled
        }

        /// What is to be done.
        enum Action: Equatable, Sendable {
            /// Make this session for a call and start it, then say so: ``opened(by:)``.
            case open(SessionID, for: CallID)
            /// Cancel the loops of the session and the methods of its connector.
            case stop(SessionID)
            /// Say when the session's methods have had time enough: ``limitReached(of:)``.
            case startLimit(SessionID)
            /// Tell the caller.
            case answer(CallID, Answer)
        }

        private struct Call {
            let id: CallID
            let request: Request
            let member: MemberID
            /// The session inside whose connector the caller is.
            let inside: SessionID?
            /// Whether it has told a session to end.
            var hasStopped = false
        }

        private enum Connection {
            /// Nobody syncs.
            case nobody
            /// A session is made, or runs.
            case running(SessionID, of: MemberID)
            /// A session was told to end.
            case stopping(SessionID, of: MemberID)
        }

        private var connection = Connection.nobody
        /// Sessions without loops, methods of whose connectors have not returned.
        private var returning: Set<SessionID> = []
        /// The call that is opening a session, or does something alone.
        private var turn: CallID?
        private var queue: [Call] = []
        private var closed: Set<MemberID> = []
        private var lastID: UInt64 = 0

        /// Creates the state of a file that nobody syncs.
        init() {}
    }

    /// A database of the group.
    struct MemberID: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    /// A session, that is one `connect`.
    struct SessionID: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    /// A call of one of the databases.
    struct CallID: Hashable, Sendable {
        fileprivate let number: UInt64
    }
}

// MARK: - What is known

extension SyncGroup.StateMachine {
    /// The session that runs and was not told to end.
    var running: (session: SyncGroup.SessionID, member: SyncGroup.MemberID)? {
        if case .running(let session, let member) = connection { (session, member) } else { nil }
    }

    /// Whose session has loops, also one that was told to end.
    var syncing: SyncGroup.MemberID? {
        switch connection {
        case .nobody: nil
        case .running(_, let member), .stopping(_, let member): member
        }
    }

    /// Whether no loops run.
    var isQuiet: Bool { if case .nobody = connection { true } else { false } }

    /// Whether a database was closed.
    func isClosed(_ member: SyncGroup.MemberID) -> Bool { closed.contains(member) }

    private mutating func nextID() -> UInt64 {
        lastID += 1
        return lastID
    }

    /// A number for a database.
    mutating func joined() -> SyncGroup.MemberID { SyncGroup.MemberID(number: nextID()) }

    /// A number for a call.
    mutating func newCall() -> SyncGroup.CallID { SyncGroup.CallID(number: nextID()) }

    /// The database is gone.
    ///
    /// None of its calls waits and it has no session: both keep it alive.
    mutating func left(_ member: SyncGroup.MemberID) { closed.remove(member) }
}

// MARK: - Events

extension SyncGroup.StateMachine {
    /// Somebody calls.
    ///
    /// - Parameters:
    ///   - call: A new number.
    ///   - request: What is asked for.
    ///   - member: The database.
    ///   - caller: The session inside whose connector the caller is, or was once.
    ///   - isCancelled: Whether the caller was cancelled before.
    /// - Returns: What is to be done, as for all events.
    mutating func called(
        _ call: SyncGroup.CallID,
        _ request: Request,
        by member: SyncGroup.MemberID,
        inside caller: SyncGroup.SessionID? = nil,
        isCancelled: Bool = false
    ) -> [Action] {
        if isCancelled, request.isCancellable { return [.answer(call, .cancelled)] }
        let caller = caller.flatMap { isAlive($0) ? $0 : nil }
        if request == .close { closed.insert(member) }
        if request == .connect, closed.contains(member) { return [.answer(call, .refusedClosed)] }
        queue.append(Call(id: call, request: request, member: member, inside: caller))
        // The connector's method must return before the session can be opened.
        let answer: [Action] = request == .connect && caller != nil ? [.answer(call, .done)] : []
        return answer + advance()
    }

    /// The caller was cancelled.
    mutating func cancelled(_ call: SyncGroup.CallID) -> [Action] {
        guard let index = queue.firstIndex(where: { $0.id == call }) else { return [] }
        let waiting = queue[index]
        // From inside, `connect` was answered already.
        let isAnswered = waiting.request == .connect && waiting.inside != nil
        guard waiting.request.isCancellable, !waiting.hasStopped, !isAnswered else { return [] }
        queue.remove(at: index)
        return [.answer(call, .cancelled)] + advance()
    }

    /// The session of a call was made and started.
    mutating func opened(by call: SyncGroup.CallID) -> [Action] {
        guard turn == call, case .running(let session, _) = connection else { return [] }
        turn = nil
        return [.answer(call, .opened(session))] + advance()
    }

    /// A call has done what it had to do alone.
    mutating func bodyEnded(of call: SyncGroup.CallID) -> [Action] {
        guard turn == call else { return [] }
        turn = nil
        return advance()
    }

    /// The loops of a session have ended; nothing of it touches the database any more.
    mutating func loopsEnded(of session: SyncGroup.SessionID) -> [Action] {
        switch connection {
        case .stopping(session, _), .running(session, _): break
        case .nobody, .running, .stopping: return []
        }
        connection = .nobody
        returning.insert(session)
        return [.startLimit(session)] + advance()
    }

    /// All methods of a session's connector have returned, after its loops have ended.
    mutating func returned(_ session: SyncGroup.SessionID) -> [Action] {
        guard returning.remove(session) != nil else { return [] }
        return advance()
    }

    /// Methods of a session's connector have not returned in time.
    ///
    /// - Returns: What is to be done; `nil` when they have.
    mutating func limitReached(of session: SyncGroup.SessionID) -> [Action]? {
        guard returning.remove(session) != nil else { return nil }
        return advance()
    }
}

// MARK: - Serving the queue

extension SyncGroup.StateMachine {
    /// Whether something of a session has not ended.
    private func isAlive(_ session: SyncGroup.SessionID) -> Bool {
        switch connection {
        case .running(session, _), .stopping(session, _): true
        case .nobody, .running, .stopping: returning.contains(session)
        }
    }

    /// Serves calls until one of them has to wait.
    private mutating func advance() -> [Action] {
        var actions: [Action] = []
        while turn == nil, let index = nextIndex, serve(queue[index], at: index, &actions) {}
        return actions
    }

    /// The call to serve: the first one, unless another one comes from inside a method that the first one may wait for.
    private var nextIndex: Int? {
        let inner = queue.firstIndex { call in
            guard let session = call.inside, returning.contains(session) else { return false }
            return call.request != .connect && call.request != .syncOnce
        }
        return inner ?? queue.indices.first
    }

    /// Takes the next step of a call.
    ///
    /// - Returns: Whether the queue may go on; `false` when this call has to wait.
    private mutating func serve(_ call: Call, at index: Int, _ actions: inout [Action]) -> Bool {
        switch call.request {
        case .connect, .syncOnce:
            if closed.contains(call.member) { return finish(call, .refusedClosed, &actions) }
            return serveOpening(call, at: index, &actions)
        case .disconnect, .close:
            guard isStopped({ _, member in member == call.member }, at: index, &actions) else { return false }
            guard !isQuiet || hasReturned(call) else { return false }
            if call.request == .disconnect { endConnects(before: call, &actions) { $0.member == call.member } }
            return finish(call, .done, &actions)
        case .clear:
            guard isStopped({ _, _ in true }, at: index, &actions), hasReturned(call) else { return false }
            endConnects(before: call, &actions) { _ in true }
            return proceed(call, &actions)
        case .changeSchema:
            switch connection {
            case .nobody: return proceed(call, &actions)
            case .running: return finish(call, .refusedConnected, &actions)
            case .stopping: return false
            }
        case .endOnce(let session):
            guard isStopped({ running, _ in running == session }, at: index, &actions) else { return false }
            guard !returning.contains(session) || call.inside == session else { return false }
            return finish(call, .done, &actions)
        }
    }

    /// Takes the next step of a call that wants a session.
    private mutating func serveOpening(_ call: Call, at index: Int, _ actions: inout [Action]) -> Bool {
        if call.request == .syncOnce, case .running(let session, let member) = connection {
            return finish(call, member == call.member ? .joined(session) : .refusedOther, &actions)
        }
        guard isStopped({ _, _ in true }, at: index, &actions), returning.isEmpty else { return false }
        queue.remove(at: index)
        let session = SyncGroup.SessionID(number: nextID())
        connection = .running(session, of: call.member)
        turn = call.id
        actions.append(.open(session, for: call.id))
        return true
    }

    /// Tells the session that runs to end, if it is one of those.
    ///
    /// - Returns: Whether none of those has loops.
    private mutating func isStopped(
        _ isMeant: (SyncGroup.SessionID, SyncGroup.MemberID) -> Bool,
        at index: Int,
        _ actions: inout [Action]
    ) -> Bool {
        switch connection {
        case .nobody: return true
        case .running(let session, let member):
            guard isMeant(session, member) else { return true }
            connection = .stopping(session, of: member)
            queue[index].hasStopped = true
            actions.append(.stop(session))
            return false
        case .stopping:
            return false
        }
    }

    /// Whether no session's methods are left that this call has to wait for.
    private func hasReturned(_ call: Call) -> Bool {
        returning.isEmpty || returning.count == 1 && returning.first == call.inside
    }

    /// Answers the calls that would open a session, came from inside the same one as a call that has overtaken them, and which
    /// that call would have ended.
    private mutating func endConnects(before last: Call, _ actions: inout [Action], _ isMeant: (Call) -> Bool) {
        guard let session = last.inside else { return }
        let ended = queue.prefix { $0.id != last.id }.filter { call in
            (call.request == .connect || call.request == .syncOnce) && call.inside == session && isMeant(call)
        }
        queue.removeAll { call in ended.contains { $0.id == call.id } }
        actions += ended.map { .answer($0.id, .ended) }
    }

    private mutating func proceed(_ call: Call, _ actions: inout [Action]) -> Bool {
        turn = call.id
        return finish(call, .proceed, &actions)
    }

    private mutating func finish(_ call: Call, _ answer: Answer, _ actions: inout [Action]) -> Bool {
        queue.removeAll { $0.id == call.id }
        actions.append(.answer(call.id, answer))
        return true
    }
}
