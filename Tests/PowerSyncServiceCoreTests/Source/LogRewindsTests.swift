import PowerSyncServiceCore
import Testing

/// The names of histories of a log that has gone back.
@Suite struct LogRewindsTests {
    private func position(_ lsn: String, _ history: String) -> SourcePosition {
        SourcePosition(LSN(lsn), of: SourceHistory(rawValue: history))
    }

    /// - Returns: The suffix afterwards; `nil` when nothing was learned.
    private func learn(_ known: (String, String), _ head: (String, String), _ suffix: String = "") -> String? {
        var rewinds = LogRewinds()
        if !suffix.isEmpty {
            _ = rewinds.learn(from: position("0", "h" + suffix), in: SourceHistory(rawValue: "h"), isInLog: true)
        }
        #expect(rewinds.suffix == suffix)
        let isNew = rewinds.learn(
            from: position(known.0, known.1),
            in: SourceHistory(rawValue: head.1),
            isInLog: known.0 <= head.0
        )
        #expect(isNew == (rewinds.suffix != suffix))
        return isNew ? rewinds.suffix : nil
    }

    @Test func aLogThatIsShorterThanItWasHasGoneBack() {
        #expect(learn(("5", "h"), ("6", "h")) == nil)
        #expect(learn(("5", "h"), ("5", "h")) == nil)
        #expect(learn(("7", "h"), ("6", "h")) == "~7")
        #expect(learn(("9", "h~7"), ("8", "h~7"), "~7") == "~7~9")
    }

    @Test func aStoredNameIsTaken() {
        #expect(learn(("5", "h~7"), ("6", "h")) == "~7")
        #expect(learn(("5", "h~7~9"), ("6", "h~7"), "~7") == "~7~9")
        // And has gone back once more.
        #expect(learn(("8", "h~7"), ("6", "h")) == "~7~8")
    }

    @Test func otherServersAndEarlierHistoriesSayNothing() {
        for known in ["g", "g~7", "h2", "", "h ~7"] { #expect(learn(("9", known), ("6", "h")) == nil) }
        #expect(learn(("9", "h"), ("6", "h~7"), "~7") == nil)
        #expect(learn(("9", "h~8"), ("6", "h~7"), "~7") == nil)
    }

    @Test func whoHasBeenOvertakenLooksAgain() {
        var rewinds = LogRewinds()
        for _ in 0..<2 {
            let history = SourceHistory(rawValue: "h")
            let looksAgain = rewinds.learn(from: position("7", "h"), in: history, isInLog: false)
            #expect(looksAgain)
            #expect(rewinds.suffix == "~7")
        }
    }
}
