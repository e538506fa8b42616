import NIOCore
import PowerSyncProtocol
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// Compaction takes a checkpoint away while a session finds out what to announce (docs/service.md "Sync sessions").
@Suite(.timeLimit(.minutes(1))) struct InvalidatedCheckpointTests {
    private static let config = """
        config: {edition: 3}
        streams:
          todos:
            auto_subscribe: true
            query: SELECT * FROM todos WHERE list IN (SELECT id FROM lists WHERE owner = auth.user_id())
        """
    private static let error = BucketStorageError(.checkpointInvalidated, "It was compacted.")

    /// Writes a list of `u1`, and a todo in it.
    private static func write(_ list: String, to scenario: inout SessionScenario) async throws {
        let lists = try await scenario.storage.table("lists")
        let todos = try await scenario.storage.table("todos")
        try await scenario.insert(list, ["owner": "u1"], into: lists)
        try await scenario.insert("\(list)-1", ["list": list], into: todos)
    }

    /// Records a write checkpoint of `u1` that is visible already, of which another node tells sessions late.
    private static func recordWriteCheckpoint(in scenario: SessionScenario) async throws -> WriteCheckpoint {
        let head = SourcePosition.at(scenario.storage.position)
        let number = try await scenario.storage.storage.createWriteCheckpoint(userKey: "u1", head: head)
        scenario.dispatcher.writeCheckpointsMissed()
        return number
    }

    @Test(arguments: [ReadFault.Read.parameterRows, .checksums])
    func itGetsNoLineAndTheNextLineIsComparedWithTheLastOneThatWasSent(_ read: ReadFault.Read) async throws {
        let fault = ReadFault()
        try await SessionScenario.run(Self.config, view: { fault.view(of: $0) }) { scenario in
            try await Self.write("l1", to: &scenario)
            try await scenario.storage.commit()
            var client = try await scenario.client()
            _ = try await client.untilComplete()

            // Another list: the buckets are looked up, and the checksum of the new one is read.
            fault.fail(read, with: Self.error)
            try await Self.write("l2", to: &scenario)
            try await scenario.storage.commit()
            try await fault.signal.wait(after: 0)
            let todos = try await scenario.storage.table("todos")
            try await scenario.insert("l1-2", ["list": "l1"], into: todos)
            let opID = try await scenario.storage.commit().opID

            let line = try await client.next()
            let diff = try #require(line).object("checkpoint_diff")
            #expect(diff.text("last_op_id") == "\(opID)")
            let updated = diff.objects("updated_buckets").map { $0.text("bucket") ?? "" }.sorted()
            #expect(updated == [#"1#todos|0["l1"]"#, #"1#todos|0["l2"]"#])
            let rest = try await client.untilComplete()
            #expect(rest.count == 3)
            #expect(rest.last == "complete \(opID)")
            await client.leave()
        }
    }

    @Test(arguments: [ReadFault.Read.parameterRows, .checksums])
    func aStreamIsOpenedAtALaterOne(_ read: ReadFault.Read) async throws {
        let fault = ReadFault()
        try await SessionScenario.run(Self.config, view: { fault.view(of: $0) }) { scenario in
            try await Self.write("l1", to: &scenario)
            try await scenario.storage.commit()
            fault.fail(read, with: Self.error)
            let session = try await scenario.session()
            let opening = Task { [session] in
                var session = session
                return try await session.open()
            }
            try await fault.signal.wait(after: 0)
            try await Self.write("l2", to: &scenario)
            let opID = try await scenario.storage.commit().opID
            let line = try #require(try await opening.value)
            #expect(try JSONObject(parsing: line).text("checkpoint", "last_op_id") == "\(opID)")
        }
    }

    @Test(arguments: [ReadFault.Read.parameterRows, .checksums])
    func aWriteCheckpointThatComesBeforeALaterOneIsAnnouncedWithAllThatHasChanged(_ read: ReadFault.Read) async throws {
        let fault = ReadFault()
        try await SessionScenario.run(Self.config, view: { fault.view(of: $0) }) { scenario in
            try await Self.write("l1", to: &scenario)
            try await scenario.storage.commit()
            var client = try await scenario.client()
            _ = try await client.untilComplete()

            fault.fail(read, with: Self.error)
            try await Self.write("l2", to: &scenario)
            let second = try await scenario.storage.commit().opID
            try await fault.signal.wait(after: 0)
            let number = try await Self.recordWriteCheckpoint(in: scenario)
            let lines = try await client.untilComplete()
            try #require(lines.first == #"diff \#(second) write \#(number): 1#todos|0["l2"] ×1 p3 -[]"#)
            #expect(lines.count == 3)
            #expect(lines.last == "complete \(second)")

            // The session is told of what comes later, too.
            let todos = try await scenario.storage.table("todos")
            try await scenario.insert("l2-2", ["list": "l2"], into: todos)
            let third = try await scenario.storage.commit().opID
            #expect(try await client.untilComplete().last == "complete \(third)")
            await client.leave()
        }
    }

    @Test(arguments: [ReadFault.Read.parameterRows, .checksums])
    func writeCheckpointBeforeTheFirstLine(_ read: ReadFault.Read) async throws {
        let fault = ReadFault()
        try await SessionScenario.run(Self.config, view: { fault.view(of: $0) }) { scenario in
            try await Self.write("l1", to: &scenario)
            let opID = try await scenario.storage.commit().opID
            fault.fail(read, with: Self.error)
            let session = try await scenario.session()
            let opening = Task { [session] in
                var session = session
                return try await session.open()
            }
            try await fault.signal.wait(after: 0)
            let number = try await Self.recordWriteCheckpoint(in: scenario)
            let line = try #require(try await opening.value)
            let summary = try JSONObject(parsing: line).summary
            #expect(summary == #"checkpoint \#(opID) write \#(number): 1#todos|0["l1"] ×1 p3"#)
        }
    }
}
