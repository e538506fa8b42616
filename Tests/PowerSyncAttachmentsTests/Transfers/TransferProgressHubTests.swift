import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1)))
struct TransferProgressHubTests {
    private func progress(_ id: String, _ bytes: Int64 = 0, of total: Int64? = 100) -> AttachmentTransferProgress {
        AttachmentTransferProgress(
            attachmentId: id,
            direction: .download,
            phase: .running,
            transferredBytes: bytes,
            totalBytes: total
        )
    }

    @Test
    func lateSubscriberSeesWhatRunsThenChanges() async {
        let hub = TransferProgressHub()
        hub.began(progress("a"))
        hub.moved("a", transferred: 40, total: nil)
        var updates = hub.transfers().makeAsyncIterator()
        #expect(await updates.next() == progress("a", 40))
        hub.moved("a", transferred: 70, total: 200)
        #expect(await updates.next() == progress("a", 70, of: 200))
        hub.finished("a")
        #expect(await updates.next() == progress("a", 70, of: 200).with(phase: .finished))
    }

    @Test
    func slowSubscriberGetsTheNewestStateOfEachAttachment() async {
        let hub = TransferProgressHub()
        var updates = hub.transfers().makeAsyncIterator()
        hub.began(progress("a"))
        hub.began(progress("b"))
        for bytes in 1...50 { hub.moved("a", transferred: Int64(bytes), total: nil) }
        hub.interrupted("b")
        #expect(await updates.next() == progress("a", 50))
        #expect(await updates.next() == progress("b").with(phase: .interrupted))
    }

    @Test
    func newsKeepTheirOrderHoweverMuchIsTakenWhileMoreComes() async {
        let hub = TransferProgressHub()
        var updates = hub.transfers().makeAsyncIterator()
        var taken: [String] = []
        for round in 0..<20 {
            for number in 0..<10 { hub.began(progress("\(round * 10 + number)")) }
            for _ in 0..<round { taken.append(await updates.next()?.attachmentId ?? "") }
        }
        // The first waits and keeps its place; the second was taken and goes to the end.
        hub.finished("199")
        hub.finished("0")
        while taken.count < 201 { taken.append(await updates.next()?.attachmentId ?? "") }
        #expect(taken == (0..<200).map { "\($0)" } + ["0"])
    }

    @Test
    func subscriberOfOneAttachmentHearsOfItAlone() async {
        let hub = TransferProgressHub()
        var updates = hub.transfers(of: "b").makeAsyncIterator()
        hub.began(progress("a"))
        hub.began(progress("b", 5))
        #expect(await updates.next() == progress("b", 5))
    }

    @Test
    func bytesThatArriveAfterTheEndOfATransferAreIgnored() async {
        let hub = TransferProgressHub()
        hub.began(progress("a"))
        hub.finished("a")
        hub.moved("a", transferred: 100, total: nil)
        #expect(hub.overall.running.isEmpty)
    }

    @Test
    func overallProgressCountsFilesAndPartsOfRunningOnes() async {
        let hub = TransferProgressHub()
        #expect(hub.overall.fraction == nil)
        hub.looked(active: 4)
        hub.began(progress("a"))
        hub.finished("a")
        hub.began(progress("b", 50))
        let overall = hub.overall
        #expect(overall.finishedTransfers == 1)
        #expect(overall.remainingTransfers == 3)
        #expect(overall.runningBytes == 50)
        #expect(overall.fraction == 0.375)
    }

    @Test
    func countingBeginsAnewAfterEverythingWasDone() async {
        let hub = TransferProgressHub()
        hub.looked(active: 1)
        hub.began(progress("a"))
        hub.finished("a")
        #expect(hub.overall.fraction == 1)
        hub.looked(active: 2)
        #expect(hub.overall.finishedTransfers == 0)
        #expect(hub.overall.remainingTransfers == 2)
        hub.gaveUp()
        #expect(hub.overall.remainingTransfers == 1)
    }

    @Test
    func overallChangesBeginWithThePresentState() async {
        let hub = TransferProgressHub()
        hub.looked(active: 2)
        var updates = hub.overallChanges().makeAsyncIterator()
        #expect(await updates.next()?.remainingTransfers == 2)
        hub.looked(active: 3)
        #expect(await updates.next()?.remainingTransfers == 3)
    }

    @Test
    func finishingEndsAllStreamsLaterOnesToo() async {
        let hub = TransferProgressHub()
        var updates = hub.transfers().makeAsyncIterator()
        var overall = hub.overallChanges().makeAsyncIterator()
        _ = await overall.next()
        hub.began(progress("a"))
        hub.finish()
        #expect(await updates.next() == progress("a"))
        #expect(await updates.next() == nil)
        #expect(await hub.transfers().first { _ in true } == nil)
    }
}
