import Testing

@testable import PowerSyncServiceMySQL

/// How often tables are copied again.
@Suite struct CopyPaceTests {
    /// The pauses of copies that follow each other at once.
    private func pauses(_ reason: CopyReason, count: Int, after start: Duration = .seconds(1000)) -> [Duration] {
        var pace = CopyPace()
        var time = start
        return (0..<count).map { _ in
            let pause = pace.pause(at: time, because: reason)
            time += pause
            pace.copied(at: time, because: reason)
            return pause
        }
    }

    @Test(arguments: [CopyReason.statement, .incompleteRow, .layout, .alteration])
    func pausesGrowToAMinute(_ reason: CopyReason) {
        #expect(pauses(reason, count: 9) == [0, 1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
    }

    @Test func rulesOfForeignKeysBeginWithTenSeconds() {
        #expect(pauses(.cascade, count: 5) == [0, 10, 20, 40, 60].map { .seconds($0) })
    }

    @Test func theTimeSinceTheLastCopyCounts() {
        var pace = CopyPace()
        pace.copied(at: .seconds(100), because: .statement)
        #expect(pace.pause(at: .milliseconds(100_400), because: .statement) == .milliseconds(600))
        #expect(pace.pause(at: .seconds(102), because: .statement) == .zero)
        #expect(pace.pause(at: .seconds(102), because: .cascade) == .seconds(8))
    }

    @Test func aTableThatWasLeftForLongBeginsAnew() {
        var pace = CopyPace()
        for time in 0..<9 { pace.copied(at: .seconds(60 * time), because: .statement) }
        #expect(pace.pause(at: .seconds(480), because: .statement) == .seconds(60))
        pace.copied(at: .seconds(800), because: .statement)
        #expect(pace.pause(at: .seconds(800), because: .statement) == .seconds(1))
    }
}
