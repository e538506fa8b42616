import NIOCore
import PowerSyncCore
import PowerSyncProtocol
import Testing

@testable import PowerSyncClient

@Suite struct SyncEventQueueTests {
    typealias Machine = SyncEventQueue.StateMachine<String, String>

    private var machine = Machine(byteLimit: 100)

    private func line(_ bytes: Int) -> SyncEvent {
        .line(ReceivedLine(line: .keepalive(tokenExpiresIn: 3600), byteCount: bytes))
    }

    @Test mutating func consumerWaitsAndGetsEverythingAtOnce() {
        #expect(machine.consumerIsReady("consumer").isNone)
        #expect(machine.streamEvents([line(10), line(20)])?.events == ["line 10", "line 20"])
        #expect(machine.streamEvents([line(30), .streamEnded]).isNone)
        #expect(machine.consumerIsReady("consumer")?.events == ["line 30", "ended"])
    }

    @Test mutating func localEventsOvertakeLinesThatWait() {
        _ = machine.streamEvents([line(10)])
        _ = machine.localEvent(.uploadCompleted)
        #expect(machine.consumerIsReady("consumer")?.events == ["uploadCompleted", "line 10"])
    }

    @Test mutating func localEventsOfOneKindCoalesce() {
        _ = machine.localEvent(.tokenRefreshed)
        _ = machine.localEvent(.uploadCompleted)
        _ = machine.localEvent(.keepaliveAnswered)
        _ = machine.localEvent(.subscriptionsChanged(live: []))
        _ = machine.localEvent(.keepaliveAnswered)
        _ = machine.localEvent(.uploadCompleted)
        _ = machine.localEvent(.subscriptionsChanged(live: [StreamKey(name: "a")]))
        #expect(
            machine.takeLocalEvents().map(\.summary) == [
                "uploadCompleted", "subscriptions a", "keepaliveAnswered", "tokenRefreshed",
            ]
        )
        #expect(machine.takeLocalEvents().isEmpty)
    }

    @Test mutating func producerWaitsWhileTooManyBytesWaitForTheDatabase() {
        _ = machine.streamEvents([line(100)])
        #expect(machine.producerIsReady("producer")?.producer == "producer")
        _ = machine.streamEvents([line(1)])
        #expect(machine.producerIsReady("producer").isNone)
        // Taking the lines is not enough: they still occupy memory.
        #expect(machine.consumerIsReady("consumer")?.events == ["line 100", "line 1"])
        #expect(machine.handled(bytes: 1)?.producer == "producer")
        #expect(machine.handled(bytes: 100).isNone)
    }

    @Test mutating func errorFollowsTheLinesBeforeIt() {
        _ = machine.streamEvents([line(10)])
        _ = machine.streamFailed(StreamBroke())
        #expect(machine.streamEvents([line(20)]).isNone)
        #expect(machine.consumerIsReady("consumer")?.events == ["line 10"])
        #expect(machine.consumerIsReady("consumer")?.error is StreamBroke)
        #expect(machine.consumerIsReady("consumer")?.error is CancellationError)
    }

    @Test mutating func closingReleasesBothSidesAndDropsLaterEvents() {
        #expect(machine.consumerIsReady("consumer").isNone)
        _ = machine.streamEvents([line(101)])
        _ = machine.producerIsReady("producer")
        #expect(machine.consumerIsReady("consumer").isNone)
        let resumptions = machine.close()
        #expect(resumptions.count == 2)
        #expect(resumptions.first?.error is CancellationError)
        #expect(resumptions.last?.producer == "producer")
        #expect(machine.localEvent(.uploadCompleted).isNone)
        #expect(machine.takeLocalEvents().isEmpty)
        #expect(machine.producerIsReady("producer")?.producer == "producer")
    }

    @Test(.timeLimit(.minutes(1))) func cancelledConsumerAndProducerReturn() async {
        let queue = SyncEventQueue(byteLimit: 1)
        await withTaskGroup { tasks in
            tasks.addTask {
                _ = await #expect(throws: CancellationError.self) {
                    while true { _ = try await queue.next() }
                }
            }
            tasks.addTask {
                await queue.send([ReceivedLine(line: .keepalive(tokenExpiresIn: 1), byteCount: 2)])
            }
            tasks.cancelAll()
        }
    }
}

private struct StreamBroke: Error {}

extension SyncEventQueue.StateMachine.Resumption {
    fileprivate var events: [String]? {
        guard case .consumer(_, .success(let events)) = self else { return nil }
        return events.map(\.summary)
    }

    fileprivate var error: (any Error)? {
        guard case .consumer(_, .failure(let error)) = self else { return nil }
        return error
    }

    fileprivate var producer: Producer? {
        guard case .producer(let producer) = self else { return nil }
        return producer
    }
}

extension SyncEvent {
    /// A short text to compare.
    fileprivate var summary: String {
        switch self {
        case .start: "start"
        case .stop: "stop"
        case .streamOpened: "opened"
        case .streamEnded: "ended"
        case .line(let line): "line \(line.byteCount)"
        case .keepaliveAnswered: "keepaliveAnswered"
        case .tokenRefreshed: "tokenRefreshed"
        case .uploadCompleted: "uploadCompleted"
        case .subscriptionStored(let stream): "stored \(stream.key)"
        case .subscriptionsChanged(let live): "subscriptions \(live.map(\.name).joined(separator: ","))"
        }
    }
}

extension Optional {
    /// Whether there is no value, for values that cannot be compared.
    fileprivate var isNone: Bool { if case .none = self { true } else { false } }
}
