import NIOCore
import PowerSyncHTTP
import Testing

@testable import PowerSyncURLSession

/// What a transfer does with what its session says, in every order.
@Suite struct TransferStateMachineTests {
    private typealias Machine = Transfer.StateMachine<Int, String, String>

    private struct Broken: Error {}

    /// A machine that has handed its head over.
    private func receiving(_ pausing: ResponsePausing) -> Machine {
        var machine = Machine(pausing: pausing)
        _ = machine.headAsked("h")
        _ = machine.received(200)
        return machine
    }

    private func bytes(_ count: Int) -> ByteBuffer { ByteBuffer(repeating: 0, count: count) }

    @Test func theHeadIsHandedOverAndThenBytesAsTheyAreAskedFor() {
        var machine = Machine(pausing: .suspendsTask)
        #expect("\(machine.headAsked("h"))" == "start")
        #expect("\(machine.received(200))" == #"head("h", 200)"#)
        guard case .none = machine.chunkAsked("c") else { Issue.record("There was nothing"); return }
        guard case .chunk("c", bytes(3)) = machine.received(bytes(3)) else { Issue.record("It waited"); return }
        guard case .none = machine.received(bytes(4)) else { Issue.record("Nobody waits"); return }
        guard case .none = machine.completed(nil) else { Issue.record("Nobody waits"); return }
        guard case .chunk("d", bytes(4)) = machine.chunkAsked("d") else { Issue.record("It was left"); return }
        guard case .chunk("e", nil) = machine.chunkAsked("e") else { Issue.record("It has ended"); return }
        guard case .chunk("f", nil) = machine.chunkAsked("f") else { Issue.record("It has ended"); return }
    }

    @Test func aTaskIsSuspendedOnceAndResumedOnceForEachTimeTooMuchIsUnread() {
        var machine = receiving(.suspendsTask)
        let size = 64 << 10
        var (suspended, resumed) = (0, 0)
        for _ in 0..<3 {
            // What was under way when the task was suspended still arrives.
            for _ in 0..<20 {
                guard case .suspend = machine.received(bytes(size)) else { continue }
                suspended += 1
                guard case .none = machine.suspended() else { Issue.record("Nobody has read anything"); return }
            }
            for _ in 0..<20 {
                if case .chunkAndResume = machine.chunkAsked("c") { resumed += 1 }
            }
            #expect(suspended == resumed)
        }
        #expect(suspended == 3)
    }

    @Test func aTaskGoesOnBeforeEverythingIsRead() {
        var machine = receiving(.suspendsTask)
        for _ in 0..<17 {
            if case .suspend = machine.received(bytes(64 << 10)) { _ = machine.suspended() }
        }
        for left in (1..<17).reversed() {
            let action = machine.chunkAsked("c")
            if case .chunkAndResume = action {
                #expect(left == 3)
                return
            }
        }
        Issue.record("It was never resumed")
    }

    @Test(arguments: [16, 17, 18])
    func taskThatEverythingIsReadOfWhileItIsBeingSuspendedGoesOnAfterThat(count: Int) {
        var machine = receiving(.suspendsTask)
        for number in 1...17 {
            let action = machine.received(bytes(64 << 10))
            if case .suspend = action { #expect(number == 17) }
        }
        for _ in 0..<count {
            // A task that runs cannot be resumed.
            if case .chunkAndResume = machine.chunkAsked("c") { Issue.record("It is not suspended yet") }
        }
        guard case .resume = machine.suspended() else { Issue.record("Nobody else resumes it"); return }
    }

    @Test func whereNothingCanBeSuspendedTooMuchIsAnErrorBehindWhatHasArrived() {
        var machine = receiving(.impossible)
        let piece = bytes(1 << 20)
        for _ in 0..<64 {
            guard case .none = machine.received(piece) else { Issue.record("That much may wait"); return }
        }
        guard case .cancel(nil, nil) = machine.received(piece) else { Issue.record("It was too much"); return }
        guard case .none = machine.received(piece), case .none = machine.completed(Broken()) else {
            Issue.record("It is over")
            return
        }
        for _ in 0..<65 {
            guard case .chunk("c", piece) = machine.chunkAsked("c") else { Issue.record("It has arrived"); return }
        }
        guard case .failChunk("c", let error as HTTPExchangeError) = machine.chunkAsked("c") else {
            Issue.record("It did not fail")
            return
        }
        #expect(error.code == .unread(64 << 20))
    }

    @Test func anErrorComesBehindWhatHasArrived() {
        var machine = receiving(.suspendsTask)
        _ = machine.received(bytes(1))
        _ = machine.completed(Broken())
        guard case .chunk("c", bytes(1)) = machine.chunkAsked("c") else { Issue.record("It has arrived"); return }
        guard case .failChunk("c", is Broken) = machine.chunkAsked("c") else { Issue.record("It did not fail"); return }
        guard case .chunk("c", nil) = machine.chunkAsked("c") else { Issue.record("It has ended"); return }
    }

    @Test func whoeverWaitsHearsOfTheEnd() {
        var machine = Machine(pausing: .suspendsTask)
        _ = machine.headAsked("h")
        guard case .failHead("h", is Broken) = machine.completed(Broken()) else { Issue.record("No head"); return }

        machine = receiving(.suspendsTask)
        _ = machine.chunkAsked("c")
        guard case .failChunk("c", is Broken) = machine.completed(Broken()) else { Issue.record("No bytes"); return }

        machine = receiving(.suspendsTask)
        _ = machine.chunkAsked("c")
        guard case .chunk("c", nil) = machine.completed(nil) else { Issue.record("The end"); return }
    }

    @Test func whoeverWaitsHearsOfACancellationOnce() {
        var machine = Machine(pausing: .suspendsTask)
        guard case .cancel(nil, nil) = machine.cancelled() else { Issue.record("Before the start"); return }
        guard case .failHead("h", is CancellationError) = machine.headAsked("h") else { Issue.record("Late"); return }

        machine = Machine(pausing: .suspendsTask)
        _ = machine.headAsked("h")
        guard case .cancel("h", nil) = machine.cancelled() else { Issue.record("Before the head"); return }
        guard case .none = machine.completed(Broken()), case .none = machine.received(200) else {
            Issue.record("Twice")
            return
        }

        machine = receiving(.suspendsTask)
        _ = machine.chunkAsked("c")
        guard case .cancel(nil, "c") = machine.cancelled(), case .none = machine.cancelled() else {
            Issue.record("In the body")
            return
        }
        guard case .none = machine.received(bytes(1)) else { Issue.record("Nobody reads"); return }

        machine = receiving(.suspendsTask)
        _ = machine.completed(nil)
        guard case .none = machine.cancelled() else { Issue.record("There is nothing to cancel"); return }
    }
}
