import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// Write checkpoints that rows of the source tell (docs/service.md "Events").
@Suite(.timeLimit(.minutes(1))) struct CustomWriteCheckpointTests {
    private static let config = """
        config: {edition: 3}
        streams:
          g: {auto_subscribe: true, query: SELECT * FROM test}
        event_definitions:
          write_checkpoints:
            payloads:
              - SELECT user_id, client_id, checkpoint FROM checkpoints
        """

    private static func row(_ id: String, _ user: SQLValue, _ client: SQLValue, _ number: SQLValue) -> SourceChange {
        .update(["id": .text(id), "user_id": user, "client_id": client, "checkpoint": number])
    }

    /// The number that a client is shown at a checkpoint.
    private func number(
        _ scenario: StorageScenario,
        _ user: String = "u",
        _ client: String = "c",
        at checkpoint: StorageCheckpoint? = nil
    ) async throws -> Int64? {
        let plan = try #require(try await scenario.storage.activeStream()).plan
        return try await scenario.storage.writeCheckpoint(
            plan.writeCheckpointLookups(userID: user, clientID: client),
            at: try checkpoint ?? scenario.checkpoint
        )?.rawValue
    }

    @Test(arguments: TestedStorage.all)
    func aNumberIsShownFromTheCheckpointOfItsTransactionOn(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        let table = try await scenario.table("checkpoints")
        try await scenario.save(Self.row("1", "u", "c", 5), of: table)
        try await scenario.writer.flush()
        // It is stored, and no checkpoint has it.
        #expect(try await number(scenario) == nil)
        let first = try await scenario.commit()
        #expect(try await number(scenario) == 5)
        try await scenario.save(Self.row("1", "u", "c", 6), of: table)
        let second = try await scenario.commit()
        #expect(try await number(scenario, at: first) == 5)
        #expect(try await number(scenario, at: second) == 6)
        #expect(try await number(scenario, "u", "d") == nil)
        #expect(try await number(scenario, "v", "c") == nil)
    }

    @Test(arguments: TestedStorage.all)
    func aNumberStaysWhateverBecomesOfItsRow(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        var table = try await scenario.table("checkpoints")
        // The last of several rows, in one batch and in two.
        try await scenario.save(
            Self.row("1", "u", "c", 5),
            Self.row("2", "u", "c", 9),
            Self.row("3", "u", "c", 7),
            Self.row("4", 8, "c", 1),
            of: table
        )
        try await scenario.commit()
        #expect(try await number(scenario) == 9)
        try await scenario.save(Self.row("1", "u", "c", 6), .delete(key: ["2"]), of: table)
        try await scenario.commit()
        #expect(try await number(scenario) == 9)
        #expect(try await number(scenario, "8", "c") == 1)
        if kind != .inMemory {
            try await scenario.reopen()
            table = try await scenario.table("checkpoints")
            #expect(try await number(scenario) == 9)
        }
        try await scenario.writer.truncate(table) {}
        try await scenario.commit()
        #expect(try await number(scenario) == 9)
        try await scenario.writer.drop(table) {}
        try await scenario.commit()
        table = try await scenario.table("checkpoints")
        try await scenario.save(Self.row("1", "u", "c", 8), of: table, mode: .snapshot)
        try await scenario.commit()
        #expect(try await number(scenario) == 9)
        try await scenario.save(Self.row("1", "u", "c", 10), of: table, mode: .snapshot)
        try await scenario.commit()
        #expect(try await number(scenario) == 10)
    }

    @Test(arguments: TestedStorage.durable)
    func compactionKeepsTheNumbersAndTakesAwayWhatTheyReplaced(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        let table = try await scenario.table("checkpoints")
        for number in 1...20 {
            try await scenario.save(Self.row("1", "u", "c", .integer(Int64(number))), of: table)
            try await scenario.commit()
        }
        _ = try await scenario.storage.compact()
        #expect(try await number(scenario) == 20)
        #expect(try await scenario.rowCount("parameter_entries") == 1)
    }

    @Test(arguments: TestedStorage.distinct)
    func aRowWithoutAUsableValueIsOneWarningAndReleasesNothing(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        let table = try await scenario.table("checkpoints")
        let collected = CollectedLog()
        let log = RejectionLog(logger: collected.logger, statistics: ReplicationStatistics())
        log.report(
            try await scenario.save(
                Self.row("bad", .null, .null, .null),
                Self.row("text", "u", "c", "9"),
                Self.row("good", "u", "c", 3),
                of: table
            )
        )
        try await scenario.commit()
        #expect(try await number(scenario) == 3)
        #expect(collected.lines.count == 2)
        for (line, id) in zip(collected.lines, ["bad", "text"]) {
            #expect(line.hasPrefix("warning A row cannot be evaluated"))
            #expect(line.contains("table=main.checkpoints") && line.contains("row_key=id=\"\(id)\""), "\(line)")
            #expect(line.contains("target=event write_checkpoints"))
        }
    }

    @Test(arguments: TestedStorage.all)
    func aSessionIsWokenByItsOwnNumbersWithTheRowsOfTheTransaction(_ kind: TestedStorage) async throws {
        try await SessionScenario.run(Self.config, on: kind) { scenario in
            let test = try await scenario.storage.table("test")
            let table = try await scenario.storage.table("checkpoints")
            var client = try await scenario.client("u", clientID: "c")
            var other = try await scenario.client("u", clientID: "d")
            _ = try await client.untilComplete()
            _ = try await other.untilComplete()
            // A number of a client that is not there, and one of this client without rows.
            try await scenario.storage.save(Self.row("1", "x", "y", 1), of: table)
            try await scenario.storage.commit()
            try await scenario.storage.save(Self.row("2", "u", "c", 4), of: table)
            try await scenario.storage.commit()
            #expect(try await client.untilComplete() == ["diff 2 write 4:  -[]", "complete 2"])
            // With rows: in the line of the checkpoint that has both.
            try await scenario.storage.save(Self.row("2", "u", "c", 5), of: table)
            try await scenario.insert("t1", into: test)
            try await scenario.storage.commit()
            let lines = try await client.untilComplete()
            #expect(lines.first?.hasPrefix("diff 4 write 5: ") == true, "\(lines)")
            // The other client hears of the rows alone.
            let others = try await other.untilComplete()
            #expect(others.first?.hasPrefix("diff 4: ") == true, "\(others)")
            // And a new stream is told with its first line.
            var again = try await scenario.client("u", clientID: "c")
            #expect(try await again.summary()?.hasPrefix("checkpoint 4 write 5: ") == true)
            await client.leave()
            await other.leave()
            await again.leave()
        }
    }

    @Test(arguments: TestedStorage.distinct)
    func theServiceMakesNoNumbersBesideThoseOfRows(_ kind: TestedStorage) async throws {
        let scenario = try await StorageScenario(Self.config, on: kind)
        // Recorded before the event was deployed.
        _ = try await scenario.storage.createWriteCheckpoint(userKey: "u/c", head: .at(0))
        #expect(try await number(scenario) == nil)
        let issuer = WriteCheckpointIssuer(storage: scenario.storage, source: ModelSource())
        await #expect(throws: ManagedWriteCheckpointError.self) { try await issuer.create(userKey: "u/c") }
        await #expect(throws: ManagedWriteCheckpointError.self) {
            try await issuer.request(WriteCheckpoint(5), userKey: "u/c")
        }
    }
}
