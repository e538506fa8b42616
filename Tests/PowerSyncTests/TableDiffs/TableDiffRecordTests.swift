import PowerSync
import Testing

/// What a handler gets of rows that are JSON for SQLite only.
@Suite(.timeLimit(.minutes(1))) struct TableDiffRecordTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let data: String
        let value: JsonParam

        init(_ testDescription: String, _ data: String, _ value: JsonParam) {
            (self.testDescription, self.data, self.value) = (testDescription, data, value)
        }
    }

    private static let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)

    static let rows = [
        Row("infinite", #"{"name":"a","age":9e999}"#, ["name": .string("a"), "age": .double(.infinity)]),
        Row("half a surrogate pair", #"{"name":"\ud800","age":1}"#, ["name": .string("\u{fffd}"), "age": .int(1)]),
        Row("nested too deeply", "{\"name\":\(deep)}", [:]),
        Row("no object", "[1]", [:]),
    ]

    @Test(arguments: rows)
    func rowThatCannotBeReadAsItIsKeepsNoOtherChangeFromBeingHandedOver(_ row: Row) async throws {
        try await withMemoryDatabase { database in
            var options = TableDiffOptions()
            options.throttle = 0
            let diff = try await database.trackTableDiff(of: "users", options: options)
            try await database.execute(
                sql: "INSERT INTO ps_data__users (id, data) VALUES ('1', ?)",
                parameters: [row.data]
            )
            try await database.execute("UPDATE ps_data__users SET data = '{}'")
            let records = Shared<[TableDiffRecord]>([])
            let handled = Counter()
            let run = Task {
                try await diff.run { changes in
                    defer { handled.increment() }
                    records.value = try changes.records()
                }
            }
            await handled.wait(for: 1)
            try await diff.stop()
            try await run.value
            #expect(records.value.map(\.operation) == [.insert, .update])
            #expect(records.value.first?.value == row.value)
            #expect(records.value.last?.previousValue == row.value)
        }
    }
}
