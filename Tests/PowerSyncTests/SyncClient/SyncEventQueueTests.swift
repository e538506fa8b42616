import NIOCore
import PowerSyncCore
import PowerSyncProtocol
import Testing

@testable import PowerSyncClient

@Suite struct SyncEventQueueTests {
    private var events = SyncEventQueue.Events(byteLimit: 100)

    private func line(_ bytes: Int) -> SyncEvent {
        .line(ReceivedLine(line: .keepalive(tokenExpiresIn: 3600), byteCount: bytes))
    }

    @Test mutating func everythingIsTakenAtOnce() {
        #expect(events.take().isNone)
        events.streamEvents([line(10), line(20)])
        #expect(events.take()?.summaries == ["line 10", "line 20"])
        #expect(events.take().isNone)
        events.streamEvents([line(30), .streamEnded])
        #expect(events.take()?.summaries == ["line 30", "ended"])
    }

    @Test mutating func localEventsOvertakeLinesThatWait() {
        events.streamEvents([line(10)])
        events.localEvent(.uploadCompleted)
        #expect(events.take()?.summaries == ["uploadCompleted", "line 10"])
    }

    @Test mutating func localEventsOfOneKindCoalesce() {
        events.localEvent(.tokenRefreshed)
        events.localEvent(.uploadCompleted)
        events.localEvent(.keepaliveAnswered)
        events.localEvent(.subscriptionsChanged)
        events.localEvent(.keepaliveAnswered)
        events.localEvent(.uploadCompleted)
        events.localEvent(.subscriptionsChanged)
        #expect(
            events.takeLocalEvents().map(\.summary) == [
                "uploadCompleted", "subscriptionsChanged", "keepaliveAnswered", "tokenRefreshed",
            ]
        )
        #expect(events.takeLocalEvents().isEmpty)
    }

    @Test mutating func readingStopsWhileTooManyBytesWaitForTheDatabase() {
        events.streamEvents([line(100)])
        #expect(events.mayRead)
        events.streamEvents([line(1)])
        #expect(!events.mayRead)
        // Taking the lines is not enough: they still occupy memory.
        #expect(events.take()?.summaries == ["line 100", "line 1"])
        #expect(!events.mayRead)
        events.handled(bytes: 1)
        #expect(events.mayRead)
    }

    @Test mutating func errorFollowsTheLinesBeforeIt() {
        events.streamEvents([line(10)])
        events.streamFailed(StreamBroke())
        events.streamEvents([line(20)])
        #expect(events.take()?.summaries == ["line 10"])
        #expect(events.take()?.error is StreamBroke)
        #expect(events.take()?.error is CancellationError)
    }

    @Test mutating func closingReleasesBothSidesAndDropsLaterEvents() {
        events.streamEvents([line(101)])
        #expect(!events.mayRead)
        events.close()
        #expect(events.mayRead)
        #expect(events.take()?.error is CancellationError)
        events.localEvent(.uploadCompleted)
        events.streamEvents([line(1)])
        #expect(events.takeLocalEvents().isEmpty)
        #expect(events.take()?.error is CancellationError)
    }

    @Test(.timeLimit(.minutes(1))) func aConsumerIsWokenByWhatComes() async throws {
        let queue = SyncEventQueue()
        for _ in 0..<100 {
            async let taken = queue.next()
            queue.send(.uploadCompleted)
            #expect(try await taken.map(\.summary) == ["uploadCompleted"])
        }
        let last = Task { try await queue.next() }
        queue.streamFailed(StreamBroke())
        await #expect(throws: StreamBroke.self) { try await last.value }
    }

    @Test(.timeLimit(.minutes(1))) func aProducerIsWokenWhenLinesWereHandled() async throws {
        let queue = SyncEventQueue(byteLimit: 1)
        let line = ReceivedLine(line: .keepalive(tokenExpiresIn: 1), byteCount: 2)
        let handled = Shared(false)
        async let sent: Bool = {
            await queue.send([line])
            return handled.value
        }()
        #expect(try await queue.next().map(\.summary) == ["line 2"])
        handled.value = true
        queue.handled(bytes: 2)
        #expect(await sent)
        async let closed: Void = queue.send([line])
        _ = try await queue.next()
        queue.close()
        await closed
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

extension Result<[SyncEvent], any Error> {
    fileprivate var summaries: [String]? { try? get().map(\.summary) }

    fileprivate var error: (any Error)? { if case .failure(let error) = self { error } else { nil } }
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
        case .subscriptionsChanged: "subscriptionsChanged"
        }
    }
}

extension Optional {
    /// Whether there is no value, for values that cannot be compared.
    fileprivate var isNone: Bool { if case .none = self { true } else { false } }
}
