import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// What tells rows apart.
@Suite struct RowKeyTests {
    private static let identity = ["id"]

    @Test func aRowHasTheKeyThatItsSourceGivesIt() {
        var row: SourceRow = ["id": "2024-01-01T00:00:00.123Z", "n": 1]
        #expect(row.key(of: Self.identity) == ["2024-01-01T00:00:00.123Z"])
        #expect(row.key(of: ["none"]) == [.null])
        row.key = ["2024-01-01 00:00:00.123456"]
        #expect(row.key(of: Self.identity) == ["2024-01-01 00:00:00.123456"])
    }

    @Test func rowsWithOneValueAndTwoKeysAreTwoRecords() throws {
        let plan = try plan(
            """
            config:
              edition: 3
            streams:
              all:
                query: SELECT * FROM t
            """
        )
        let descriptor = SourceTableDescriptor(
            name: SourceTableName(schema: "public", name: "t"),
            relationID: "1",
            identity: [.init(name: "id", type: "datetime(6)")]
        )
        var builder = RecordBuilder(
            plan: plan,
            bucketPrefix: "",
            hashKey: Array(repeating: 0, count: 16),
            table: SourceTable(id: "t", descriptor: descriptor),
            mode: .stream
        )
        let keys = ["1", "2"].map { key in
            var row: SourceRow = ["id": "same"]
            row.key = [.text(key)]
            return builder.evaluate(.insert(row)).beforeKey
        }
        #expect(keys[0] != keys[1])
        #expect(builder.evaluate(.delete(key: ["1"])).beforeKey == keys[0])
    }
}
