import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct LatestValueTests {
    private let value = LatestValue(0)

    private func set(_ number: Int) {
        value.update { value in
            value = number
            return true
        }
    }

    @Test func aSubscriptionBeginsWithThePresentValue() async {
        set(3)
        var values = value.values().makeAsyncIterator()
        #expect(await values.next() == 3)
        set(4)
        #expect(await values.next() == 4)
    }

    @Test func changesThatWereNotTakenAreOne() async {
        let audience = value.newAudience()
        let values = value.values(for: audience)
        for number in 1...10 { set(number) }
        value.finish(audience)
        var taken: [Int] = []
        for await number in values { taken.append(number) }
        #expect(taken == [10])
    }

    @Test func changesThatAreNoNewsAreNotTold() async {
        let audience = value.newAudience()
        var values = value.values(for: audience).makeAsyncIterator()
        #expect(await values.next() == 0)
        value.update { value in
            value = 1
            return false
        }
        #expect(value.current == 1)
        value.finish(audience)
        #expect(await values.next() == nil)
    }

    @Test func aCancelledConsumerEndsAndOthersGoOn() async {
        let hasBegun = TaskGate()
        let task = Task { [value] in
            for await _ in value.values() { hasBegun.open() }
        }
        try? await hasBegun.pass()
        task.cancel()
        await task.value
        var values = value.values().makeAsyncIterator()
        set(2)
        #expect(await values.next() == 2)
    }

    @Test func anAudienceEndsByItself() async {
        let audience = value.newAudience()
        var (ending, others) = (value.values(for: audience).makeAsyncIterator(), value.values().makeAsyncIterator())
        #expect(await others.next() == 0)
        set(1)
        value.finish(audience)
        // Each after the element that it has not taken yet.
        #expect(await ending.next() == 1)
        #expect(await ending.next() == nil)
        #expect(await others.next() == 1)
        set(2)
        #expect(await others.next() == 2)
    }
}
