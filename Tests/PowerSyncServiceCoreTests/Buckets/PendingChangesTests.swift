import NIOConcurrencyHelpers
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// What a writer collects, and when it is written.
@Suite(.timeLimit(.minutes(1))) struct PendingChangesTests {
    private struct DiskFull: Error {}

    private static let config = """
        config: {edition: 3}
        streams:
          all: {query: SELECT id FROM test}
        """

    private let table = SourceTable(
        id: "t",
        descriptor: SourceTableDescriptor(
            name: SourceTableName(schema: "main", name: "test"),
            relationID: "1",
            identity: [.init(name: "id", type: "text")]
        )
    )
    private let batches = NIOLockedValueBox<[PendingChanges.Batch]>([])

    private func makePending() throws -> PendingChanges {
        var plan = try #require(SyncConfig.parse(Self.config).plan)
        plan.defaultSchema = "main"
        return PendingChanges(plan: plan, bucketPrefix: "1#", hashKey: [])
    }

    private func rows(_ numbers: Range<Int>) -> [SourceChange] {
        numbers.map { .insert(["id": .text("r\($0)")]) }
    }

    /// The rows of batches, in their order.
    private func ids(_ batches: [PendingChanges.Batch]) -> [String] {
        batches.flatMap(\.records).flatMap { $0.content?.rows.map(\.row.id) ?? [] }
    }

    @Test(arguments: [(SaveMode.snapshot, 50_000), (.stream, 8_000)])
    func everythingIsWrittenOnceAndInOrder(_ mode: SaveMode, _ limit: Int) async throws {
        var pending = try makePending()
        var end = 0
        for count in [0, 1, 6_999, 7_000, 35_000, 2_000, 0] {
            let rejected = try await pending.add(rows(end..<end + count), of: table, mode: mode) { batch in
                batches.withLockedValue { $0.append(batch) }
            }
            #expect(rejected.isEmpty)
            end += count
        }
        var written = batches.withLockedValue(\.self)
        #expect(written.allSatisfy { $0.records.count == limit })
        // What is full is written when there is more.
        let rest = pending.take()
        #expect((1...limit).contains(rest.records.count))
        #expect(pending.isEmpty)
        written.append(rest)
        #expect(ids(written) == (0..<end).map { "r\($0)" })
    }

    @Test(arguments: [
        (SaveMode.snapshot, PendingChanges.Limits.tables.bytes), (.stream, PendingChanges.Limits.changes.bytes),
    ])
    func manyBytesAreWrittenAsManyRecordsAre(_ mode: SaveMode, _ limit: Int) async throws {
        var pending = try makePending()
        // Five are a little more than what is written at once.
        let text = String(repeating: "x", count: limit / 5)
        let changes = (0..<22).map { SourceChange.insert(["id": .text("\($0)\(text)")]) }
        _ = try await pending.add(changes, of: table, mode: mode) { batch in
            batches.withLockedValue { $0.append(batch) }
        }
        #expect(batches.withLockedValue { $0.map(\.records.count) } == [5, 5, 5, 5])
        let rest = pending.take()
        #expect(rest.records.count == 2)
    }

    @Test func whatWasEvaluatedElsewhereIsWrittenAsRowsOfACopyAre() async throws {
        var pending = try makePending()
        var builder = pending.recordBuilder(of: table, mode: .stream)
        let records = rows(0..<51_000).map { builder.evaluate($0) }
        for part in [records[..<49_000], records[49_000...]] {
            _ = try await pending.add(Array(part)) { batch in batches.withLockedValue { $0.append(batch) } }
        }
        #expect(batches.withLockedValue { $0.map(\.records.count) } == [50_000])
        #expect(ids(batches.withLockedValue(\.self) + [pending.take()]) == (0..<51_000).map { "r\($0)" })
    }

    @Test func theProgressOfACopyIsNeverWrittenBeforeItsRows() async throws {
        var pending = try makePending()
        for chunk in 0..<12 {
            let first = chunk * 4_500
            _ = try await pending.add(rows(first..<first + 4_500), of: table, mode: .snapshot) { batch in
                batches.withLockedValue { $0.append(batch) }
            }
            var copied = table
            copied.lastSnapshotKey = SnapshotKey(rawValue: Array("\(first + 4_500)".utf8))
            pending.addProgress(copied)
        }
        var count = 0
        for batch in batches.withLockedValue(\.self) {
            count += batch.records.count
            let progress = try #require(batch.progress[table.id]?.lastSnapshotKey)
            #expect(Int(String(decoding: progress.rawValue, as: UTF8.self)) ?? .max <= count)
        }
        #expect(count == 50_000)
    }

    @Test func whatCannotBeWrittenIsTold() async throws {
        var pending = try makePending()
        _ = try await pending.add(rows(0..<8_000), of: table, mode: .stream) { _ in
            Issue.record("nothing is to be written yet")
        }
        await #expect(throws: DiskFull.self) {
            _ = try await pending.add(rows(8_000..<8_001), of: table, mode: .stream) { _ in throw DiskFull() }
        }
    }
}
