import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// The parameter index (docs/service.md "Parameter index").
@Suite struct ParameterIndexTests {
    private static let config = """
        config:
          edition: 3
        streams:
          d:
            query: SELECT * FROM docs WHERE grp IN (SELECT grp FROM m WHERE uid = auth.user_id())
        """
    private static let u1 = #"0["u1"]"#
    private static let u2 = #"0["u2"]"#

    private func member(_ id: Int64, _ user: String, _ group: SQLValue) -> SourceRow {
        ["id": .integer(id), "uid": .text(user), "grp": group]
    }

    private func row(_ value: SQLValue) -> ParameterRow {
        ParameterRow(values: [value])
    }

    @Test(arguments: TestedStorage.durable)
    func lookupsSeeTheStateAtTheirCheckpoint(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        let table = try await scenario.table("m")
        try await scenario.save(.insert(member(1, "u1", "g1")), of: table)
        try await scenario.writer.flush()
        #expect(try await scenario.lookUp(Self.u1).isEmpty)
        let inserted = try await scenario.commit()

        try await scenario.save(.update(member(1, "u1", "g2")), of: table)
        let changed = try await scenario.commit()
        try await scenario.save(.update(member(1, "u2", "g2")), of: table)
        let moved = try await scenario.commit()
        try await scenario.save(.delete(key: [1]), of: table)
        let deleted = try await scenario.commit()

        #expect(try await scenario.lookUp(Self.u1, at: inserted) == [row("g1")])
        #expect(try await scenario.lookUp(Self.u1, at: changed) == [row("g2")])
        #expect(try await scenario.lookUp(Self.u1, at: moved).isEmpty)
        #expect(try await scenario.lookUp(Self.u2, at: moved) == [row("g2")])
        #expect(try await scenario.lookUp(Self.u2, at: deleted).isEmpty)
        #expect(try await scenario.lookUp(Self.u1, at: inserted) == [row("g1")])
    }

    @Test(arguments: TestedStorage.durable)
    func rowsUnderOneKeyAreAllFound(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        let table = try await scenario.table("m")
        let groups: [SQLValue] = [.integer(1), .real(1), .integer(.max), .text("ü"), .real(0.1)]
        for (index, group) in groups.enumerated() {
            try await scenario.save(.insert(member(Int64(index), "u1", group)), of: table)
        }
        try await scenario.commit()
        #expect(Set(try await scenario.lookUp(Self.u1)) == Set(groups.map { row($0) }))
    }

    @Test(arguments: TestedStorage.durable)
    func everybodyLooksUpTheSameWithoutACondition(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(
            """
            config:
              edition: 3
            streams:
              d:
                auto_subscribe: true
                query: SELECT * FROM docs WHERE grp IN (SELECT grp FROM m)
            """,
            on: kind
        )
        let table = try await scenario.table("m")
        try await scenario.save(.insert(member(1, "u1", "g1")), .insert(member(2, "u2", "g2")), of: table)
        let checkpoint = try await scenario.commit()
        #expect(try await scenario.rowCount("lookups") == 1)
        let (storage, stream) = (scenario.storage, scenario.stream)
        for user in ["u1", "u2"] {
            let request = SyncPlanRequest(tokenPayload: ["sub": .string(user)])
            let querier = stream.plan.querier(for: request, bucketPrefix: stream.bucketPrefix)
            var used: [ParameterLookup] = []
            let buckets = try await querier.buckets { lookups in
                used += lookups
                return try await storage.parameterRows(lookups, at: checkpoint, limit: 10)
            }
            #expect(used == [ParameterLookup(rawValue: "0[]")])
            #expect(Set(buckets.map(\.name.rawValue)) == [#"1#d|0["g1"]"#, #"1#d|0["g2"]"#])
        }
    }

    @Test(arguments: TestedStorage.durable)
    func truncateEmptiesTheIndex(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        let table = try await scenario.table("m")
        try await scenario.save(.insert(member(1, "u1", "g1")), .insert(member(2, "u2", "g1")), of: table)
        let filled = try await scenario.commit()
        try await scenario.writer.truncate(table)
        try await scenario.commit()
        #expect(try await scenario.lookUp(Self.u1).isEmpty)
        #expect(try await scenario.lookUp(Self.u2).isEmpty)
        #expect(try await scenario.lookUp(Self.u2, at: filled).count == 1)
    }

    @Test(arguments: TestedStorage.durable)
    func moreRowsThanTheLimitAreAnError(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        let table = try await scenario.table("m")
        for index in 0..<3 {
            try await scenario.save(.insert(member(Int64(index), "u1", .text("g\(index)"))), of: table)
        }
        try await scenario.commit()
        #expect(try await scenario.lookUp(Self.u1, limit: 3).count == 3)
        await #expect(throws: BucketLimitError(limit: .parameterResults(limit: 2))) {
            try await scenario.lookUp(Self.u1, limit: 2)
        }
    }

    @Test(arguments: TestedStorage.durable)
    func equalRowsCountOnceForTheLimit(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        let table = try await scenario.table("m")
        for index in 0..<40 as Range<Int64> {
            try await scenario.save(.insert(member(index, "u1", .text("g\(index % 3)"))), of: table)
        }
        try await scenario.commit()
        let groups = ["g0", "g1", "g2"].map { row(.text($0)) }
        let found = try await scenario.lookUp(Self.u1, limit: 3)
        #expect(found.count == 3 && Set(found) == Set(groups))
        await #expect(throws: BucketLimitError(limit: .parameterResults(limit: 2))) {
            try await scenario.lookUp(Self.u1, limit: 2)
        }
    }

    @Test(arguments: TestedStorage.durable) func changesBetweenCheckpointsNameBucketsAndLookups(
        _ kind: TestedStorage
    ) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        let docs = try await scenario.table("docs")
        let m = try await scenario.table("m")
        let start = try await scenario.commit()
        try await scenario.save(.insert(["id": "d1", "grp": "g1"]), of: docs)
        let first = try await scenario.commit()
        try await scenario.save(.insert(member(1, "u1", "g1")), of: m)
        let second = try await scenario.commit()

        let storage = scenario.storage
        let bucket = BucketName(#"1#d|0["g1"]"#)
        let lookup = ParameterLookup(rawValue: Self.u1)
        #expect(try await storage.changes(from: start, to: first) == .known(buckets: [bucket], lookups: []))
        #expect(try await storage.changes(from: first, to: second) == .known(buckets: [], lookups: [lookup]))
        #expect(try await storage.changes(from: start, to: second) == .known(buckets: [bucket], lookups: [lookup]))
        #expect(try await storage.changes(from: second, to: second).isEmpty)

        try await scenario.reopen()
        #expect(
            try await scenario.storage.changes(from: start, to: second) == .known(buckets: [bucket], lookups: [lookup])
        )
        #expect(try await scenario.storage.changes(from: second, to: second).isEmpty)
    }
}
