import PowerSyncProtocol
import Testing

/// Numbers before nouns, in sentences for people.
@Suite struct CountedTests {
    @Test(
        arguments: [
            (0, "0 rows"), (1, "1 row"), (2, "2 rows"), (11, "11 rows"), (21, "21 rows"), (101, "101 rows"),
            (-1, "-1 rows"),
        ]
    )
    func oneThingIsNotSeveral(number: Int, sentence: String) {
        #expect(number.counted("row") == sentence)
        #expect(Int64(number).counted("row") == sentence)
    }

    @Test func somePluralsHaveMoreThanAnS() {
        #expect([0, 1, 2].map { $0.counted("entry", "entries") } == ["0 entries", "1 entry", "2 entries"])
        #expect(1.counted("write waits", "writes wait") == "1 write waits")
        #expect(2.counted("write waits", "writes wait") == "2 writes wait")
        #expect([1, 2].map { $0.words("it", "them") } == ["it", "them"])
    }
}
