/// Which handle syncs a file, and which call is served: connecting, disconnecting, clearing, changing the schema, closing.
///
/// ```
///             open                 stop                   loops ended
///    idle  ────────► running ────────────► stopping ─────────────────►  idle
///                                                                      + returning, until the methods of its
///                                                                        connector have returned, or 1 s
/// ```
///
/// A connection consists of loops, which are ours and end as soon as they are cancelled, and of methods of the app's connector,
/// which may take no notice. Calls come from the app, from any of the databases of one file, or from inside such a method.
/// They are served in the order in which they came:
///
/// | call | a connection that runs | before it goes on | then |
/// | --- | --- | --- | --- |
/// | `connect` | is stopped, whichever handle has it | loops and methods have ended | opens a connection |
/// | `disconnect`, `close` | is stopped if it is of this database; another one is left alone | loops and methods have ended | returns |
/// | `disconnectAndClear` | is stopped, whichever handle has it | loops and methods have ended | deletes, and no other call is served meanwhile |
/// | `updateSchema` | refuses | | changes, and no other call is served meanwhile |
/// | `syncOnce` | of this database: is used; of another one: refuses | methods have ended | opens a connection |
/// | end of `syncOnce` | is stopped if the call has opened it | loops and methods have ended | returns |
/// | `invalidateCredentials` | goes on, whichever handle has it; its ``CredentialsCache`` drops what it has | | returns |
///
/// Credentials live and die with a connection, so invalidating them is no event here: without a connection there are none, and one
/// that is opened later fetches its own. It waits for nothing and is not behind calls that wait. What a connection does without
/// credentials, and that a fetch under way does not count, is in ``CredentialsCache``.
///
/// `syncOnce` does not wait for methods after its deadline, neither before it opens a connection nor at its end; others do.
///
/// **Which call wins**: the last one. After `close`, the database's calls that wait to connect are refused. A call that waits to open
/// a connection is answered at once when the next call in the queue would end that connection: of many calls of `connect` in a row, the
/// last one waits, and no other one waits for the methods of connections that are ended as soon as they are opened.
///
/// **No call waits for ever.** Methods that have not returned ``Connection/returnLimit`` after the loops are not waited for any
/// more. A call from inside a method does not wait for its own connection's methods, and is not behind calls that do: it
/// would wait for itself. For what it asks, its connection has ended when the loops have, so it cannot end a connection that
/// the app opens after its own. `connect` from inside returns at once, and opens its connection when it is its turn, unless
/// `disconnect` or `disconnectAndClear` from inside the same connection comes after it. A method that is not waited for any
/// more calls like the app.
///
/// **Cancellation** takes `connect`, `updateSchema` and `syncOnce` out of the queue, unless they have told a connection to end
/// already. What only ends something goes on.
///
/// It has no clock and no tasks: events return what is to be done, in this order, after the lock was released.
struct ConnectionRules: Sendable {
    /// The number of something among those of its kind.
    struct ID<Named>: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    /// A handle of the file.
    typealias HandleID = ID<SyncHandle>
    /// A connection, that is one `connect`.
    typealias ConnectionID = ID<Connection>
    /// A call of one of the databases.
    typealias CallID = ID<Request>

    /// What is asked for.
    enum Request: Equatable, Sendable {
        case connect
        case disconnect
        case close
        case clear
        case changeSchema
        case syncOnce
        /// The end of `syncOnce`, which has opened this connection.
        case endOnce(ConnectionID)

        /// The row of the table.
        fileprivate var rule: Rule {
            switch self {
            case .connect: Rule(meets: .ends, waits: .allMethods, then: .open, isCancellable: true)
            case .syncOnce: Rule(meets: .joins, waits: .allMethods, then: .open, isCancellable: true)
            case .disconnect, .close: Rule(meets: .endsOwn, waits: .methodsOfOthers, then: .answer)
            case .clear: Rule(meets: .ends, waits: .methodsOfOthers, then: .doAlone)
            case .changeSchema: Rule(meets: .refuses, waits: .nothing, then: .doAlone, isCancellable: true)
            case .endOnce(let connection):
                Rule(meets: .endsOnly(connection), waits: .methods(of: connection), then: .answer)
            }
        }
    }

    /// How a call is served.
    fileprivate struct Rule {
        /// What becomes of a connection that runs.
        enum Meeting {
            /// It is stopped.
            case ends
            /// It is stopped if it is of the same database; another one is left alone.
            case endsOwn
            /// It is stopped if it is this one; another one is left alone.
            case endsOnly(ConnectionID)
            /// It is used, if it is of the same database; otherwise the call is refused.
            case joins
            /// The call is refused.
            case refuses
        }

        /// What the call waits for beside loops, which all calls wait for.
        enum Wait {
            case nothing
            case allMethods
            /// The methods of connections inside which the caller is not, if no connection runs.
            case methodsOfOthers
            case methods(of: ConnectionID)
        }

        enum Step {
            case open
            case answer
            case doAlone
        }

        let meets: Meeting
        let waits: Wait
        let then: Step
        /// Whether nothing is left to do for a caller that was cancelled.
        var isCancellable = false
    }

    /// How a call ends, or how it goes on.
    enum Answer: Equatable, Sendable {
        /// Everything is done.
        case done
        /// The caller may do what it wants to do alone, and says when it has: ``bodyEnded(of:)``.
        case proceed
        /// This connection was opened.
        case opened(ConnectionID)
        /// This connection runs already.
        case joined(ConnectionID)
        /// A later call has ended what this one was to open.
        case ended
        /// A handle syncs.
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
        /// Make this connection for a call and start it, then say so: ``opened(by:)``.
        case open(ConnectionID, for: CallID)
        /// Cancel the loops of the connection and the methods of its connector.
        case stop(ConnectionID)
        /// Tell the caller.
        case answer(CallID, Answer)
    }

    private struct Call {
        let id: CallID
        let request: Request
        let handle: HandleID
        /// The connection inside whose connector the caller is.
        let inside: ConnectionID?
        /// Whether it has told a connection to end.
        var hasStopped = false
    }

    private enum Phase {
        /// No handle syncs.
        case idle
        /// A connection is made, or runs.
        case running(ConnectionID, of: HandleID)
        /// A connection was told to end.
        case stopping(ConnectionID, of: HandleID)
    }

    private var phase = Phase.idle
    /// Connections without loops, methods of whose connectors have not returned.
    private var returning: Set<ConnectionID> = []
    /// The call that is opening a connection, or does something alone.
    private var turn: CallID?
    private var queue: [Call] = []
    private var closed: Set<HandleID> = []
    private var lastID: UInt64 = 0

    /// Creates the state of a file that no handle syncs.
    init() {}
}

// MARK: - What is known

extension ConnectionRules {
    /// The connection that runs and was not told to end.
    var running: (connection: ConnectionID, handle: HandleID)? {
        if case .running(let connection, let handle) = phase { (connection, handle) } else { nil }
    }

    /// Whether no loops run.
    var isQuiet: Bool { if case .idle = phase { true } else { false } }

    /// Whether a database was closed.
    func isClosed(_ handle: HandleID) -> Bool { closed.contains(handle) }

    private mutating func nextID() -> UInt64 {
        lastID += 1
        return lastID
    }

    /// A number for a database.
    mutating func joined() -> HandleID { HandleID(number: nextID()) }

    /// A number for a call.
    mutating func newCall() -> CallID { CallID(number: nextID()) }

    /// The database is gone.
    ///
    /// None of its calls waits and it has no connection: both keep it alive.
    mutating func left(_ handle: HandleID) { closed.remove(handle) }
}

// MARK: - Events

extension ConnectionRules {
    /// A handle is called.
    ///
    /// - Parameters:
    ///   - call: A new number.
    ///   - request: What is asked for.
    ///   - handle: The database.
    ///   - caller: The connection inside whose connector the caller is, or was once.
    ///   - isCancelled: Whether the caller was cancelled before.
    /// - Returns: What is to be done, as for all events.
    mutating func called(
        _ call: CallID,
        _ request: Request,
        by handle: HandleID,
        inside caller: ConnectionID? = nil,
        isCancelled: Bool = false
    ) -> [Action] {
        if isCancelled, request.rule.isCancellable { return [.answer(call, .cancelled)] }
        let caller = caller.flatMap { isAlive($0) ? $0 : nil }
        if request == .close { closed.insert(handle) }
        if request == .connect, closed.contains(handle) { return [.answer(call, .refusedClosed)] }
        queue.append(Call(id: call, request: request, handle: handle, inside: caller))
        // The connector's method must return before the connection can be opened.
        let answer: [Action] = request == .connect && caller != nil ? [.answer(call, .done)] : []
        return answer + advance()
    }

    /// The caller was cancelled.
    mutating func cancelled(_ call: CallID) -> [Action] {
        guard let index = queue.firstIndex(where: { $0.id == call }) else { return [] }
        let waiting = queue[index]
        // From inside, `connect` was answered already.
        let isAnswered = waiting.request == .connect && waiting.inside != nil
        guard waiting.request.rule.isCancellable, !waiting.hasStopped, !isAnswered else { return [] }
        queue.remove(at: index)
        return [.answer(call, .cancelled)] + advance()
    }

    /// The connection of a call was made and started.
    mutating func opened(by call: CallID) -> [Action] {
        guard turn == call, case .running(let connection, _) = phase else { return [] }
        turn = nil
        return [.answer(call, .opened(connection))] + advance()
    }

    /// A call has done what it had to do alone.
    mutating func bodyEnded(of call: CallID) -> [Action] {
        guard turn == call else { return [] }
        turn = nil
        return advance()
    }

    /// The loops of a connection have ended; nothing of it touches the database any more.
    mutating func loopsEnded(of connection: ConnectionID) -> [Action] {
        switch phase {
        case .stopping(connection, _), .running(connection, _): break
        case .idle, .running, .stopping: return []
        }
        phase = .idle
        returning.insert(connection)
        return advance()
    }

    /// All methods of a connection's connector have returned, after its loops have ended, or are not waited for any more.
    mutating func returned(_ connection: ConnectionID) -> [Action] {
        guard returning.remove(connection) != nil else { return [] }
        return advance()
    }
}

// MARK: - Serving the queue

extension ConnectionRules {
    /// Whether something of a connection has not ended.
    private func isAlive(_ connection: ConnectionID) -> Bool {
        switch phase {
        case .running(connection, _), .stopping(connection, _): true
        case .idle, .running, .stopping: returning.contains(connection)
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
            guard let connection = call.inside, returning.contains(connection) else { return false }
            return call.request != .connect && call.request != .syncOnce
        }
        return inner ?? queue.indices.first
    }

    /// Takes the next step of a call.
    ///
    /// - Returns: Whether the queue may go on; `false` when this call has to wait.
    private mutating func serve(_ call: Call, at index: Int, _ actions: inout [Action]) -> Bool {
        let rule = call.request.rule
        if case .open = rule.then {
            if closed.contains(call.handle) { return finish(call, .refusedClosed, &actions) }
            if isReplaced(call, at: index) {
                // Cancelled, it would leave neither connection.
                queue[index + 1].hasStopped = true
                return finish(call, .ended, &actions)
            }
        }
        switch phase {
        case .idle:
            break
        case .stopping:
            return false
        case .running(let connection, let handle):
            let isOwn = handle == call.handle
            switch rule.meets {
            case .joins: return finish(call, isOwn ? .joined(connection) : .refusedOther, &actions)
            case .refuses: return finish(call, .refusedConnected, &actions)
            case .endsOwn where !isOwn: break
            case .endsOnly(let meant) where meant != connection: break
            case .ends, .endsOwn, .endsOnly:
                phase = .stopping(connection, of: handle)
                queue[index].hasStopped = true
                actions.append(.stop(connection))
                return false
            }
        }
        guard haveReturned(rule.waits, for: call) else { return false }
        switch rule.then {
        case .open:
            queue.remove(at: index)
            let connection = ConnectionID(number: nextID())
            phase = .running(connection, of: call.handle)
            turn = call.id
            actions.append(.open(connection, for: call.id))
            return true
        case .answer:
            endConnects(before: call, &actions)
            return finish(call, .done, &actions)
        case .doAlone:
            endConnects(before: call, &actions)
            turn = call.id
            return finish(call, .proceed, &actions)
        }
    }

    /// Whether the next call in the queue would end the connection of a call that has not opened it.
    ///
    /// A call from inside a connection asks for the end of that connection, and not of one that is opened later.
    private func isReplaced(_ call: Call, at index: Int) -> Bool {
        guard queue.indices.contains(index + 1) else { return false }
        let next = queue[index + 1]
        guard next.inside == nil || next.inside == call.inside else { return false }
        // A database that was closed connects no more.
        if next.request == .connect, closed.contains(next.handle) { return false }
        return ends(next, call)
    }

    /// Whether a call ends the connection that another one is to open.
    private func ends(_ last: Call, _ call: Call) -> Bool {
        switch last.request.rule.meets {
        case .ends: true
        case .endsOwn: last.handle == call.handle
        case .endsOnly, .joins, .refuses: false
        }
    }

    /// Whether the methods have returned that a call waits for.
    private func haveReturned(_ methods: Rule.Wait, for call: Call) -> Bool {
        switch methods {
        case .nothing: true
        case .allMethods: returning.isEmpty
        case .methodsOfOthers: !isQuiet || returning.allSatisfy { $0 == call.inside }
        case .methods(let connection): !returning.contains(connection) || call.inside == connection
        }
    }

    /// Answers the calls that would open a connection, came from inside the same one as a call that has overtaken them, and which
    /// that call would have ended.
    private mutating func endConnects(before last: Call, _ actions: inout [Action]) {
        // Those of a database that was closed are refused.
        guard let connection = last.inside, last.request != .close else { return }
        let ended = queue.prefix { $0.id != last.id }.filter { call in
            if case .open = call.request.rule.then { call.inside == connection && ends(last, call) } else { false }
        }
        queue.removeAll { call in ended.contains { $0.id == call.id } }
        actions += ended.map { .answer($0.id, .ended) }
    }

    private mutating func finish(_ call: Call, _ answer: Answer, _ actions: inout [Action]) -> Bool {
        queue.removeAll { $0.id == call.id }
        actions.append(.answer(call.id, answer))
        return true
    }
}
