import Testing

@testable import PowerSyncClient

/// The table of calls, row by row.
@Suite struct SyncGroupStateMachineTests {
    typealias Machine = SyncGroup.StateMachine

    /// A machine with two members.
    private struct Bench {
        var machine = Machine()
        let first: SyncGroup.MemberID
        let second: SyncGroup.MemberID

        init() {
            first = machine.joined()
            second = machine.joined()
        }

        mutating func call(
            _ request: Machine.Request,
            by member: SyncGroup.MemberID? = nil,
            inside session: SyncGroup.SessionID? = nil
        ) -> (id: SyncGroup.CallID, actions: [Machine.Action]) {
            let id = machine.newCall()
            return (id, machine.called(id, request, by: member ?? first, inside: session))
        }

        /// Opens a session, which nobody prevents.
        mutating func open(by member: SyncGroup.MemberID? = nil) throws -> SyncGroup.SessionID {
            let (id, actions) = call(.connect, by: member)
            guard case .open(let session, for: id)? = actions.first else { throw NotOpened() }
            #expect(machine.opened(by: id) == [.answer(id, .opened(session))])
            return session
        }

        /// Opens the session that a machine wants to open.
        mutating func open(_ actions: [Machine.Action], for call: SyncGroup.CallID) throws -> SyncGroup.SessionID {
            guard case .open(let session, for: call)? = actions.last else { throw NotOpened() }
            #expect(machine.opened(by: call) == [.answer(call, .opened(session))])
            return session
        }

        /// Stops a session that runs, down to the methods of its connector.
        mutating func stopLoops(of session: SyncGroup.SessionID) {
            #expect(call(.disconnect).actions == [.stop(session)])
            #expect(machine.loopsEnded(of: session) == [.startLimit(session)])
        }
    }

    private struct NotOpened: Error {}

    @Test func connectOpensASession() throws {
        var bench = Bench()
        let session = try bench.open()
        #expect(bench.machine.running?.session == session)
        #expect(bench.machine.running?.member == bench.first)
        #expect(bench.machine.syncing == bench.first)
        #expect(!bench.machine.isQuiet)
    }

    @Test(arguments: [false, true]) func connectReplacesASessionAfterItsEnd(ofAnother: Bool) throws {
        var bench = Bench()
        let session = try bench.open(by: ofAnother ? bench.second : bench.first)
        let (call, actions) = bench.call(.connect)
        #expect(actions == [.stop(session)])
        #expect(bench.machine.running == nil && !bench.machine.isQuiet)
        #expect(bench.machine.syncing == (ofAnother ? bench.second : bench.first))
        #expect(bench.machine.loopsEnded(of: session) == [.startLimit(session)])
        #expect(bench.machine.isQuiet)
        #expect(bench.machine.syncing == nil)
        let next = try bench.open(bench.machine.returned(session), for: call)
        #expect(next != session)
        #expect(bench.machine.running?.session == next)
    }

    @Test func callsAreServedInOrder() throws {
        var bench = Bench()
        let session = try bench.open()
        let (connect, stop) = bench.call(.connect)
        #expect(stop == [.stop(session)])
        let (clear, none) = bench.call(.clear, by: bench.second)
        let (again, alsoNone) = bench.call(.connect)
        #expect(none.isEmpty && alsoNone.isEmpty)
        _ = bench.machine.loopsEnded(of: session)
        let opening = bench.machine.returned(session)
        guard case .open(let second, for: connect)? = opening.first else { throw NotOpened() }
        #expect(bench.machine.opened(by: connect) == [.answer(connect, .opened(second)), .stop(second)])
        #expect(bench.machine.loopsEnded(of: second) == [.startLimit(second)])
        #expect(bench.machine.returned(second) == [.answer(clear, .proceed)])
        _ = try bench.open(bench.machine.bodyEnded(of: clear), for: again)
    }

    @Test(arguments: [Machine.Request.disconnect, .close])
    func endingWaitsForLoopsAndMethods(request: Machine.Request) throws {
        var bench = Bench()
        let session = try bench.open()
        let (call, actions) = bench.call(request)
        #expect(actions == [.stop(session)])
        #expect(bench.machine.loopsEnded(of: session) == [.startLimit(session)])
        #expect(bench.machine.returned(session) == [.answer(call, .done)])
        #expect(bench.machine.returned(session).isEmpty)
    }

    @Test(arguments: [Machine.Request.disconnect, .close])
    func endingLeavesTheSessionOfAnotherAlone(request: Machine.Request) throws {
        var bench = Bench()
        let session = try bench.open(by: bench.second)
        let (call, actions) = bench.call(request)
        #expect(actions == [.answer(call, .done)])
        #expect(bench.machine.running?.session == session)
    }

    @Test func disconnectingWhenNobodySyncsWaitsForMethods() throws {
        var bench = Bench()
        let idle = bench.call(.disconnect)
        #expect(idle.actions == [.answer(idle.id, .done)])
        let session = try bench.open()
        let inner = bench.call(.disconnect, inside: session)
        #expect(inner.actions == [.stop(session)])
        #expect(bench.machine.loopsEnded(of: session) == [.startLimit(session), .answer(inner.id, .done)])
        let outer = bench.call(.disconnect, by: bench.second)
        #expect(outer.actions.isEmpty)
        #expect(bench.machine.returned(session) == [.answer(outer.id, .done)])
    }

    @Test func methodsAreWaitedForUpToTheLimit() throws {
        var bench = Bench()
        let session = try bench.open()
        let (call, _) = bench.call(.connect)
        _ = bench.machine.loopsEnded(of: session)
        let actions = bench.machine.limitReached(of: session)
        let next = try bench.open(try #require(actions), for: call)
        // Late.
        #expect(bench.machine.returned(session).isEmpty)
        #expect(bench.machine.limitReached(of: session) == nil)
        #expect(bench.machine.running?.session == next)
    }

    @Test func clearingIsAlone() throws {
        var bench = Bench()
        let (clear, actions) = bench.call(.clear)
        #expect(actions == [.answer(clear, .proceed)])
        #expect(bench.machine.isQuiet)
        for request in [Machine.Request.connect, .syncOnce, .changeSchema, .disconnect] {
            #expect(bench.call(request).actions.isEmpty)
        }
        #expect(bench.machine.bodyEnded(of: clear).count == 1)
    }

    @Test func schemaChangesAreRefusedWhileASessionRuns() throws {
        var bench = Bench()
        let session = try bench.open(by: bench.second)
        let refused = bench.call(.changeSchema)
        #expect(refused.actions == [.answer(refused.id, .refusedConnected)])
        #expect(bench.call(.disconnect, by: bench.second).actions == [.stop(session)])
        let (change, none) = bench.call(.changeSchema)
        #expect(none.isEmpty)
        _ = bench.machine.loopsEnded(of: session)
        #expect(bench.machine.returned(session).last == .answer(change, .proceed))
        #expect(bench.machine.bodyEnded(of: change).isEmpty)
    }

    @Test func syncOnceJoinsOrOpens() throws {
        var bench = Bench()
        let (opening, actions) = bench.call(.syncOnce)
        let session = try bench.open(actions, for: opening)
        let joining = bench.call(.syncOnce)
        #expect(joining.actions == [.answer(joining.id, .joined(session))])
        let other = bench.call(.syncOnce, by: bench.second)
        #expect(other.actions == [.answer(other.id, .refusedOther)])
        let (ending, stop) = bench.call(.endOnce(session))
        #expect(stop == [.stop(session)])
        #expect(bench.machine.loopsEnded(of: session) == [.startLimit(session)])
        #expect(bench.machine.returned(session) == [.answer(ending, .done)])
    }

    @Test func endOfSyncOnceLeavesALaterSessionAlone() throws {
        var bench = Bench()
        let (opening, actions) = bench.call(.syncOnce)
        let session = try bench.open(actions, for: opening)
        let (connect, _) = bench.call(.connect)
        _ = bench.machine.loopsEnded(of: session)
        let next = try bench.open(bench.machine.returned(session), for: connect)
        let ending = bench.call(.endOnce(session))
        #expect(ending.actions == [.answer(ending.id, .done)])
        #expect(bench.machine.running?.session == next)
    }

    @Test func closedDatabaseDoesNotConnect() throws {
        var bench = Bench()
        let session = try bench.open(by: bench.second)
        #expect(bench.call(.disconnect, by: bench.second).actions == [.stop(session)])
        let waiting = [bench.call(.connect), bench.call(.syncOnce)]
        _ = bench.call(.close)
        #expect(bench.machine.isClosed(bench.first))
        _ = bench.machine.loopsEnded(of: session)
        let answers = bench.machine.returned(session)
        for call in waiting { #expect(answers.contains(.answer(call.id, .refusedClosed))) }
        let late = bench.call(.connect)
        #expect(late.actions == [.answer(late.id, .refusedClosed)])
        _ = try bench.open(by: bench.second)
    }

    @Test func connectOfAClosedDatabaseDoesNotEndTheSessionOfAnother() throws {
        var bench = Bench()
        let (clear, _) = bench.call(.clear)
        let (other, _) = bench.call(.connect, by: bench.second)
        let (waiting, _) = bench.call(.connect)
        _ = bench.call(.close)
        let actions = bench.machine.bodyEnded(of: clear)
        guard case .open(let session, for: other)? = actions.last else { throw NotOpened() }
        let answers = bench.machine.opened(by: other)
        #expect(answers.first == .answer(other, .opened(session)))
        #expect(answers.contains(.answer(waiting, .refusedClosed)))
        #expect(bench.machine.running?.session == session)
    }

    // MARK: - From inside a method of the connector

    @Test(arguments: [Machine.Request.disconnect, .close, .clear, .changeSchema])
    func callFromInsideIsNotBehindThoseThatWaitForItsMethod(request: Machine.Request) throws {
        var bench = Bench()
        let session = try bench.open()
        let (outer, stop) = bench.call(.disconnect)
        #expect(stop == [.stop(session)])
        let (later, _) = bench.call(.connect)
        let (inner, none) = bench.call(request, inside: session)
        #expect(none.isEmpty)
        let answer = bench.machine.loopsEnded(of: session)
        let isBody = request == .clear || request == .changeSchema
        #expect(answer == [.startLimit(session), .answer(inner, isBody ? .proceed : .done)])
        #expect(bench.machine.bodyEnded(of: inner).isEmpty)
        let answers = bench.machine.returned(session)
        #expect(answers.first == .answer(outer, .done))
        if request == .close {
            #expect(answers.last == .answer(later, .refusedClosed))
        } else {
            _ = try bench.open(answers, for: later)
        }
    }

    @Test func connectFromInsideReturnsAtOnceAndWins() throws {
        var bench = Bench()
        let session = try bench.open()
        let (outer, _) = bench.call(.disconnect)
        let (inner, answer) = bench.call(.connect, inside: session)
        #expect(answer == [.answer(inner, .done)])
        #expect(bench.machine.cancelled(inner).isEmpty)
        #expect(bench.machine.loopsEnded(of: session) == [.startLimit(session)])
        let answers = bench.machine.returned(session)
        #expect(answers.first == .answer(outer, .done))
        _ = try bench.open(answers, for: inner)
    }

    @Test(arguments: [Machine.Request.disconnect, .clear])
    func whatEndsAConnectionFromInsideEndsThoseThatWereToBeOpened(request: Machine.Request) throws {
        var bench = Bench()
        let session = try bench.open()
        let (connect, first) = bench.call(.connect, inside: session)
        #expect(first == [.answer(connect, .done), .stop(session)])
        let (other, second) = bench.call(.connect, by: bench.second, inside: session)
        let (last, third) = bench.call(request, inside: session)
        #expect(second == [.answer(other, .done)] && third.isEmpty)
        let answers = bench.machine.loopsEnded(of: session)
        switch request {
        case .clear:
            let all: [Machine.Action] = [.answer(connect, .ended), .answer(other, .ended), .answer(last, .proceed)]
            #expect(answers == [.startLimit(session)] + all)
            // What is called afterwards is served.
            let (later, answer) = bench.call(.connect, inside: session)
            #expect(answer == [.answer(later, .done)])
            #expect(bench.machine.bodyEnded(of: last).isEmpty)
            _ = try bench.open(bench.machine.returned(session), for: later)
        default:
            #expect(answers == [.startLimit(session), .answer(connect, .ended), .answer(last, .done)])
            _ = try bench.open(bench.machine.returned(session), for: other)
        }
    }

    @Test func whatEndsAConnectionFromInsideLeavesThatOfTheApp() throws {
        var bench = Bench()
        let session = try bench.open()
        let (connect, stop) = bench.call(.connect)
        #expect(stop == [.stop(session)])
        let (last, none) = bench.call(.disconnect, inside: session)
        #expect(none.isEmpty)
        #expect(bench.machine.loopsEnded(of: session) == [.startLimit(session), .answer(last, .done)])
        _ = try bench.open(bench.machine.returned(session), for: connect)
    }

    @Test func syncOnceFromInsideWaitsForItsOwnMethodUpToTheLimit() throws {
        var bench = Bench()
        let session = try bench.open()
        bench.stopLoops(of: session)
        let (inner, none) = bench.call(.syncOnce, inside: session)
        #expect(none.isEmpty)
        let actions = bench.machine.limitReached(of: session)
        _ = try bench.open(try #require(actions), for: inner)
    }

    @Test func methodOfAnEndedSessionCallsLikeTheApp() throws {
        var bench = Bench()
        let old = try bench.open()
        bench.stopLoops(of: old)
        _ = bench.machine.returned(old)
        let session = try bench.open()
        let (call, actions) = bench.call(.disconnect, inside: old)
        #expect(actions == [.stop(session)])
        #expect(bench.machine.loopsEnded(of: session) == [.startLimit(session)])
        #expect(bench.machine.returned(session) == [.answer(call, .done)])
    }

    // MARK: - Cancellation

    @Test func cancelledCallsLeaveTheQueue() throws {
        var bench = Bench()
        let session = try bench.open()
        bench.stopLoops(of: session)
        for request in [Machine.Request.connect, .syncOnce, .changeSchema] {
            let (call, none) = bench.call(request, by: bench.second)
            if request == .changeSchema {
                // Nobody syncs, but the calls before are served first.
                #expect(none.isEmpty)
            }
            #expect(bench.machine.cancelled(call) == [.answer(call, .cancelled)])
            #expect(bench.machine.cancelled(call).isEmpty)
        }
        for request in [Machine.Request.disconnect, .close, .clear, .endOnce(session)] {
            let (call, _) = bench.call(request, by: bench.second)
            #expect(bench.machine.cancelled(call).isEmpty)
        }
    }

    @Test func connectThatHasEndedASessionIsNotCancelled() throws {
        var bench = Bench()
        let session = try bench.open()
        let (call, stop) = bench.call(.connect)
        #expect(stop == [.stop(session)])
        #expect(bench.machine.cancelled(call).isEmpty)
        _ = bench.machine.loopsEnded(of: session)
        _ = try bench.open(bench.machine.returned(session), for: call)
    }

    @Test(arguments: [Machine.Request.connect, .syncOnce, .changeSchema])
    func callOfACancelledTaskDoesNothing(request: Machine.Request) {
        var bench = Bench()
        let call = bench.machine.newCall()
        let actions = bench.machine.called(call, request, by: bench.first, isCancelled: true)
        #expect(actions == [.answer(call, .cancelled)])
        #expect(bench.machine.isQuiet)
    }

    @Test func disconnectOfACancelledTaskDisconnects() throws {
        var bench = Bench()
        let session = try bench.open()
        let call = bench.machine.newCall()
        #expect(bench.machine.called(call, .disconnect, by: bench.first, isCancelled: true) == [.stop(session)])
    }

    @Test func databaseThatHasLeftIsForgotten() {
        var bench = Bench()
        let (close, actions) = bench.call(.close)
        #expect(actions == [.answer(close, .done)])
        #expect(bench.machine.isClosed(bench.first))
        bench.machine.left(bench.first)
        #expect(!bench.machine.isClosed(bench.first))
        // One of the other stays closed.
        _ = bench.call(.close, by: bench.second)
        bench.machine.left(bench.first)
        #expect(bench.machine.isClosed(bench.second))
    }
}
