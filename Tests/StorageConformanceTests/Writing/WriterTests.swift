import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Operations that changes of the source become (docs/service.md "Rows and operations").
@Suite struct WriterTests {
    /// A stream `g`, whose only bucket is `g|0[]`.
    private static let global = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT id, description FROM test
        """
    private static let byOwner = """
        config:
          edition: 3
        streams:
          o:
            query: SELECT * FROM test WHERE owner = auth.user_id()
        """

    private func row(_ id: String, _ description: String = "") -> SourceRow {
        ["id": .text(id), "description": .text(description)]
    }

    @Test(arguments: TestedStorage.durable)
    func replaysLeaveTheReducedStateUnchanged(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.global, on: kind)
        let table = try await scenario.table("test")
        let insert = SourceChange.insert(row("test1"))
        let delete = SourceChange.delete(key: ["test1"])

        try await scenario.save(insert, delete, of: table)
        try await scenario.commit()
        #expect(try await scenario.summary("g|0[]") == ["PUT test1", "REMOVE test1"])

        try await scenario.save(delete, of: table)
        try await scenario.commit()
        #expect(try await scenario.summary("g|0[]") == ["PUT test1", "REMOVE test1"])

        try await scenario.save(insert, .update(row("test1")), delete, of: table)
        try await scenario.commit()
        #expect(
            try await scenario.summary("g|0[]") == [
                "PUT test1", "REMOVE test1", "PUT test1", "REMOVE test1",
            ]
        )
        #expect(try await scenario.rows("g|0[]").isEmpty)

        try await scenario.save(insert, insert, of: table)
        try await scenario.commit()
        #expect(try await scenario.rows("g|0[]") == ["test/test1": #"{"id":"test1","description":""}"#])
    }

    @Test(arguments: TestedStorage.durable)
    func rowComesBackInOneBatch(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.global, on: kind)
        let table = try await scenario.table("test")
        try await scenario.save(
            .insert(row("test1")),
            .delete(key: ["test1"]),
            .insert(row("test1", "again")),
            of: table
        )
        try await scenario.commit()
        #expect(try await scenario.summary("g|0[]") == ["PUT test1", "REMOVE test1", "PUT test1"])
    }

    @Test(arguments: TestedStorage.durable)
    func changedRowIDRemovesTheOldRow(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(
            """
            config:
              edition: 3
            streams:
              g:
                query: SELECT client_id AS id, description FROM test
            """,
            on: kind
        )
        let table = try await scenario.table("test", key: ["k"])
        func row(_ id: String) -> SourceRow { ["k": "k", "client_id": .text(id), "description": "d"] }
        try await scenario.save(.insert(row("a")), .update(row("b")), of: table)
        try await scenario.commit()
        let operations = try await scenario.operations("g|0[]")
        #expect(operations.map { "\($0.kind) \($0.id)" } == ["PUT a", "PUT b", "REMOVE a"])
        #expect(Set(operations.map(\.subkey)).count == 1)
    }

    @Test(arguments: TestedStorage.durable)
    func changedKeyMovesTheRowToAnotherSubkey(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.global, on: kind)
        let table = try await scenario.table("test")
        try await scenario.save(.insert(row("test1", "one")), .insert(row("test2", "two")), of: table)
        try await scenario.save(
            .update(row("test3", "two"), oldKey: ["test2"]),
            .update(row("test2", "one"), oldKey: ["test1"]),
            of: table
        )
        try await scenario.commit()
        let operations = try await scenario.operations("g|0[]")
        #expect(
            operations.map { "\($0.kind) \($0.id)" } == [
                "PUT test1", "PUT test2", "REMOVE test2", "PUT test3", "REMOVE test1", "PUT test2",
            ]
        )
        #expect(operations[1].subkey == operations[2].subkey)
        #expect(operations[2].subkey != operations[3].subkey)
        #expect(
            try await scenario.rows("g|0[]") == [
                "test/test2": #"{"id":"test2","description":"one"}"#,
                "test/test3": #"{"id":"test3","description":"two"}"#,
            ]
        )
    }

    @Test(arguments: TestedStorage.durable)
    func fullIdentityGivesAnotherSubkeyWhenARowChanges(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.global, on: kind)
        let table = try await scenario.table("test", key: ["id", "description"])
        try await scenario.save(
            .insert(row("a", "1")),
            .update(row("a", "2"), oldKey: ["a", "1"]),
            .update(row("a", "2"), oldKey: ["a", "2"]),
            of: table
        )
        try await scenario.commit()
        let operations = try await scenario.operations("g|0[]")
        #expect(operations.map(\.kind) == ["PUT", "REMOVE", "PUT"])
        #expect(operations[0].subkey == operations[1].subkey)
        #expect(operations[1].subkey != operations[2].subkey)
        #expect(try await scenario.rows("g|0[]").count == 1)
    }

    @Test(arguments: TestedStorage.durable)
    func deletingOneOfTwoSourceRowsKeepsTheOther(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(
            """
            config:
              edition: 3
            streams:
              g:
                query: SELECT id, description FROM "test_%" AS test
            """,
            on: kind
        )
        let first = try await scenario.table("test_a")
        let second = try await scenario.table("test_b")
        try await scenario.save(.insert(row("x", "first")), of: first)
        try await scenario.save(.insert(row("x", "second")), of: second)
        try await scenario.save(.delete(key: ["x"]), of: second)
        try await scenario.commit()
        #expect(try await scenario.rows("g|0[]") == ["test/x": #"{"id":"x","description":"first"}"#])
    }

    @Test(arguments: TestedStorage.durable)
    func rowMovesBetweenBuckets(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.byOwner, on: kind)
        let table = try await scenario.table("test")
        try await scenario.save(
            .insert(["id": "a", "owner": "u1"]),
            .update(["id": "a", "owner": "u2"]),
            of: table
        )
        try await scenario.commit()
        #expect(try await scenario.summary(#"o|0["u1"]"#) == ["PUT a", "REMOVE a"])
        #expect(try await scenario.summary(#"o|0["u2"]"#) == ["PUT a"])
    }

    @Test(arguments: TestedStorage.durable)
    func rowThatLosesItsBucketIsRemoved(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.byOwner, on: kind)
        let table = try await scenario.table("test")
        try await scenario.save(.insert(["id": "a", "owner": "u1"]), .update(["id": "a", "owner": nil]), of: table)
        try await scenario.commit()
        #expect(try await scenario.summary(#"o|0["u1"]"#) == ["PUT a", "REMOVE a"])
    }

    @Test(arguments: TestedStorage.durable)
    func rowThatIsTooLargeIsSkippedAndItsBucketsAreRemembered(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.global, on: kind)
        let table = try await scenario.table("test")
        let large = String(repeating: "x", count: 16 * 1024 * 1024)

        try await scenario.save(.insert(row("a", "small")), of: table)
        let rejected = try await scenario.save(.update(row("a", large)), of: table)
        #expect(rejected.map(\.table.name) == ["test"])
        #expect(rejected.first?.key == [SourceRow.Column(name: "id", value: "a")])
        try await scenario.commit()
        #expect(try await scenario.summary("g|0[]") == ["PUT a"])

        try await scenario.save(.update(row("a", "small again")), .delete(key: ["a"]), of: table)
        try await scenario.save(.insert(row("b", large)), .update(row("b", "small")), of: table)
        try await scenario.commit()
        #expect(try await scenario.summary("g|0[]") == ["PUT a", "PUT a", "REMOVE a", "PUT b"])

        try await scenario.save(.update(row("b", large)), .delete(key: ["b"]), of: table)
        try await scenario.commit()
        #expect(try await scenario.summary("g|0[]").suffix(1) == ["REMOVE b"])
    }

    @Test(arguments: TestedStorage.durable)
    func aRemovalOfManyRowsShowsAfterEachStepThatItIsAlive(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(
            "config: {edition: 3}\nstreams: {g: {query: SELECT * FROM test}}",
            on: kind
        )
        let table = try await scenario.table("test")
        let rows = (0..<5_000).map { SourceChange.insert(["id": .text("\($0)")]) }
        _ = try await scenario.writer.save(rows, of: table, mode: .stream)
        let count = NIOLockedValueBox(0)
        try await scenario.writer.drop(table) { count.withLockedValue { $0 += 1 } }
        #expect(count.withLockedValue { $0 } == 3)
        #expect(scenario.writer.sourceTables.isEmpty)
    }

    @Test(arguments: TestedStorage.durable)
    func largeStatesAreRemovedAFewAtATime(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.global, on: kind)
        let table = try await scenario.table("test")
        for letter in ["a", "b", "c"] {
            try await scenario.save(.insert(row(String(repeating: letter, count: 700_000))), of: table)
        }
        let count = NIOLockedValueBox(0)
        try await scenario.writer.truncate(table) { count.withLockedValue { $0 += 1 } }
        #expect(count.withLockedValue { $0 } == 2)
        try await scenario.commit()
        #expect(try await scenario.rows("g|0[]").isEmpty)
    }

    @Test(arguments: TestedStorage.durable)
    func truncateRemovesAllRowsAndAnEmptyTableWritesNothing(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.byOwner, on: kind)
        let table = try await scenario.table("test")
        let before = try await scenario.commit()
        try await scenario.writer.truncate(table)
        #expect(try await scenario.commit().opID == before.opID)

        for index in 0..<5 {
            try await scenario.save(
                .insert(["id": .integer(Int64(index)), "owner": .text("u\(index % 2)")]),
                of: table
            )
        }
        try await scenario.writer.truncate(table)
        try await scenario.commit()
        #expect(
            try await scenario.operations(#"o|0["u0"]"#).map(\.kind) == [
                "PUT", "PUT", "PUT", "REMOVE", "REMOVE", "REMOVE",
            ]
        )
        #expect(try await scenario.rows(#"o|0["u1"]"#).isEmpty)
    }

    @Test(arguments: TestedStorage.durable)
    func largeTransactionIsVisibleAtOnce(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.global, on: kind)
        let table = try await scenario.table("test")
        let text = String(repeating: "x", count: 2 * 1024 * 1024)
        let before = try scenario.checkpoint
        var stored: Set<Int> = []
        for index in 0..<22 {
            try await scenario.save(.insert(row("\(index)", text)), of: table)
            stored.insert(try #require(try await scenario.rowCount("operations")))
        }
        // In several transactions, and nobody sees them.
        #expect(stored.count > 3)
        #expect(try scenario.checkpoint == before)
        #expect(try await scenario.operations("g|0[]").isEmpty)
        try await scenario.commit()
        #expect(try await scenario.operations("g|0[]").count == 22)
    }

    @Test(arguments: TestedStorage.durable)
    func snapshotSkipsStoredRows(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.global, on: kind)
        let table = try await scenario.table("test")
        try await scenario.save(.insert(row("a", "new")), of: table)
        try await scenario.save(.insert(row("a", "old")), .insert(row("b", "copied")), of: table, mode: .snapshot)
        try await scenario.commit()
        #expect(try await scenario.summary("g|0[]") == ["PUT a", "PUT b"])
    }

    @Test(arguments: TestedStorage.durable) func droppingATableRemovesItsRowsAndItsRecord(
        _ kind: TestedStorage
    ) async throws {
        var scenario = try await StorageScenario(Self.global, on: kind)
        let table = try await scenario.table("test")
        try await scenario.save(.insert(row("a")), of: table)
        try await scenario.writer.drop(table)
        try await scenario.commit()
        #expect(try await scenario.rows("g|0[]").isEmpty)
        #expect(scenario.writer.sourceTables.isEmpty)
    }

    @Test(arguments: TestedStorage.durable) func tableIsResolvedByNameRelationAndIdentity(
        _ kind: TestedStorage
    ) async throws {
        var scenario = try await StorageScenario(Self.global, on: kind)
        let table = try await scenario.table("test", relationID: "1")
        #expect(try await scenario.table("test", relationID: "1").id == table.id)
        try await scenario.reopen()
        #expect(try await scenario.table("test", relationID: "1").id == table.id)

        let recreated = try await scenario.writer.resolveTable(
            SourceTableDescriptor(name: table.descriptor.name, relationID: "2", identity: table.descriptor.identity)
        )
        #expect(recreated.table.id != table.id)
        #expect(recreated.outdated.map(\.id) == [table.id])

        var renamed = table.descriptor
        renamed.name.name = "other"
        #expect(try await scenario.writer.resolveTable(renamed).outdated.map(\.id) == [table.id])
    }
}
