import Testing

@testable import PowerSyncAuth

/// When a remote key set is asked for (docs/service.md "Authentication").
@Suite struct KeySetCacheTests {
    private static let key = VerifyingKey(
        JSONWebKey(id: "a", algorithm: .hs256, material: .symmetric(Array("0123456789abcdef0123456789abcdef".utf8)))
    )

    private var cache = KeySetCache()

    @Test mutating func theFirstCheckAsksAndWaits() {
        #expect(cache.check(at: .zero) == .wait)
        #expect(cache.isAsking)
        // Others wait for the same answer.
        #expect(cache.check(at: .seconds(1)) == .wait)
        cache.didReceive([Self.key], at: .seconds(2))
        #expect(cache.check(at: .seconds(2)) == .goOn)
        #expect(cache.keys.count == 1 && !cache.isAsking)
    }

    @Test mutating func afterFiveMinutesItAsksAndGoesOn() {
        _ = cache.check(at: .zero)
        cache.didReceive([Self.key], at: .zero)
        #expect(cache.check(at: .seconds(299)) == .goOn)
        #expect(!cache.isAsking)
        #expect(cache.check(at: .seconds(300)) == .goOn)
        #expect(cache.isAsking)
        #expect(cache.keys.count == 1)
    }

    @Test mutating func anErrorLeavesTheKeysForAnHour() {
        _ = cache.check(at: .zero)
        cache.didReceive([Self.key], at: .zero)
        for minute in stride(from: 5, to: 60, by: 5) {
            #expect(cache.check(at: .seconds(minute * 60)) == .goOn)
            #expect(cache.isAsking)
            cache.didFail(.keySetRequest("down"))
            #expect(cache.keys.count == 1)
            #expect(cache.failure != nil)
        }
        #expect(cache.check(at: .seconds(3600)) == .wait)
        #expect(cache.keys.isEmpty)
        cache.didReceive([Self.key], at: .seconds(3600))
        #expect(cache.failure == nil)
    }

    @Test mutating func afterAnErrorTheNextCheckAsksAgain() {
        _ = cache.check(at: .zero)
        cache.didFail(.keySetRequest("down"))
        #expect(!cache.isAsking)
        // A little later: the second request of a series.
        #expect(cache.check(at: .seconds(1)) == .wait)
        #expect(cache.isAsking)
    }

    @Test mutating func aMissingKeyAsks() {
        _ = cache.check(at: .zero)
        cache.didReceive([], at: .zero)
        cache.keyWasMissing(at: .seconds(10))
        #expect(cache.isAsking)
    }

    /// Whoever sends tokens with invented keys makes the service ask about once a minute, and not more often.
    @Test mutating func askingIsLimited() {
        var asked: [Int] = []
        for second in 0..<3600 {
            cache.keyWasMissing(at: .seconds(second))
            guard cache.isAsking else { continue }
            asked.append(second)
            cache.didReceive([], at: .seconds(second))
        }
        #expect(asked.prefix(4) == [0, 1, 4, 9])
        #expect((60...72).contains(asked.count))
        let pauses = zip(asked, asked.dropFirst()).map { $1 - $0 }
        #expect(pauses.suffix(30).allSatisfy { $0 >= 45 })
    }
}
