import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Subscriptions to streams that the service does not have.
@Suite struct UnknownStreamTests {
    private let misspelt = StreamKey(name: "todo_list")
    private let right = StreamKey(name: "todo_lists")
    private let streams = ["todo_lists", "users"].map { StreamDescription(name: $0, isDefault: $0 == "users") }

    private func subscribe(_ key: StreamKey, _ scenario: SyncScenario) throws {
        try scenario.write { try StreamSubscriptions.subscribe($0, key, now: scenario.now) }
    }

    private func status(of key: StreamKey, _ scenario: SyncScenario) -> StreamStatus? {
        scenario.status.streams?.first { $0.key == key }
    }

    @Test func unknownStreamIsTold() throws {
        let scenario = try SyncScenario()
        try subscribe(misspelt, scenario)
        try subscribe(right, scenario)
        try scenario.start()
        #expect(status(of: misspelt, scenario)?.unknown == nil)
        try scenario.receive(.checkpoint(1, [.bucket("a", .subscription(1))], streams: streams))
        let unknown = try #require(status(of: misspelt, scenario)?.unknown)
        #expect(unknown.name == "todo_list")
        #expect(unknown.knownNames == ["todo_lists", "users"])
        #expect(unknown.similarNames == ["todo_lists"])
        #expect(status(of: right, scenario)?.unknown == nil)
        #expect(status(of: StreamKey(name: "users"), scenario)?.unknown == nil)

        try scenario.receive(.done)
        #expect(status(of: misspelt, scenario)?.lastSyncedAt == nil)
        #expect(status(of: misspelt, scenario)?.unknown == unknown)
        #expect(status(of: right, scenario)?.lastSyncedAt == scenario.now)
        #expect(status(of: StreamKey(name: "users"), scenario)?.lastSyncedAt == scenario.now)
        let synced = try scenario.database.rows(
            "SELECT stream_name FROM ps_stream_subscriptions WHERE last_synced_at IS NOT NULL ORDER BY 1"
        )
        #expect(synced == ["todo_lists", "users"])
    }

    @Test func aServiceWithoutStreamsKnowsNone() throws {
        let scenario = try SyncScenario()
        try subscribe(misspelt, scenario)
        try scenario.start()
        try scenario.receive(.checkpoint(1, []))
        let unknown = try #require(status(of: misspelt, scenario)?.unknown)
        #expect(unknown.similarNames.isEmpty)
        #expect(unknown.knownNames.isEmpty)
    }

    @Test func oneWarningForAllSubscriptionsAndCheckpoints() throws {
        let scenario = try SyncScenario()
        try subscribe(misspelt, scenario)
        try subscribe(StreamKey(name: "todo_list", parameters: ["n": 1]), scenario)
        try scenario.start()
        var warnings = try scenario.receive(.checkpoint(1, [], streams: streams), .done, .diff(2), .done).messages(
            .warning
        )
        try scenario.start()
        warnings += try scenario.receive(.checkpoint(2, [], streams: streams), .done).messages(.warning)
        #expect(warnings.count == 1)
        #expect(warnings.first?.contains("'todo_list'") == true)
        #expect(warnings.first?.contains("Did you mean 'todo_lists'?") == true)
    }

    /// After a deployment of the service, for example.
    @Test func aStreamThatAppearsIsKnown() throws {
        let scenario = try SyncScenario()
        try subscribe(right, scenario)
        try scenario.start()
        try scenario.receive(.checkpoint(1, []), .done)
        #expect(status(of: right, scenario)?.unknown != nil)
        try scenario.receive(.checkpoint(2, [.bucket("a", .subscription(0))], streams: streams), .done)
        #expect(status(of: right, scenario)?.unknown == nil)
        #expect(status(of: right, scenario)?.lastSyncedAt == scenario.now)
    }

    /// The service was not asked for it: what it lists says nothing.
    @Test func aSubscriptionAfterTheRequestIsNeitherUnknownNorSynced() throws {
        let scenario = try SyncScenario()
        try scenario.start()
        try subscribe(misspelt, scenario)
        try subscribe(right, scenario)
        try scenario.receive(.checkpoint(1, [], streams: streams), .done)
        for key in [misspelt, right] {
            #expect(status(of: key, scenario)?.unknown == nil)
            #expect(status(of: key, scenario)?.lastSyncedAt == nil)
        }
    }

    @Test func nothingOfItIsStored() throws {
        let scenario = try SyncScenario()
        try subscribe(misspelt, scenario)
        try scenario.start()
        try scenario.receive(.checkpoint(1, [], streams: streams), .done)
        scenario.restart()
        try scenario.start()
        #expect(status(of: misspelt, scenario)?.unknown == nil)
    }

    @Test(
        arguments: [
            ("todos", ["todo", "Todos", "users", "to_dos"], ["Todos", "todo", "to_dos"]),
            ("lists", ["list", "lsits", "listings", "ists"], ["list", "lsits", "ists"]),
            ("a", ["b", "ab", "abc", ""], ["b", "ab", ""]),
            ("lists", ["lists"], []), ("", ["a", "ab"], ["a"]),
            (String(repeating: "x", count: 65), [String(repeating: "x", count: 64)], []),
            ("abcdef", ["abxyzf", "abcxyf"], ["abcxyf"]),
            ("todos", ["todo1", "todo2", "todo3", "todo4"], ["todo1", "todo2", "todo3"]),
        ]
    )
    func similarNames(name: String, among: [String], expected: [String]) {
        #expect(SimilarNames.of(name, among: among) == expected)
    }

    @Test func longNamesAreNotCompared() {
        let names = (63...65).map { String(repeating: "x", count: $0) }
        #expect(SimilarNames.of(names[1], among: names) == [names[0]])
        #expect(SimilarNames.of(names[2], among: names).isEmpty)
    }
}
