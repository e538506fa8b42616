import Foundation
import Testing

@testable import PowerSyncClient

@Suite struct ConnectionActivityStateMachineTests {
    typealias Machine = ConnectionActivity.StateMachine

    /// Something that a loop reports.
    enum Event: Sendable {
        case streamOpened, syncCompleted
        case connecting(SyncWait.Reason)
        case heldBack(Int64?)
        /// With the second of the first sign.
        case buffered(Int)
        case flows
        case waitingForStream(Int)
        /// With the id of the head.
        case uploading(Int, head: Int64)
        case requesting
        case awaiting(Int64)
        case uploadFailed
        case finished
    }

    /// Events, one second apart, and what is being waited for after them.
    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let events: [Event]
        var download: String?
        var upload: String?
    }

    private static let date = Date(timeIntervalSince1970: 1_700_000_000)
    private static let retry = SyncWait.Reason.retry(at: date, error: nil)

    static let cases = [
        Case(
            testDescription: "attempts that fail are no progress",
            events: [
                .connecting(.credentials), .connecting(.service), .connecting(retry), .connecting(.credentials),
            ],
            download: "the app's credentials since 1"
        ),
        Case(
            testDescription: "an open stream waits for nothing",
            events: [.connecting(.credentials), .connecting(.service), .streamOpened]
        ),
        Case(
            testDescription: "a new attempt after an open stream starts over",
            events: [.connecting(.service), .streamOpened, .connecting(retry)],
            download: "\(retry) since 3"
        ),
        Case(
            testDescription: "a newer checkpoint that is held back is no progress",
            events: [.heldBack(1), .streamOpened, .heldBack(2)],
            download: "local writes to be acknowledged, to show checkpoint 2 since 1"
        ),
        Case(testDescription: "nothing is held back any more", events: [.heldBack(1), .heldBack(nil)]),
        Case(
            testDescription: "nothing held back says nothing about connecting",
            events: [.connecting(.service), .heldBack(nil)],
            download: "the sync service to answer since 1"
        ),
        Case(
            testDescription: "lines are buffered since the first sign, also on the next stream",
            events: [
                .connecting(.service), .streamOpened, .buffered(2), .connecting(retry), .buffered(2),
                .streamOpened, .syncCompleted, .heldBack(nil),
            ],
            download: "the lines of the sync service, which a proxy seems to buffer (a proxy) since 2"
        ),
        Case(
            testDescription: "lines are not buffered any more",
            events: [.streamOpened, .buffered(1), .flows]
        ),
        Case(
            testDescription: "lines that are not buffered say nothing about connecting",
            events: [.connecting(.service), .flows],
            download: "the sync service to answer since 1"
        ),
        Case(
            testDescription: "an upload that fails is no progress",
            events: [.waitingForStream(3), .uploading(3, head: 1), .uploadFailed, .uploading(4, head: 1)],
            upload: "the app to upload 4 local writes since 1"
        ),
        Case(
            testDescription: "an upload that succeeds is progress",
            events: [.uploading(3, head: 1), .uploadFailed, .uploading(2, head: 2)],
            upload: "the app to upload 2 local writes since 3"
        ),
        Case(
            testDescription: "a request that fails is no progress",
            events: [.uploading(1, head: 3), .requesting, .uploadFailed, .requesting],
            upload: "the sync service to make a write checkpoint since 2"
        ),
        Case(
            testDescription: "a write checkpoint is awaited since it is known",
            events: [.requesting, .awaiting(7), .heldBack(1), .awaiting(7)],
            download: "local writes to be acknowledged, to show checkpoint 1 since 3",
            upload: "a checkpoint that contains write checkpoint 7 since 2"
        ),
        Case(
            testDescription: "a complete checkpoint ends both",
            events: [.awaiting(7), .heldBack(1), .syncCompleted]
        ),
        Case(
            testDescription: "a complete checkpoint does not upload what was written since",
            events: [.uploading(1, head: 3), .syncCompleted],
            upload: "the app to upload 1 local write since 1"
        ),
        Case(testDescription: "nothing is left to upload", events: [.requesting, .finished]),
    ]

    @Test(arguments: cases) func eventsLeadToWaits(_ example: Case) {
        var machine = Machine()
        for (second, event) in zip(1..., example.events) {
            _ = ConnectionActivityStateMachineTests.perform(event, second, &machine)
        }
        #expect(ConnectionActivityStateMachineTests.text(machine.activity.download) == example.download)
        #expect(ConnectionActivityStateMachineTests.text(machine.activity.upload) == example.upload)
    }

    @Test func reasonIsAnnouncedOnceInAPhase() {
        var machine = Machine()
        let events: [Event] = [
            .connecting(.credentials), .connecting(.service), .connecting(Self.retry),
            .connecting(.credentials), .connecting(.service), .streamOpened, .connecting(.credentials),
            .uploading(2, head: 1), .uploading(1, head: 2), .requesting, .awaiting(7), .awaiting(7),
        ]
        let announced = events.map { Self.perform($0, 0, &machine)?.reason.kind }
        let expected: [SyncWait.Reason.Kind?] = [
            .credentials, .service, nil,
            nil, nil, nil, .credentials,
            .upload, nil, .writeCheckpointRequest, .writeCheckpoint, nil,
        ]
        #expect(announced == expected)
    }

    /// The transaction that made 7 the target may be followed by the checkpoint before anybody hears of the target.
    @Test func writeCheckpointThatHasArrivedIsNotAwaited() {
        var machine = Machine()
        let before = machine.completedSyncs
        machine.syncCompleted()
        #expect(machine.awaiting(7, since: before, now: Self.date) == nil)
        #expect(machine.activity.upload == nil)
    }

    @Test(
        arguments: [
            (SyncTransportError.Code.connection, true), (.idle, true), (.status, false), (.unexpectedResponse, false),
        ]
    )
    func onlyWhatDidNotAnswerIsUnreachable(_ code: SyncTransportError.Code, _ isUnreachable: Bool) {
        let reason = SyncWait.Reason.retry(
            at: Self.date,
            after: SyncTransportError(code, message: "failed")
        )
        if case .serviceUnreachable = reason { #expect(isUnreachable) } else { #expect(!isUnreachable) }
    }

    private static func perform(_ event: Event, _ second: Int, _ machine: inout Machine) -> SyncWait? {
        let now = date.addingTimeInterval(TimeInterval(second))
        switch event {
        case .streamOpened: machine.streamOpened()
        case .syncCompleted: machine.syncCompleted()
        case .connecting(let reason): return machine.connecting(reason, now: now)
        case .heldBack(let checkpoint): return machine.checkpointHeldBack(checkpoint, now: now)
        case .buffered(let second):
            return machine.streamBuffered(via: "a proxy", since: date.addingTimeInterval(TimeInterval(second)))
        case .flows: return machine.streamFlows()
        case .waitingForStream(let entries): return machine.waitingForStream(entries: entries, now: now)
        case .uploading(let entries, let head): return machine.uploading(entries: entries, head: head, now: now)
        case .requesting: return machine.requestingWriteCheckpoint(now: now)
        case .awaiting(let id): return machine.awaiting(id, since: machine.completedSyncs, now: now)
        case .uploadFailed: return machine.uploadFailed(retryAt: date, nil, now: now)
        case .finished: machine.uploadFinished()
        }
        return nil
    }

    private static func text(_ wait: SyncWait?) -> String? {
        wait.map { "\($0.reason) since \(Int($0.since.timeIntervalSince(date)))" }
    }
}
