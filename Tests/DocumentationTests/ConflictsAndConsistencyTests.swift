import PowerSync
import Testing

/// What the page "Conflicts and consistency" says that the backend gets.
@Suite(.timeLimit(.minutes(1))) struct ConflictsAndConsistencyTests {
    @Test func aWriteHasWhatTheUserHadSeen() async throws {
        let database = PowerSyncDatabase(inMemory: Schema(tellTheBackendMore()), logger: DefaultLogger(writers: [])) {
            seed in
            try seed.execute(sql: "INSERT INTO todos (id, title, estimate) VALUES ('1', 'Paint', 5)", parameters: [])
        }
        try await writeWithMetadata(database, id: "1")
        let transaction = try #require(try await database.getNextCrudTransaction())
        let write = try #require(transaction.crud.first)
        #expect(write.op == .patch)
        #expect(write.opDataTyped == ["estimate": .int(8)])
        #expect(write.previousValuesTyped == ["estimate": .int(5)])
        #expect(write.metadata == "by hand")
        try await database.close()
    }
}
