import PowerSyncCoreTestSupport
import TestSupport
import Testing

@testable import PowerSyncClient

/// Random interleavings of calls, of ends of loops and methods, and of cancellations.
///
/// After each event, what the machine wants is checked against a model that knows one thing only: calls take effect in the order
/// in which they are answered.
@Suite struct SyncGroupInterleavingTests {
    @Test(arguments: 1...40 as ClosedRange<UInt64>) func noCallWaitsForEverAndTheLastOneWins(seed: UInt64) {
        for part in 0..<50 as Range<UInt64> {
            let seed = seed &* 1_000 &+ part
            guard !InterleavedRun.play(seed: seed).problems.isEmpty else { continue }
            // Once more, in words: they take longer than the machine.
            let run = InterleavedRun.play(seed: seed, describes: true)
            Issue.record("seed \(seed): \(run.problems)\n\(run.events)")
        }
    }
}

/// One run: the machine, the outside world, and the model.
private struct InterleavedRun {
    typealias Machine = SyncGroup.StateMachine

    private struct Call {
        /// Its place in the order of all calls.
        let place: Int
        let request: Machine.Request
        let member: SyncGroup.MemberID
        let inside: SyncGroup.ConnectionID?
        var isAnswered = false
        /// Whether its connection is opened although the call was answered.
        var isOpenedLater = false
        /// Whether a later call has ended it.
        var isEnded = false
    }

    private struct Connection {
        let member: SyncGroup.MemberID
        var hasLoops = true
        var hasReturned = false
        /// The calls that its methods wait for.
        var calls: Set<SyncGroup.CallID> = []
    }

    private var generator: SeededGenerator
    private var machine = Machine()
    private var members: [SyncGroup.MemberID] = []
    private var calls: [SyncGroup.CallID: Call] = [:]
    private var connections: [SyncGroup.ConnectionID: Connection] = [:]
    private var stopping: SyncGroup.ConnectionID?
    private var opening: SyncGroup.CallID?
    private var body: SyncGroup.CallID?
    /// Calls of the app that were not answered, in their order.
    private var order: [SyncGroup.CallID] = []
    /// What the answers say: the connection that runs.
    private var model: SyncGroup.ConnectionID?

    private(set) var problems: [String] = []
    /// What has happened, if it is described.
    private(set) var events: [String] = []
    private let describes: Bool

    private init(seed: UInt64, describes: Bool) {
        generator = SeededGenerator(seed: seed)
        self.describes = describes
        members = (0..<2).map { _ in machine.joined() }
    }

    /// Plays the run of a seed to its end.
    static func play(seed: UInt64, describes: Bool = false) -> InterleavedRun {
        var run = InterleavedRun(seed: seed, describes: describes)
        run.play(steps: 40)
        run.finish()
        return run
    }

    /// Lets random things happen.
    private mutating func play(steps: Int) {
        for _ in 0..<steps {
            switch generator.number(below: 14) {
            case 0...4: call()
            case 5: cancel()
            case 6, 7: endLoops()
            case 8, 9: endMethods(canWait: true)
            case 10: endBody()
            case 11: leave()
            default: openConnection()
            }
        }
    }

    /// Lets everything end that can end, and methods that never return are left behind.
    private mutating func finish() {
        for _ in 0..<1_000 where !(calls.values.allSatisfy(\.isAnswered) && opening == nil) {
            openConnection()
            endBody()
            endLoops()
            endMethods(canWait: false)
        }
        for (id, call) in calls where !call.isAnswered {
            problems.append("\(id) waits for ever: \(call.request)")
        }
        if machine.running?.connection != model {
            problems.append("\(String(describing: machine.running)) runs instead of \(String(describing: model))")
        }
    }

    // MARK: - Events

    private mutating func call() {
        let requests: [Machine.Request] = [
            .connect, .connect, .disconnect, .disconnect, .clear, .syncOnce, .changeSchema,
        ]
        var request = requests[generator.number(below: requests.count)]
        if generator.number(below: 40) == 0 { request = .close }
        if generator.number(below: 12) == 0, let connection = connections.keys.min(by: { "\($0)" < "\($1)" }) {
            request = .endOnce(connection)
        }
        let member = members[generator.number(below: members.count)]
        let candidates = connections.keys.sorted { "\($0)" < "\($1)" }
        let isInside = !candidates.isEmpty && generator.number(below: 3) == 0
        let caller = isInside ? candidates[generator.number(below: candidates.count)] : nil
        // A method that was left behind calls like the app.
        let inside = caller.flatMap { connections[$0]?.hasReturned == false ? $0 : nil }
        let id = machine.newCall()
        calls[id] = Call(place: calls.count, request: request, member: member, inside: inside)
        if let inside { connections[inside]?.calls.insert(id) } else { order.append(id) }
        let isCancelled = generator.number(below: 10) == 0
        note("\(id) calls \(request) of \(member) inside \(String(describing: caller)), cancelled: \(isCancelled)")
        let actions = machine.called(id, request, by: member, inside: caller, isCancelled: isCancelled)
        if isCancelled {
            // What has not begun does not begin; what only ends something does.
            switch request {
            case .connect, .syncOnce, .changeSchema:
                expect(actions == [.answer(id, .cancelled)], "\(id) is cancelled and does \(actions)")
            case .disconnect, .close, .clear, .endOnce:
                expect(!actions.contains(.answer(id, .cancelled)), "\(id) is not done")
            }
        }
        perform(actions)
    }

    /// A database goes that nothing keeps alive, and another one comes.
    private mutating func leave() {
        let index = generator.number(below: members.count)
        let member = members[index]
        let isNeeded =
            calls.values.contains { $0.member == member && (!$0.isAnswered || $0.isOpenedLater) }
            || connections.values.contains { $0.member == member && ($0.hasLoops || !$0.hasReturned) }
        guard !isNeeded else { return }
        note("\(member) leaves")
        machine.left(member)
        expect(!machine.isClosed(member), "\(member) is remembered")
        members[index] = machine.joined()
        expect(members[index] != member, "\(member) is given twice")
    }

    private mutating func cancel() {
        let open = calls.filter { !$0.value.isAnswered }.keys.sorted { "\($0)" < "\($1)" }
        guard !open.isEmpty else { return }
        let id = open[generator.number(below: open.count)]
        note("\(id) is cancelled")
        perform(machine.cancelled(id))
    }

    private mutating func endLoops() {
        guard let connection = stopping else { return }
        stopping = nil
        connections[connection]?.hasLoops = false
        note("loops of \(connection) end")
        perform(machine.loopsEnded(of: connection))
    }

    private mutating func endMethods(canWait: Bool) {
        let ending = connections.filter { !$0.value.hasLoops && !$0.value.hasReturned }
        for (id, connection) in ending.sorted(by: { "\($0.key)" < "\($1.key)" }) {
            let waits = connection.calls.contains { calls[$0]?.isAnswered == false }
            // Methods that wait are left behind in the end.
            guard waits ? !canWait || generator.number(below: 8) == 0 : generator.number(below: 4) > 0 else { continue }
            connections[id]?.hasReturned = true
            note("methods of \(id) return")
            perform(machine.returned(id))
        }
    }

    private mutating func endBody() {
        guard let call = body else { return }
        body = nil
        note("\(call) has done its work")
        perform(machine.bodyEnded(of: call))
    }

    private mutating func openConnection() {
        guard let call = opening else { return }
        opening = nil
        note("\(call) has opened its connection")
        perform(machine.opened(by: call))
    }

    // MARK: - What the machine wants

    private mutating func perform(_ actions: [Machine.Action]) {
        for action in actions {
            note("    \(action)")
            switch action {
            case .open(let connection, let call): open(connection, for: call)
            case .stop(let connection):
                expect(model == connection, "\(connection) is stopped, but does not run")
                model = nil
                stopping = connection
            case .answer(let call, let answer): self.answer(call, answer)
            }
        }
    }

    private mutating func open(_ connection: SyncGroup.ConnectionID, for call: SyncGroup.CallID) {
        expect(body == nil && opening == nil, "a connection is opened while somebody else is at work")
        for (id, other) in connections {
            expect(!other.hasLoops, "\(connection) is opened beside the loops of \(id)")
            expect(other.hasReturned, "\(connection) is opened beside methods of \(id)")
        }
        expect(calls[call]?.isEnded == false, "\(call) opens a connection after a later call has ended it")
        opening = call
        calls[call]?.isOpenedLater = false
        connections[connection] = Connection(member: calls[call]?.member ?? members[0])
        model = connection
    }

    private mutating func answer(_ id: SyncGroup.CallID, _ answer: Machine.Answer) {
        guard let call = calls[id] else { return problems.append("\(id) is unknown") }
        let isOpenedLater = call.request == .connect && call.inside != nil
        expect(!call.isAnswered || isOpenedLater, "\(id) is answered twice")
        calls[id]?.isAnswered = true
        calls[id]?.isOpenedLater = isOpenedLater && answer == .done
        if let place = order.firstIndex(of: id) {
            // Those before it were served or cancelled, unless it was refused at the call.
            let mayOvertake = answer == .cancelled || answer == .refusedClosed
            let overtaken = order[..<place]
            expect(overtaken.isEmpty || mayOvertake, "\(id) has overtaken \(overtaken)")
            order.remove(at: place)
        }
        let runs = model.flatMap { connections[$0]?.member }
        switch (call.request, answer) {
        case (.connect, .opened(let connection)), (.syncOnce, .opened(let connection)):
            expect(model == connection, "\(connection) was opened and does not run")
        case (.connect, .done): expect(call.inside != nil, "\(id) is done before its connection is opened")
        case (.syncOnce, .joined(let connection)):
            expect(model == connection, "\(id) joins a connection that does not run")
        case (.syncOnce, .refusedOther): expect(runs != nil && runs != call.member, "\(id) is refused wrongly")
        case (.disconnect, .done), (.close, .done):
            expect(runs != call.member, "\(id) is done while its connection runs")
            if runs == nil { expectNothingLeft(for: id, call) }
            if call.request == .disconnect { endCalls(before: call) { $0.member == call.member } }
        case (.endOnce(let connection), .done): expect(model != connection, "\(id) is done while its connection runs")
        case (.clear, .proceed):
            expect(runs == nil && body == nil, "\(id) clears while somebody else is at work")
            expectNothingLeft(for: id, call)
            endCalls(before: call) { _ in true }
            body = id
        case (.changeSchema, .proceed):
            expect(runs == nil && body == nil && stopping == nil, "\(id) changes while somebody else is at work")
            body = id
        case (.changeSchema, .refusedConnected): expect(runs != nil, "\(id) is refused wrongly")
        case (.connect, .refusedClosed), (.syncOnce, .refusedClosed):
            expect(machine.isClosed(call.member), "\(id) is refused wrongly")
        case (.connect, .ended), (.syncOnce, .ended):
            expect(calls.values.contains { ends($0, call) || replaces($0, call) }, "\(id) is ended without a reason")
            calls[id]?.isEnded = true
        case (.connect, .cancelled), (.syncOnce, .cancelled), (.changeSchema, .cancelled): break
        default: problems.append("\(id) \(call.request) was answered \(answer)")
        }
    }

    /// Whether a call, which is answered next, ends an earlier one from inside the same connection that was to open one.
    private func ends(_ last: Call, _ call: Call) -> Bool {
        guard let connection = call.inside, last.inside == connection, last.place > call.place, !last.isAnswered else {
            return false
        }
        return last.request == .clear || last.request == .disconnect && last.member == call.member
    }

    /// Whether a call that waits would end the connection that an earlier one opens.
    private func replaces(_ next: Call, _ call: Call) -> Bool {
        let isWaiting = !next.isAnswered || next.isOpenedLater
        guard isWaiting, next.place > call.place, next.inside == nil || next.inside == call.inside else { return false }
        switch next.request {
        case .connect, .clear: return true
        case .disconnect, .close: return next.member == call.member
        case .changeSchema, .syncOnce, .endOnce: return false
        }
    }

    /// What the same caller has called before must not open a connection afterwards.
    private mutating func endCalls(before last: Call, _ isMeant: (Call) -> Bool) {
        for (id, call) in calls where call.place < last.place && isMeant(call) && call.inside == last.inside {
            calls[id]?.isEnded = true
        }
    }

    /// No loops, and no methods but those that are not waited for and the caller's own.
    private mutating func expectNothingLeft(for id: SyncGroup.CallID, _ call: Call) {
        expect(stopping == nil, "\(id) does not wait for loops")
        for (connection, state) in connections where !state.hasReturned && !state.hasLoops {
            expect(connection == call.inside, "\(id) does not wait for the methods of \(connection)")
        }
    }

    private mutating func expect(_ condition: Bool, _ problem: @autoclosure () -> String) {
        if !condition { problems.append(problem()) }
    }

    private mutating func note(_ event: @autoclosure () -> String) {
        if describes { events.append(event()) }
    }
}
