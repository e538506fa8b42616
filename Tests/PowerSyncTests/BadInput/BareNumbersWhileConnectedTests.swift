import NIOConcurrencyHelpers
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// Numbers that the established service sends bare, although JSON has none of them: a live query goes on, rows can be written, and
/// what is uploaded can be read.
@Suite(.timeLimit(.minutes(1))) struct BareNumbersWhileConnectedTests {
    struct Number: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let read: Double?
        let previous: JsonValue
    }

    static let numbers = [
        Number(testDescription: "NaN", read: nil, previous: .null),
        Number(testDescription: "Infinity", read: .infinity, previous: .string("Infinity")),
        Number(testDescription: "-Infinity", read: -.infinity, previous: .string("-Infinity")),
    ]

    @Test(arguments: numbers) func aLiveQueryAndTheQueueGoOn(_ number: Number) async throws {
        let table = Table(
            name: "lists",
            columns: [.text("name"), .real("size")],
            indexes: [.ascending(name: "by_size", column: "size")],
            trackPreviousValues: TrackPreviousValuesOptions()
        )
        let harness = SyncHarness(schema: Schema(table))
        let uploaded = UploadedEntries()
        harness.connector.onUpload { database, _ in
            guard let batch = try await database.getCrudBatch(limit: 100) else { return }
            uploaded.append(batch.crud)
            try await batch.complete()
        }
        var results = try harness.database.watch(
            options: WatchOptions(sql: "SELECT name, size FROM lists ORDER BY id", throttle: 0) {
                [try $0.getStringOptional(name: "name") ?? "", "\(try $0.getDoubleOptional(name: "size") ?? 0)"]
            }
        ).makeAsyncIterator()
        #expect(try await results.next() == [])

        let stream = try await harness.connectAndAccept()
        stream.send(
            .checkpoint(2, [.bucket("a", count: 2)]),
            .row("a", 1, "lists", "x", #"{"name":"bare","size":\#(number.testDescription)}"#),
            .row("a", 2, "lists", "y", #"{"name":"sound","size":1.5}"#),
            .done
        )
        let size = "\(number.read ?? 0)"
        while let rows = try await results.next(), rows != [["bare", size], ["sound", "1.5"]] {}

        try await harness.clock.waitForTimer(of: .seconds(1))
        harness.clock.advance(by: .seconds(1))
        try await harness.database.execute("UPDATE lists SET name = 'written'")
        while let rows = try await results.next(), rows != [["written", size], ["written", "1.5"]] {}
        try await harness.service.nextWriteCheckpoint().respond(1)
        let entries = uploaded.entries
        #expect(entries.map(\.opData) == [["name": "written"], ["name": "written"]])
        #expect(entries.first?.previousValuesTyped?["size"] == number.previous)
        #expect(entries.allSatisfy { $0.damage == nil })
        #expect(harness.log.messages(.error).isEmpty)
    }
}

/// What the back end of a test has received.
private final class UploadedEntries: Sendable {
    private let state = NIOLockedValueBox<[CrudEntry]>([])

    var entries: [CrudEntry] { state.withLockedValue { $0 } }

    func append(_ entries: [CrudEntry]) {
        state.withLockedValue { $0 += entries }
    }
}
