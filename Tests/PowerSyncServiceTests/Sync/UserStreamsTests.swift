import Testing

@testable import PowerSyncServiceCore

@Suite struct UserStreamsTests {
    @Test func aUserHasAsManyStreamsAsTheLimitSays() throws {
        let streams = UserStreams(limit: 2)
        let first = try streams.enter(StreamClient(userID: "a"))
        var second: UserStreams.Place? = try streams.enter(StreamClient(userID: "a"))
        #expect(throws: UserStreams.Overflow(limit: 2)) { _ = try streams.enter(StreamClient(userID: "a")) }
        let other = try streams.enter(StreamClient(userID: "b"))
        second = nil
        _ = second
        let third = try streams.enter(StreamClient(userID: "a"))
        #expect(throws: UserStreams.Overflow(limit: 2)) { _ = try streams.enter(StreamClient(userID: "a")) }
        withExtendedLifetime((first, third, other)) {}
    }

    @Test func usersWithoutStreamsAreForgotten() throws {
        let streams = UserStreams(limit: 2)
        do {
            let places = [
                try streams.enter(StreamClient(userID: "a")), try streams.enter(StreamClient(userID: "a")),
                try streams.enter(StreamClient(userID: "b")),
            ]
            #expect(streams.userCount == 2)
            withExtendedLifetime(places) {}
        }
        #expect(streams.userCount == 0)
    }
}
