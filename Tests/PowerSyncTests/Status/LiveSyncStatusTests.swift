import Foundation
import PowerSyncCore
import PowerSyncProtocol
import Observation
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct LiveSyncStatusTests {
    private let status = LiveSyncStatus()

    private func download(_ total: Int64) -> DownloadStatus {
        let counts = OperationCounts(total: total, downloaded: 0)
        return DownloadStatus(
            isConnected: true,
            progress: DownloadProgress(priorities: [.init(priority: .default, counts: counts)]),
            streams: []
        )
    }

    @Test func everySubscriberGetsEveryChangeInOrder() async {
        let count = 1000
        let flows = (0..<4).map { _ in status.asFlow() }
        await withTaskGroup { tasks in
            for flow in flows {
                tasks.addTask {
                    var totals: [Int32] = []
                    for await element in flow {
                        totals.append(element.downloadProgress?.totalOperations ?? 0)
                        if totals.count == count { break }
                    }
                    #expect(totals == (0..<Int32(count)).map { $0 })
                }
            }
            for total in 1..<Int64(count) {
                status.downloadChanged(to: download(total))
            }
        }
    }

    @Test("Of what nobody reads, the newest elements are kept")
    func unreadElementsAreBounded() async {
        let flow = status.asFlow()
        for total in 1...Int64(StatusFlow.unreadLimit + 500) {
            status.downloadChanged(to: download(total))
        }
        status.finish()
        var totals: [Int32] = []
        for await element in flow { totals.append(element.downloadProgress?.totalOperations ?? 0) }
        #expect(totals == (501...1500).map { Int32($0) })
    }

    @Test func flowBeginsWithThePresentStatus() async {
        status.downloadChanged(to: download(7))
        var flow = status.asFlow().makeAsyncIterator()
        #expect(await flow.next()?.downloadProgress?.totalOperations == 7)
    }

    @Test func sameDownloadPartIsNotPublishedAgain() async {
        var flow = status.asFlow().makeAsyncIterator()
        status.downloadChanged(to: download(1))
        status.downloadChanged(to: download(1))
        status.uploadStarted()
        status.uploadStarted()
        status.finish()
        var uploading: [Bool] = []
        while let element = await flow.next() { uploading.append(element.uploading) }
        #expect(uploading == [false, false, true])
    }

    @Test func errorIsClearedInTheElementOfTheCompletion() async {
        status.disconnected(error: PowerSyncError.operationFailed(message: "no network"))
        var flow = status.asFlow().makeAsyncIterator()
        #expect(await flow.next()?.downloadError != nil)
        status.downloadChanged(to: download(1), clearsError: true)
        let element = await flow.next()
        #expect(element?.downloadError == nil)
        #expect(element?.connected == true)
    }

    @Test func offlineStateDoesNotOverwriteNews() {
        let version = status.downloadVersion
        status.downloadChanged(to: download(1))
        status.offlineStateLoaded(DownloadStatus(streams: []), ifDownloadVersionIs: version)
        #expect(status.connected)
        status.offlineStateLoaded(DownloadStatus(streams: []), ifDownloadVersionIs: status.downloadVersion)
        #expect(!status.connected)
    }

    @Test func theGreatestWriteCheckpointThatWasAppliedCounts() {
        for number in [Int64(7), 3] {
            status.downloadChanged(to: DownloadStatus(isConnected: true, lastApplied: WriteCheckpoint(number)))
        }
        #expect(status.hasApplied(WriteCheckpoint(7)))
        #expect(!status.hasApplied(WriteCheckpoint(8)))
    }

    @Test func progressOfStreamsEndsWithTheConnection() {
        var connected = download(2)
        connected.streams = [
            StreamStatus(key: StreamKey(name: "s"), progress: OperationCounts(total: 2, downloaded: 1))
        ]
        status.downloadChanged(to: connected)
        #expect(status.syncStreams?.first?.progress != nil)
        status.disconnected()
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

    @Test func droppedFlowDoesNotKeepElements() async {
        weak var subscription: StatusSubscription?
        do {
            let flow = StatusFlow()
            let kept = flow.subscribe()
            subscription = kept
            #expect(await kept.next() != nil)
        }
        #expect(subscription == nil)
    }

    @Test @MainActor func observableIsOneObjectThatFollows() async {
        let observable = status.observable
        #expect(observable === status.observable)
        status.downloadChanged(to: download(1))
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
        _ = status.activityChanged { activity in
            activity.started()
            return activity.requestingWriteCheckpoint(now: .now)
        }
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
