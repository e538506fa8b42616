import PowerSyncCoreTestSupport
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
            inside connection: SyncGroup.ConnectionID? = nil
        ) -> (id: SyncGroup.CallID, actions: [Machine.Action]) {
            let id = machine.newCall()
            return (id, machine.called(id, request, by: member ?? first, inside: connection))
        }

        /// Opens a connection, which nobody prevents.
        mutating func open(by member: SyncGroup.MemberID? = nil) throws -> SyncGroup.ConnectionID {
            let (id, actions) = call(.connect, by: member)
            guard case .open(let connection, for: id)? = actions.first else { throw NotOpened() }
            #expect(machine.opened(by: id) == [.answer(id, .opened(connection))])
            return connection
        }

        /// Opens the connection that a machine wants to open.
        mutating func open(_ actions: [Machine.Action], for call: SyncGroup.CallID) throws -> SyncGroup.ConnectionID {
            guard case .open(let connection, for: call)? = actions.last else { throw NotOpened() }
            #expect(machine.opened(by: call) == [.answer(call, .opened(connection))])
            return connection
        }

        /// Stops a connection that runs, down to the methods of its connector.
        mutating func stopLoops(of connection: SyncGroup.ConnectionID) {
            #expect(call(.disconnect).actions == [.stop(connection)])
            #expect(machine.loopsEnded(of: connection) == [])
        }
    }

    private struct NotOpened: Error {}

    @Test func connectOpensAConnection() throws {
        var bench = Bench()
        let connection = try bench.open()
        #expect(bench.machine.running?.connection == connection)
        #expect(bench.machine.running?.member == bench.first)
        #expect(bench.machine.syncing == bench.first)
        #expect(!bench.machine.isQuiet)
    }

    @Test(arguments: [false, true]) func connectReplacesAConnectionAfterItsEnd(ofAnother: Bool) throws {
        var bench = Bench()
        let connection = try bench.open(by: ofAnother ? bench.second : bench.first)
        let (call, actions) = bench.call(.connect)
        #expect(actions == [.stop(connection)])
        #expect(bench.machine.running == nil && !bench.machine.isQuiet)
        #expect(bench.machine.syncing == (ofAnother ? bench.second : bench.first))
        #expect(bench.machine.loopsEnded(of: connection).isEmpty)
        #expect(bench.machine.isQuiet)
        #expect(bench.machine.syncing == nil)
        let next = try bench.open(bench.machine.returned(connection), for: call)
        #expect(next != connection)
        #expect(bench.machine.running?.connection == next)
    }

    @Test func callsAreServedInOrder() throws {
        var bench = Bench()
        let connection = try bench.open()
        let (connect, stop) = bench.call(.connect)
        #expect(stop == [.stop(connection)])
        let (once, none) = bench.call(.syncOnce)
        let (clear, alsoNone) = bench.call(.clear, by: bench.second)
        let (again, noneEither) = bench.call(.connect)
        #expect(none.isEmpty && alsoNone.isEmpty && noneEither.isEmpty)
        _ = bench.machine.loopsEnded(of: connection)
        let opening = bench.machine.returned(connection)
        guard case .open(let second, for: connect)? = opening.first else { throw NotOpened() }
        let answers = bench.machine.opened(by: connect)
        // The next call would end the connection that `once` asks for.
        #expect(answers == [.answer(connect, .opened(second)), .answer(once, .ended), .stop(second)])
        #expect(bench.machine.loopsEnded(of: second).isEmpty)
        #expect(bench.machine.returned(second) == [.answer(clear, .proceed)])
        _ = try bench.open(bench.machine.bodyEnded(of: clear), for: again)
    }

    @Test(
        arguments: [Machine.Request.connect, .syncOnce],
        [Machine.Request.connect, .clear, .disconnect, .close, .syncOnce, .changeSchema]
    )
    func aCallIsAnsweredWhenTheNextOneWouldEndItsConnection(first: Machine.Request, next: Machine.Request) throws {
        for isOfAnother in [false, true] {
            var bench = Bench()
            let connection = try bench.open(by: bench.second)
            #expect(bench.call(.disconnect, by: bench.second).actions == [.stop(connection)])
            #expect(bench.machine.loopsEnded(of: connection).isEmpty)
            let other = bench.call(.disconnect, by: bench.second)
            let opening = bench.call(first)
            let ending = bench.call(next, by: isOfAnother ? bench.second : bench.first)
            #expect(other.actions.isEmpty && opening.actions.isEmpty && ending.actions.isEmpty)
            let answers = bench.machine.returned(connection)
            let ends =
                switch next {
                case .connect, .clear: true
                case .disconnect, .close: !isOfAnother
                case .syncOnce, .changeSchema, .endOnce: false
                }
            // A closed database is told so.
            let answer: Machine.Answer = next == .close && !isOfAnother ? .refusedClosed : .ended
            #expect(answers.contains(.answer(opening.id, answer)) == ends)
            // What it was replaced by stays: otherwise neither of them would have a connection.
            if ends { #expect(bench.machine.cancelled(ending.id).isEmpty) }
        }
    }

    @Test func aCallIsAnsweredAsSoonAsTheOneThatReplacesItComes() throws {
        var bench = Bench()
        let connection = try bench.open()
        var waiting = bench.call(.connect)
        #expect(waiting.actions == [.stop(connection)])
        for _ in 0..<8 {
            let next = bench.call(.connect)
            #expect(next.actions == [.answer(waiting.id, .ended)])
            #expect(bench.machine.cancelled(next.id).isEmpty)
            waiting = next
        }
        _ = bench.machine.loopsEnded(of: connection)
        _ = try bench.open(bench.machine.returned(connection), for: waiting.id)
    }

    @Test(arguments: [Machine.Request.disconnect, .close])
    func endingWaitsForLoopsAndMethods(request: Machine.Request) throws {
        var bench = Bench()
        let connection = try bench.open()
        let (call, actions) = bench.call(request)
        #expect(actions == [.stop(connection)])
        #expect(bench.machine.loopsEnded(of: connection).isEmpty)
        #expect(bench.machine.returned(connection) == [.answer(call, .done)])
        #expect(bench.machine.returned(connection).isEmpty)
    }

    @Test(arguments: [Machine.Request.disconnect, .close])
    func endingLeavesTheConnectionOfAnotherAlone(request: Machine.Request) throws {
        var bench = Bench()
        let connection = try bench.open(by: bench.second)
        let (call, actions) = bench.call(request)
        #expect(actions == [.answer(call, .done)])
        #expect(bench.machine.running?.connection == connection)
    }

    @Test func disconnectingWhenNobodySyncsWaitsForMethods() throws {
        var bench = Bench()
        let idle = bench.call(.disconnect)
        #expect(idle.actions == [.answer(idle.id, .done)])
        let connection = try bench.open()
        let inner = bench.call(.disconnect, inside: connection)
        #expect(inner.actions == [.stop(connection)])
        #expect(bench.machine.loopsEnded(of: connection) == [.answer(inner.id, .done)])
        let outer = bench.call(.disconnect, by: bench.second)
        #expect(outer.actions.isEmpty)
        #expect(bench.machine.returned(connection) == [.answer(outer.id, .done)])
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

    @Test func schemaChangesAreRefusedWhileAConnectionRuns() throws {
        var bench = Bench()
        let connection = try bench.open(by: bench.second)
        let refused = bench.call(.changeSchema)
        #expect(refused.actions == [.answer(refused.id, .refusedConnected)])
        #expect(bench.call(.disconnect, by: bench.second).actions == [.stop(connection)])
        let (change, none) = bench.call(.changeSchema)
        #expect(none.isEmpty)
        _ = bench.machine.loopsEnded(of: connection)
        #expect(bench.machine.returned(connection).last == .answer(change, .proceed))
        #expect(bench.machine.bodyEnded(of: change).isEmpty)
    }

    @Test func syncOnceJoinsOrOpens() throws {
        var bench = Bench()
        let (opening, actions) = bench.call(.syncOnce)
        let connection = try bench.open(actions, for: opening)
        let joining = bench.call(.syncOnce)
        #expect(joining.actions == [.answer(joining.id, .joined(connection))])
        let other = bench.call(.syncOnce, by: bench.second)
        #expect(other.actions == [.answer(other.id, .refusedOther)])
        let (ending, stop) = bench.call(.endOnce(connection))
        #expect(stop == [.stop(connection)])
        #expect(bench.machine.loopsEnded(of: connection).isEmpty)
        #expect(bench.machine.returned(connection) == [.answer(ending, .done)])
    }

    @Test func endOfSyncOnceLeavesALaterConnectionAlone() throws {
        var bench = Bench()
        let (opening, actions) = bench.call(.syncOnce)
        let connection = try bench.open(actions, for: opening)
        let (connect, _) = bench.call(.connect)
        _ = bench.machine.loopsEnded(of: connection)
        let next = try bench.open(bench.machine.returned(connection), for: connect)
        let ending = bench.call(.endOnce(connection))
        #expect(ending.actions == [.answer(ending.id, .done)])
        #expect(bench.machine.running?.connection == next)
    }

    @Test func closedDatabaseDoesNotConnect() throws {
        var bench = Bench()
        let connection = try bench.open(by: bench.second)
        #expect(bench.call(.disconnect, by: bench.second).actions == [.stop(connection)])
        let waiting = [bench.call(.connect), bench.call(.syncOnce)]
        _ = bench.call(.close)
        #expect(bench.machine.isClosed(bench.first))
        _ = bench.machine.loopsEnded(of: connection)
        let answers = bench.machine.returned(connection)
        for call in waiting { #expect(answers.contains(.answer(call.id, .refusedClosed))) }
        let late = bench.call(.connect)
        #expect(late.actions == [.answer(late.id, .refusedClosed)])
        _ = try bench.open(by: bench.second)
    }

    @Test func connectOfAClosedDatabaseDoesNotEndTheConnectionOfAnother() throws {
        var bench = Bench()
        let (clear, _) = bench.call(.clear)
        let (other, _) = bench.call(.connect, by: bench.second)
        let (waiting, _) = bench.call(.connect)
        _ = bench.call(.close)
        let actions = bench.machine.bodyEnded(of: clear)
        guard case .open(let connection, for: other)? = actions.last else { throw NotOpened() }
        let answers = bench.machine.opened(by: other)
        #expect(answers.first == .answer(other, .opened(connection)))
        #expect(answers.contains(.answer(waiting, .refusedClosed)))
        #expect(bench.machine.running?.connection == connection)
    }

    // MARK: - From inside a method of the connector

    @Test(arguments: [Machine.Request.disconnect, .close, .clear, .changeSchema])
    func callFromInsideIsNotBehindThoseThatWaitForItsMethod(request: Machine.Request) throws {
        var bench = Bench()
        let connection = try bench.open()
        let (outer, stop) = bench.call(.disconnect)
        #expect(stop == [.stop(connection)])
        let (later, _) = bench.call(.connect)
        let (inner, none) = bench.call(request, inside: connection)
        #expect(none.isEmpty)
        let answer = bench.machine.loopsEnded(of: connection)
        let isBody = request == .clear || request == .changeSchema
        #expect(answer == [.answer(inner, isBody ? .proceed : .done)])
        #expect(bench.machine.bodyEnded(of: inner).isEmpty)
        let answers = bench.machine.returned(connection)
        #expect(answers.first == .answer(outer, .done))
        if request == .close {
            #expect(answers.last == .answer(later, .refusedClosed))
        } else {
            _ = try bench.open(answers, for: later)
        }
    }

    @Test func connectFromInsideReturnsAtOnceAndWins() throws {
        var bench = Bench()
        let connection = try bench.open()
        let (outer, _) = bench.call(.disconnect)
        let (inner, answer) = bench.call(.connect, inside: connection)
        #expect(answer == [.answer(inner, .done)])
        #expect(bench.machine.cancelled(inner).isEmpty)
        #expect(bench.machine.loopsEnded(of: connection).isEmpty)
        let answers = bench.machine.returned(connection)
        #expect(answers.first == .answer(outer, .done))
        _ = try bench.open(answers, for: inner)
    }

    @Test(arguments: [Machine.Request.disconnect, .clear])
    func whatEndsAConnectionFromInsideEndsThoseThatWereToBeOpened(request: Machine.Request) throws {
        var bench = Bench()
        let connection = try bench.open()
        let (connect, first) = bench.call(.connect, inside: connection)
        #expect(first == [.answer(connect, .done), .stop(connection)])
        let (other, second) = bench.call(.connect, by: bench.second, inside: connection)
        let (last, third) = bench.call(request, inside: connection)
        #expect(second == [.answer(other, .done), .answer(connect, .ended)])
        let answers = bench.machine.loopsEnded(of: connection)
        switch request {
        case .clear:
            #expect(third == [.answer(other, .ended)])
            #expect(answers == [.answer(last, .proceed)])
            // What is called afterwards is served.
            let (later, answer) = bench.call(.connect, inside: connection)
            #expect(answer == [.answer(later, .done)])
            #expect(bench.machine.bodyEnded(of: last).isEmpty)
            _ = try bench.open(bench.machine.returned(connection), for: later)
        default:
            #expect(third.isEmpty)
            #expect(answers == [.answer(last, .done)])
            _ = try bench.open(bench.machine.returned(connection), for: other)
        }
    }

    @Test func whatEndsAConnectionFromInsideLeavesThatOfTheApp() throws {
        var bench = Bench()
        let connection = try bench.open()
        let (connect, stop) = bench.call(.connect)
        #expect(stop == [.stop(connection)])
        let (last, none) = bench.call(.disconnect, inside: connection)
        #expect(none.isEmpty)
        #expect(bench.machine.loopsEnded(of: connection) == [.answer(last, .done)])
        _ = try bench.open(bench.machine.returned(connection), for: connect)
    }

    @Test func syncOnceFromInsideWaitsForItsOwnMethod() throws {
        var bench = Bench()
        let connection = try bench.open()
        bench.stopLoops(of: connection)
        let (inner, none) = bench.call(.syncOnce, inside: connection)
        #expect(none.isEmpty)
        _ = try bench.open(bench.machine.returned(connection), for: inner)
    }

    @Test func methodOfAnEndedConnectionCallsLikeTheApp() throws {
        var bench = Bench()
        let old = try bench.open()
        bench.stopLoops(of: old)
        _ = bench.machine.returned(old)
        let connection = try bench.open()
        let (call, actions) = bench.call(.disconnect, inside: old)
        #expect(actions == [.stop(connection)])
        #expect(bench.machine.loopsEnded(of: connection).isEmpty)
        #expect(bench.machine.returned(connection) == [.answer(call, .done)])
    }

    // MARK: - Cancellation

    @Test func cancelledCallsLeaveTheQueue() throws {
        var bench = Bench()
        let connection = try bench.open()
        bench.stopLoops(of: connection)
        for request in [Machine.Request.connect, .syncOnce, .changeSchema] {
            let (call, none) = bench.call(request, by: bench.second)
            if request == .changeSchema {
                // Nobody syncs, but the calls before are served first.
                #expect(none.isEmpty)
            }
            #expect(bench.machine.cancelled(call) == [.answer(call, .cancelled)])
            #expect(bench.machine.cancelled(call).isEmpty)
        }
        for request in [Machine.Request.disconnect, .close, .clear, .endOnce(connection)] {
            let (call, _) = bench.call(request, by: bench.second)
            #expect(bench.machine.cancelled(call).isEmpty)
        }
    }

    @Test func connectThatHasEndedAConnectionIsNotCancelled() throws {
        var bench = Bench()
        let connection = try bench.open()
        let (call, stop) = bench.call(.connect)
        #expect(stop == [.stop(connection)])
        #expect(bench.machine.cancelled(call).isEmpty)
        _ = bench.machine.loopsEnded(of: connection)
        _ = try bench.open(bench.machine.returned(connection), for: call)
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
        let connection = try bench.open()
        let call = bench.machine.newCall()
        #expect(bench.machine.called(call, .disconnect, by: bench.first, isCancelled: true) == [.stop(connection)])
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
