import Foundation
import PowerSyncCore
import PowerSyncProtocol
import Observation
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct LiveSyncStatusTests {
    private let file = FileStatus()
    private let status: LiveSyncStatus
    private let progress: ConnectionProgress

    init() {
        status = LiveSyncStatus(of: file)
        progress = ConnectionProgress(file)
    }

    private func download(_ total: Int64) -> DownloadStatus {
        let counts = OperationCounts(total: total, downloaded: 0)
        return DownloadStatus(
            isConnected: true,
            progress: DownloadProgress(priorities: [.init(priority: .default, counts: counts)]),
            streams: []
        )
    }

    @Test func everySubscriberGetsTheNewestStatusInOrder() async {
        let count = 1000
        let flows = (0..<4).map { _ in status.asFlow() }
        await withTaskGroup { tasks in
            for flow in flows {
                tasks.addTask {
                    var totals: [Int32] = []
                    for await element in flow { totals.append(element.downloadProgress?.totalOperations ?? 0) }
                    #expect(totals == totals.sorted())
                    #expect(Set(totals).count == totals.count)
                    #expect(totals.last == Int32(count))
                }
            }
            for total in 1...Int64(count) { progress.downloadChanged(to: download(total)) }
            status.finish()
        }
    }

    @Test func aSubscriberThatKeepsUpGetsEveryChange() async {
        var flow = status.asFlow().makeAsyncIterator()
        #expect(await flow.next()?.downloading == false)
        for total in 1...Int64(100) {
            progress.downloadChanged(to: download(total))
            #expect(await flow.next()?.downloadProgress?.totalOperations == Int32(total))
        }
    }

    @Test func ofWhatIsNotReadTheNewestElementIsKept() async {
        let flow = status.asFlow()
        for total in 1...Int64(1500) { progress.downloadChanged(to: download(total)) }
        status.finish()
        var totals: [Int32] = []
        for await element in flow { totals.append(element.downloadProgress?.totalOperations ?? 0) }
        #expect(totals == [1500])
    }

    @Test func flowBeginsWithThePresentStatus() async {
        progress.downloadChanged(to: download(7))
        var flow = status.asFlow().makeAsyncIterator()
        #expect(await flow.next()?.downloadProgress?.totalOperations == 7)
    }

    @Test func whatChangesNothingIsNoElement() async {
        progress.downloadChanged(to: download(1))
        progress.uploadStarted()
        var flow = status.asFlow().makeAsyncIterator()
        #expect(await flow.next()?.uploading == true)
        progress.downloadChanged(to: download(1))
        progress.uploadStarted()
        _ = progress.activityChanged { $0.requestingWriteCheckpoint(now: .now) }
        status.finish()
        #expect(await flow.next() == nil)
    }

    @Test func errorIsClearedInTheElementOfTheCompletion() async {
        progress.disconnected(error: PowerSyncError.operationFailed(message: "no network"))
        var flow = status.asFlow().makeAsyncIterator()
        #expect(await flow.next()?.downloadError != nil)
        progress.downloadChanged(to: download(1), isComplete: true)
        let element = await flow.next()
        #expect(element?.downloadError == nil)
        #expect(element?.connected == true)
    }

    @Test func theGreatestWriteCheckpointThatWasAppliedCounts() {
        for number in [Int64(7), 3] {
            progress.downloadChanged(to: DownloadStatus(isConnected: true, lastApplied: WriteCheckpoint(number)))
        }
        #expect(status.hasApplied(WriteCheckpoint(7)))
        #expect(!status.hasApplied(WriteCheckpoint(8)))
    }

    @Test func progressOfStreamsEndsWithTheConnection() {
        var connected = download(2)
        connected.streams = [
            StreamStatus(key: StreamKey(name: "s"), progress: OperationCounts(total: 2, downloaded: 1))
        ]
        progress.downloadChanged(to: connected)
        #expect(status.syncStreams?.first?.progress != nil)
        progress.disconnected()
        #expect(status.syncStreams?.count == 1)
        #expect(status.syncStreams?.first?.progress == nil)
    }

    @Test func cancelledWaitThrows() async {
        let task = Task { try await status.wait { $0.connected } }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func waitFailsWhenTheDatabaseIsClosed() async {
        let task = Task { try await status.wait { $0.connected } }
        status.finish()
        await #expect(throws: PowerSyncError.self) { try await task.value }
    }

    @Test func whatHappensAfterTheEndOfAConnectionIsNotShown() {
        progress.uploadEnded(error: PowerSyncError.operationFailed(message: "refused"))
        progress.downloadChanged(to: download(1))
        progress.ended()
        let next = ConnectionProgress(file)
        progress.uploadOverdue(
            OverdueCallError(call: "uploadData", limit: AppCallLimit(.seconds(1), option: "uploadLimit")),
            since: .now
        )
        progress.uploadStarted()
        progress.disconnected(error: PowerSyncError.operationFailed(message: "no network"))
        _ = progress.activityChanged { $0.connecting(.service, now: .now) }
        #expect(status.snapshot.anyError == nil && !status.connected && !status.uploading)
        #expect(status.activity.download == nil)
        _ = next.activityChanged { $0.connecting(.service, now: .now) }
        #expect(status.activity.download?.reason.kind == .service)
    }

    @Test func theViewsOfOneFileShowOneStatusAndEndApart() async {
        let other = LiveSyncStatus(of: file)
        var (flow, otherFlow) = (status.asFlow().makeAsyncIterator(), other.asFlow().makeAsyncIterator())
        #expect(await flow.next()?.connected == false)
        #expect(await otherFlow.next()?.connected == false)
        status.finish()
        #expect(await flow.next() == nil)
        progress.downloadChanged(to: download(1))
        #expect(status.connected && other.connected)
        #expect(await otherFlow.next()?.connected == true)
        await #expect(throws: PowerSyncError.self) { try await status.wait { $0.download.hasSynced == true } }
        // A view that has ended shows the status once.
        var late = status.asFlow().makeAsyncIterator()
        #expect(await late.next()?.connected == true)
        #expect(await late.next() == nil)
    }

    @Test @MainActor func observableIsOneObjectThatFollows() async {
        let observable = status.observable
        #expect(observable === status.observable)
        progress.downloadChanged(to: download(1))
        while !observable.connected {
            // `onChange` runs before the change is stored, on the same actor: this task goes on after that.
            await withCheckedContinuation { changed in
                withObservationTracking {
                    _ = observable.connected
                } onChange: {
                    changed.resume()
                }
            }
        }
        #expect(observable.connected)
    }

    @Test @MainActor func observableFollowsTheActivity() async {
        let observable = status.observable
        #expect(observable.activity.upload == nil)
        _ = progress.activityChanged { $0.requestingWriteCheckpoint(now: .now) }
        while observable.activity.upload == nil {
            await withCheckedContinuation { changed in
                withObservationTracking {
                    _ = observable.activity
                } onChange: {
                    changed.resume()
                }
            }
        }
        #expect(observable.activity.upload?.reason.kind == .writeCheckpointRequest)
    }
}
