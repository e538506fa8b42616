import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct SyncedTableDiffTests {
    private let harness = SyncHarness()

    @Test
    func rowsOfCheckpointsAreRecordedAsWhatTheyAreAndOtherWatchesAreLeftAlone() async throws {
        var options = TableDiffOptions()
        options.throttle = 0
        let diff = try await harness.database.trackTableDiff(of: "lists", options: options)
        let unrelated = ChangeListener()
        let local = try #require(harness.database as? SyncedDatabase).local
        local.addListener(unrelated, interest: .tables(["ps_data__logs"]))
        try await local.writeWithoutTransaction { _ in }
        _ = unrelated.takeNews()

        let (handed, continuation) = AsyncStream.makeStream(of: [String].self)
        let run = Task {
            try await diff.run { changes in
                continuation.yield(try changes.records().map { "\($0.operation.rawValue) \($0.id)" })
            }
        }
        var changes = handed.makeAsyncIterator()
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
        #expect(await changes.next() == ["INSERT a1"])
        var update = DataLine(bucket: BucketName("a"))
        update.append(
            .put,
            opID: OpID(2),
            checksum: .zero,
            objectType: "lists",
            objectID: "a1",
            data: #"{"name":"newer"}"#
        )
        stream.send(.checkpoint(2, [.bucket("a", count: 2)]), .data(update), .done)
        #expect(await changes.next() == ["UPDATE a1"])
        try await diff.stop()
        try await run.value
        #expect(unrelated.takeNews().isEmpty)
    }
}
