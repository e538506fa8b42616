import Testing

@testable import PowerSyncClient

@Suite struct SeenCommitsTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let certain: UInt64
        let possible: UInt64
        let look: SeenCommits.Look
    }

    /// For a reader that has begun after commit 3 was made, while commit 4 was under way.
    static let cases = [
        Case(testDescription: "no news", certain: 0, possible: 0, look: .isCurrent),
        Case(testDescription: "an earlier commit", certain: 3, possible: 0, look: .isCurrent),
        Case(testDescription: "a possible change in an earlier commit", certain: 0, possible: 3, look: .isCurrent),
        Case(testDescription: "the commit that was under way", certain: 4, possible: 0, look: .mayHaveChanged),
        Case(testDescription: "a possible change in it", certain: 1, possible: 4, look: .mayHaveChanged),
        Case(testDescription: "a later commit", certain: 5, possible: 0, look: .hasChanged),
        Case(testDescription: "a possible change in a later commit", certain: 4, possible: 5, look: .mayHaveChanged),
        Case(testDescription: "both", certain: 5, possible: 6, look: .hasChanged),
        Case(
            testDescription: "a commit of somebody else",
            certain: 0,
            possible: ChangeListener.News.unknownCommit,
            look: .mayHaveChanged
        ),
    ]

    @Test(arguments: cases)
    func whetherAStateIsCurrentFollowsFromWhatItContains(_ example: Case) {
        let state = SeenCommits(contained: 3, possible: 4)
        let news = ChangeListener.News(lastCertain: example.certain, lastPossible: example.possible)
        #expect(state.look(after: news) == example.look)
    }

    @Test func newsAddUp() {
        var news = ChangeListener.News(tables: ["a"], lastCertain: 4)
        news.formUnion(ChangeListener.News(tables: ["b"], lastPossible: 7))
        news.formUnion(ChangeListener.News(mayBeAny: true, lastCertain: 3))
        #expect(news.mayBeAny && news.tables == ["a", "b"])
        #expect(news.lastCertain == 4 && news.lastPossible == 7)
    }
}
