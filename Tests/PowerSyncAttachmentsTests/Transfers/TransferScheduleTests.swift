import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

@Suite
struct TransferScheduleTests {
    private func rows(_ ids: String...) -> [Attachment] {
        ids.map { Attachment(id: $0, filename: "\($0).jpg", state: .queuedDownload) }
    }

    private func begun(_ schedule: inout TransferSchedule) -> [String] {
        var ids: [String] = []
        while let attachment = schedule.next() { ids.append(attachment.id) }
        return ids
    }

    @Test
    func oldestGoesFirstAsManyAsTheLimitAllows() {
        var schedule = TransferSchedule(limit: 2)
        schedule.offer(rows("a", "b", "c"))
        #expect(begun(&schedule) == ["a", "b"])
        schedule.ended("a")
        #expect(begun(&schedule) == ["c"])
        #expect(!schedule.isDrained)
        schedule.ended("b")
        schedule.ended("c")
        #expect(schedule.isDrained)
    }

    @Test
    func whatRunsIsNotBegunASecondTime() {
        var schedule = TransferSchedule(limit: 4)
        schedule.offer(rows("a"))
        #expect(begun(&schedule) == ["a"])
        schedule.offer(rows("a", "b", "b"))
        #expect(begun(&schedule) == ["b"])
    }

    @Test
    func whatRunsAndIsWantedInAnotherWayByNowIsOfferedAgain() {
        var schedule = TransferSchedule(limit: 4)
        schedule.offer(rows("a", "b"))
        #expect(begun(&schedule) == ["a", "b"])
        schedule.offer(rows("a") + [Attachment(id: "b", filename: "b.jpg", state: .queuedDelete)])
        #expect(["a", "b", "b"].map { schedule.ended($0) } == [false, true, false])
    }

    @Test
    func whatRunsAndIsToBeRepeatedIsOfferedAgainOnce() {
        var schedule = TransferSchedule(limit: 4)
        schedule.offer(rows("a", "b"))
        #expect(begun(&schedule) == ["a", "b"])
        schedule.repeatAfterEnd("b")
        schedule.repeatAfterEnd("c")
        #expect(["a", "b", "b", "c"].map { schedule.ended($0) } == [false, true, false, false])
    }

    @Test
    func idsThatSwiftTakesForEqualAndSQLiteDoesNotAreTwoAttachments() {
        var schedule = TransferSchedule(limit: 4)
        schedule.offer(rows("\u{e9}", "e\u{301}"))
        #expect(begun(&schedule).map { Array($0.utf8) } == [[0xC3, 0xA9], [0x65, 0xCC, 0x81]])
    }

    @Test
    func offerReplacesWhatHasNotBegun() {
        var schedule = TransferSchedule(limit: 1)
        schedule.offer(rows("a", "b"))
        #expect(schedule.next()?.id == "a")
        schedule.offer(rows("c"))
        schedule.ended("a")
        #expect(begun(&schedule) == ["c"])
    }

    @Test
    func prioritizedIdsGoFirstInTheOrderOfTheListAndTheRestByAge() {
        var schedule = TransferSchedule(limit: 10)
        schedule.prioritize(["d", "unknown", "b", "d"])
        schedule.offer(rows("a", "b", "c", "d"))
        #expect(begun(&schedule) == ["d", "b", "a", "c"])
    }

    @Test
    func newPrioritiesHoldForWhatIsWaitingAlready() {
        var schedule = TransferSchedule(limit: 1)
        schedule.offer(rows("a", "b", "c"))
        #expect(schedule.next()?.id == "a")
        schedule.prioritize(["c"])
        schedule.ended("a")
        #expect(schedule.next()?.id == "c")
    }

    @Test
    func nothingBeginsWhilePaused() {
        var schedule = TransferSchedule(limit: 1)
        schedule.isPaused = true
        schedule.offer(rows("a"))
        #expect(schedule.next() == nil)
        schedule.isPaused = false
        #expect(schedule.next()?.id == "a")
    }

    @Test(arguments: [0, -3])
    func limitThatMakesNoSenseIsOne(limit: Int) {
        var schedule = TransferSchedule(limit: limit)
        schedule.offer(rows("a", "b"))
        #expect(begun(&schedule) == ["a"])
    }

    @Test
    func manyAttachmentsAreBegunInLinearTime() {
        var schedule = TransferSchedule(limit: .max)
        schedule.offer((0..<20_000).map { Attachment(id: "\($0)", filename: "f", state: .queuedDownload) })
        #expect(begun(&schedule).count == 20_000)
    }
}
