import PowerSyncCore
import PowerSyncProtocol
import Testing

@testable import PowerSyncClient

@Suite struct LiveStreamsTests {
    private let streams = LiveStreams()
    private let key = StreamKey(name: "a")

    @Test func streamIsLiveUntilItsLastHandleIsReleased() {
        let (first, second) = (streams.retain(key), streams.retain(key))
        #expect(streams.keys == [key])
        #expect(!streams.release(first))
        #expect(streams.keys == [key])
        #expect(streams.release(second))
        #expect(streams.keys.isEmpty)
    }

    @Test func handlesFromBeforeForgettingDoNotCountForLaterOnes() {
        let old = streams.retain(key)
        streams.forget(key)
        let new = streams.retain(key)
        #expect(!streams.release(old))
        #expect(streams.keys == [key])
        #expect(streams.release(new))
    }

    @Test func parametersAreComparedByValue() {
        _ = streams.retain(StreamKey(name: "a", parameters: ["x": 1, "y": 2]))
        _ = streams.retain(StreamKey(name: "a", parameters: ["y": 2, "x": 1]))
        #expect(streams.keys.count == 1)
    }
}
