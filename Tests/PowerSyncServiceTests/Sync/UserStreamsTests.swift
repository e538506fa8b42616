import Testing

@testable import PowerSyncServiceCore

@Suite struct UserStreamsTests {
    @Test func aUserHasAsManyStreamsAsTheLimitSays() throws {
        let streams = UserStreams(limit: 2)
        let first = try streams.enter("a")
        var second: UserStreams.Place? = try streams.enter("a")
        #expect(throws: UserStreams.Overflow(limit: 2)) { _ = try streams.enter("a") }
        let other = try streams.enter("b")
        second = nil
        _ = second
        let third = try streams.enter("a")
        #expect(throws: UserStreams.Overflow(limit: 2)) { _ = try streams.enter("a") }
        withExtendedLifetime((first, third, other)) {}
    }

    @Test func usersWithoutStreamsAreForgotten() throws {
        let streams = UserStreams(limit: 2)
        do {
            let places = [try streams.enter("a"), try streams.enter("a"), try streams.enter("b")]
            #expect(streams.userCount == 2)
            withExtendedLifetime(places) {}
        }
        #expect(streams.userCount == 0)
    }
}
