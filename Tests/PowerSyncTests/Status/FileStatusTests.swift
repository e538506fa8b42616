import NIOConcurrencyHelpers
import PowerSyncCore
import PowerSyncProtocol
import Testing

@testable import PowerSyncClient

/// What the file says, and what a connection says, in one status.
@Suite(.timeLimit(.minutes(1))) struct FileStatusTests {
    private let status = FileStatus()
    private let progress: ConnectionProgress

    init() {
        progress = ConnectionProgress(status)
    }

    private static let completed = PriorityStatus(priority: .complete, lastSyncedAt: SyncInstant(microseconds: 1))
    private let connected = DownloadStatus(isConnected: true, priorities: [completed], streams: [])
    private let synced = DownloadStatus(priorities: [completed], streams: [])
    private let cleared = DownloadStatus(streams: [])

    @Test func anOpeningSaysWhatTheFileKnowsUnlessAConnectionLeads() {
        status.fileWasOpened(cleared)
        #expect(status.snapshot.hasSynced == false)
        progress.begins { true }
        status.fileWasOpened(synced)
        #expect(status.snapshot.hasSynced == false)
        progress.ended()
        status.fileWasOpened(synced)
        #expect(status.snapshot.hasSynced == true)
    }

    @Test func whatWasReadIsShownUnlessAnotherStatusWasPublishedMeanwhile() {
        let earlier = status.snapshot.download
        #expect(status.offlineStateLoaded(cleared, replacing: earlier))
        #expect(!status.offlineStateLoaded(synced, replacing: earlier))
        #expect(status.snapshot.download == cleared)
    }

    @Test func whatWasReadIsNotShownWhileAConnectionLeads() {
        let earlier = status.snapshot.download
        progress.begins { true }
        #expect(status.isLed)
        #expect(!status.offlineStateLoaded(synced, replacing: earlier))
        #expect(status.snapshot.download == earlier)
        progress.ended()
        #expect(!status.isLed)
        #expect(status.offlineStateLoaded(synced, replacing: status.snapshot.download))
    }

    @Test func theEndOfALeadIsWaitedFor() async {
        await status.waitForEndOfLead()
        progress.begins { true }
        async let end: Void = status.waitForEndOfLead()
        progress.downloadChanged(to: connected)
        progress.ended()
        await end
        #expect(!status.isLed && !status.snapshot.connected)
    }

    @Test func aCancelledWaitForTheEndOfALeadEnds() async {
        progress.begins { true }
        let wait = Task { [status] in await status.waitForEndOfLead() }
        wait.cancel()
        await wait.value
        #expect(status.isLed)
    }

    /// The connection is asked first, without a lock: it may publish meanwhile.
    @Test(arguments: [true, false]) func aResetIsShownUnlessAnIterationDealsWithIt(_ isHandled: Bool) {
        progress.begins { isHandled }
        var download = connected
        download.lastApplied = WriteCheckpoint(3)
        progress.downloadChanged(to: download)
        #expect(progress.hasApplied(WriteCheckpoint(3)))
        status.syncStateWasReset(to: cleared)
        #expect(!progress.hasApplied(WriteCheckpoint(3)))
        #expect(status.snapshot.hasSynced == isHandled)
        #expect(status.snapshot.connected == isHandled)
        #expect(status.snapshot.applied == nil)
    }

    @Test func aResetIsTriedAgainWhenAConnectionHasPublishedMeanwhile() {
        let asked = NIOLockedValueBox(0)
        progress.begins { [progress, connected] in
            let isFirst = asked.withLockedValue { asked in
                asked += 1
                return asked == 1
            }
            if isFirst { progress.downloadChanged(to: connected) }
            return false
        }
        status.fileWasOpened(synced)
        status.syncStateWasReset(to: cleared)
        #expect(asked.withLockedValue { $0 } == 2)
        #expect(status.snapshot.download == cleared)
    }

    @Test func aResetOfAFileThatWasNotOpenedSaysNothing() {
        status.syncStateWasReset(to: cleared)
        #expect(status.snapshot.hasSynced == nil)
    }
}
