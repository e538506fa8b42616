import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncServiceCore

/// Random commits during downloads of random priorities: whoever shows what was completed shows the rows of a commit
/// (docs/service.md "Sync sessions").
@Suite(.timeLimit(.minutes(1))) struct InterruptionModelTests {
    private static let tableNames = ["t0", "t1", "t2", "t3"]

    /// A bucket of each user for each table, with a random priority.
    private static func config(seed: UInt64) -> String {
        var random = SeededGenerator(seed: seed)
        var lines = ["config: {edition: 3}", "streams:"]
        for name in tableNames {
            lines.append("  \(name):")
            lines.append("    auto_subscribe: true")
            lines.append("    priority: \(random.number(below: 4))")
            lines.append("    query: SELECT * FROM \(name) WHERE owner = auth.user_id()")
        }
        return lines.joined(separator: "\n")
    }

    /// The rows of `u1` in the source.
    private struct Source {
        /// The rows as a client has them, by bucket and id.
        var rows: [String: [String: String]] = [:]
        /// What they were at each checkpoint, by its op id.
        var history: [String: [String: [String: String]]] = [:]
        /// The op id of the newest checkpoint.
        var newest = ""
        var writeCount = 0

        /// Makes lines of a few hundred operations too long to be handed over together.
        private static let padding = String(repeating: "x", count: 200)

        /// Writes a row, which is always another one than before.
        mutating func write(_ id: String, in table: String) -> SourceChange {
            writeCount += 1
            let text = "\(writeCount) \(Self.padding)"
            let row: JSONObject = ["id": .string(id), "owner": "u1", "text": .string(text)]
            rows[Self.bucket(of: table), default: [:]][id] = row.text
            return .update(["id": .text(id), "owner": "u1", "text": .text(text)])
        }

        mutating func delete(_ id: String, in table: String) -> SourceChange {
            rows[Self.bucket(of: table), default: [:]][id] = nil
            return .delete(key: [.text(id)])
        }

        mutating func didCommit(_ checkpoint: StorageCheckpoint) {
            newest = "\(checkpoint.opID)"
            history[newest] = rows
        }

        private static func bucket(of table: String) -> String { #"1#\#(table)|0["u1"]"# }
    }

    /// What a client has, from the lines that it has read.
    private struct Client {
        let seed: UInt64
        /// The data of the rows, by bucket and id.
        var rows: [String: [String: String]] = [:]
        var priorities: [String: Priority] = [:]
        var isDownloading = false
        /// How many checkpoints were announced before the one before them was completed.
        var interruptionCount = 0
        /// The op id of the checkpoint that was completed last.
        var completed = ""

        /// Takes a line, and compares what it completes with the source.
        mutating func take(_ next: JSONObject?, _ source: Source) throws {
            let line = try #require(next, "seed \(seed): the session has ended")
            for kind in ["checkpoint", "checkpoint_diff"] where line[kind] != nil { begin(line.object(kind)) }
            let data = line.object("data")
            for operation in data.objects("data") { apply(operation, in: data.text("bucket") ?? "") }
            if line["partial_checkpoint_complete"] != nil {
                try expectRows(of: line.object("partial_checkpoint_complete"), source)
            }
            if line["checkpoint_complete"] != nil {
                let completion = line.object("checkpoint_complete")
                try expectRows(of: completion, source)
                completed = completion.text("last_op_id") ?? ""
                isDownloading = false
            }
        }

        private mutating func begin(_ announcement: JSONObject) {
            if isDownloading { interruptionCount += 1 }
            isDownloading = true
            for bucket in announcement.objects("buckets") + announcement.objects("updated_buckets") {
                let priority = bucket.text("priority").flatMap { Int32($0) } ?? 0
                priorities[bucket.text("bucket") ?? ""] = Priority(priority)
            }
        }

        private mutating func apply(_ operation: JSONObject, in bucket: String) {
            let id = operation.text("object_id") ?? ""
            switch operation.text("op") ?? "" {
            case "PUT": rows[bucket, default: [:]][id] = operation.text("data")
            case "REMOVE": rows[bucket, default: [:]][id] = nil
            case let other: Issue.record("seed \(seed): “\(other)” where nothing is compacted")
            }
        }

        /// Expects what the source had in all buckets that a completion covers.
        private func expectRows(of completion: JSONObject, _ source: Source) throws {
            let opID = completion.text("last_op_id") ?? ""
            let expected = try #require(source.history[opID], "seed \(seed): \(opID) is no checkpoint")
            let priority = completion.text("priority").flatMap { Int32($0) }.map { Priority($0) } ?? .complete
            for (bucket, bucketPriority) in priorities where priority.includes(bucketPriority) {
                let isRight = rows[bucket, default: [:]] == expected[bucket, default: [:]]
                #expect(isRight, "seed \(seed), checkpoint \(opID), priority \(priority), bucket \(bucket)")
            }
        }
    }

    @Test(arguments: TestedStorage.durable, (1...6 as ClosedRange<UInt64>).one(in: 2))
    func whatIsCompletedWasCommitted(_ kind: TestedStorage, seed: UInt64) async throws {
        try await SessionScenario.run(Self.config(seed: seed), on: kind) { scenario in
            var random = SeededGenerator(seed: seed)
            var tables: [SourceTable] = []
            for name in Self.tableNames { tables.append(try await scenario.storage.table(name)) }
            var source = Source()
            for (name, table) in zip(Self.tableNames, tables) {
                // Of all tables together, more than what is sent without a look at newer checkpoints.
                let count = SyncSession.StateMachine.uninterruptedOperations / 3 + random.number(below: 200)
                let changes = (0..<count).map { source.write("r\($0)", in: name) }
                _ = try await scenario.storage.writer.save(changes, of: table, mode: .stream)
            }
            source.didCommit(try await scenario.storage.commit())

            var observer = try await scenario.client("u2")
            _ = try await observer.untilComplete()
            var session = try await scenario.client("u1")
            var client = Client(seed: seed)
            try client.take(try await session.next(), source)
            for step in 0..<12 {
                if step == 0 || random.number(below: 2) == 0 {
                    for _ in 0...random.number(below: 2) {
                        let index = random.number(below: tables.count)
                        let name = Self.tableNames[index]
                        var changes = [source.write("new", in: name)]
                        for _ in 0..<(random.number(below: 4) == 0 ? 300 : 3) {
                            let id = "r\(random.number(below: 300))"
                            let isDeleted = random.number(below: 4) == 0
                            changes.append(isDeleted ? source.delete(id, in: name) : source.write(id, in: name))
                        }
                        _ = try await scenario.storage.writer.save(changes, of: tables[index], mode: .stream)
                    }
                    // When the observer has its row, the session of the client has been told, too; it waits with its
                    // next line.
                    try await scenario.insert("other", ["owner": "u2", "step": "\(step)"], into: tables[0])
                    source.didCommit(try await scenario.storage.commit())
                    _ = try await observer.untilComplete()
                }
                for _ in 0...random.number(below: 2) where client.completed != source.newest {
                    try client.take(try await session.next(), source)
                }
            }
            while client.completed != source.newest { try client.take(try await session.next(), source) }
            #expect(client.interruptionCount > 0, "seed \(seed)")
            await session.leave()
            await observer.leave()
        }
    }
}
