import Testing

@testable import PowerSyncServiceCore

/// What the log line of a checkpoint says (docs/service.md "Logs").
@Suite struct CheckpointStoryTests {
    /// A line of a session that is sending since 100 s.
    private static func line(_ story: inout CheckpointStory, at now: Double) -> CheckpointStory.Line {
        story.takeLine(at: now, while: .sending, since: 100)
    }

    @Test func thereIsOneLineASecondAndNothingIsLeftOut() {
        var story = CheckpointStory()
        story.didAnnounce(at: 100)
        story.didSend(operations: 3, bytes: 30)
        let first = Self.line(&story, at: 100)
        #expect(first.isDue && first.operations == 3 && first.bytes == 30)
        story.didSend(operations: 1, bytes: 10)
        let second = Self.line(&story, at: 100.9)
        #expect(!second.isDue && second.operations == 1 && second.bytes == 10)
        story.didSend(operations: 2, bytes: 20)
        let third = Self.line(&story, at: 101)
        #expect(third.isDue && third.operations == 3 && third.bytes == 30)
        #expect(Self.line(&story, at: 102).operations == 0)
    }

    @Test func aClockThatIsSetBackKeepsNoLineBack() {
        var story = CheckpointStory()
        #expect(Self.line(&story, at: 1000).isDue)
        #expect(Self.line(&story, at: 500).isDue)
        #expect(!Self.line(&story, at: 500.5).isDue)
    }

    @Test func onlyTheTimeSinceTheAnnouncementCounts() {
        var story = CheckpointStory()
        story.didAnnounce(at: 100)
        // It was reading before.
        story.didEnd(.reading, from: 99, to: 100.5)
        story.didEnd(.waitingForSlot, from: 100.5, to: 100.75)
        story.didEnd(.waitingForMemory, from: 100.75, to: 101.75)
        story.didEnd(.waitingForCheckpoint, from: 101.75, to: 102)
        let line = story.takeLine(at: 104, while: .sending, since: 102)
        #expect(line.total == 4)
        #expect(line.spent == [.reading: 0.5, .waitingForSlot: 0.25, .waitingForMemory: 1, .sending: 2])
        // The next checkpoint is announced while it sends.
        story.didAnnounce(at: 103)
        #expect(story.takeLine(at: 104, while: .sending, since: 102).spent == [.sending: 1])
    }
}
