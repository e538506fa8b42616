import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// A large row that is in many buckets: more than a storage collects before it writes.
@Suite(.timeLimit(.minutes(1))) struct RowInManyBucketsTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT id, body FROM test WHERE auth.user_id() IN test.users
        """
    private static let users = 40
    /// Of one row; PostgreSQL gets 16 MiB at once.
    private static let bytes = 512 * 1024

    @Test(arguments: TestedStorage.distinct)
    func isStoredChangedAndRemovedAsOthersAre(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        let table = try await scenario.table("test")
        let users = "[\((0..<Self.users).map { "\"u\($0)\"" }.joined(separator: ","))]"
        func row(_ letter: String, users: String) -> SourceRow {
            [
                "id": "a", "users": .text(users),
                "body": .text(String(repeating: letter, count: Self.bytes)),
            ]
        }
        let other: SourceRow = ["id": "b", "users": "[\"u3\"]", "body": "w"]
        try await scenario.save(.insert(row("x", users: users)), .insert(other), of: table)
        let first = try await scenario.commit()
        try await scenario.save(
            .update(row("y", users: users)),
            .update(row("z", users: "[\"u1\",\"u39\"]")),
            of: table
        )
        let second = try await scenario.commit()

        var opIDs: [OpID] = []
        for user in 0..<Self.users {
            let bucket = "g|0[\"u\(user)\"]"
            let operations = try await scenario.operations(bucket, at: second)
            let stays = user == 1 || user == 39
            #expect(
                operations.map { "\($0.kind) \($0.id) \($0.data?.dropLast(2).last ?? "-")" }
                    == ["PUT a x"] + (user == 3 ? ["PUT b w"] : []) + ["PUT a y", stays ? "PUT a z" : "REMOVE a -"]
            )
            opIDs += operations.map(\.opID)
            #expect(try await scenario.rows(bucket, at: first).count == (user == 3 ? 2 : 1))
        }
        #expect(Set(opIDs).count == opIDs.count)
        #expect(opIDs.max() == second.opID)
    }
}
