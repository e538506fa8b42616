import Foundation
@testable import PowerSyncClient
import Testing

/// Writing values as rows.
@Suite(.timeLimit(.minutes(1))) struct TypedWritesTests {
    struct User: Codable, Equatable, Sendable {
        var id: String
        var name: String?
        var email: String?
        var age: Int?
        var score: Double?
    }

    struct Name: Encodable, Sendable {
        var id: String
        var name: String
    }

    private let ada = User(id: "1", name: "Ada", email: "ada@example.org", age: 36, score: 1.5)

    private func users(_ database: any PowerSyncDatabaseProtocol) async throws -> [User] {
        try await database.getAll("SELECT * FROM users ORDER BY id", as: User.self)
    }

    private struct Upload: Decodable, Equatable {
        let op: String
        let data: [String: JsonValue]?
    }

    private func uploads(_ database: any PowerSyncDatabaseProtocol) async throws -> [Upload] {
        try await database.getAll(
            "SELECT json_extract(data, '$.op') AS op, json_extract(data, '$.data') AS data FROM ps_crud ORDER BY id",
            as: Upload.self
        )
    }

    @Test func valuesAreInsertedUpdatedAndDeleted() async throws {
        try await withMemoryDatabase { database in
            try await database.insert(ada, into: "users")
            #expect(try await users(database) == [ada])
            var older = ada
            older.age = 37
            older.email = nil
            try await database.update(older, in: "users")
            #expect(try await users(database) == [older])
            #expect(try await database.delete(older, from: "users"))
            #expect(try await database.delete(older, from: "users") == false)
            #expect(try await users(database) == [])
        }
    }

    @Test func anUpdateUploadsWhatHasChangedAndNilIsNull() async throws {
        try await withMemoryDatabase { database in
            try await database.insert(ada, into: "users")
            try await database.execute("DELETE FROM ps_crud")
            var older = ada
            older.age = 37
            older.email = nil
            try await database.update(older, in: "users")
            let changes: [String: JsonValue] = ["email": .null, "age": .int(37)]
            #expect(try await uploads(database) == [Upload(op: "PATCH", data: changes)])
        }
    }

    @Test func anUpsertKeepsTheColumnsThatTheValueDoesNotHave() async throws {
        try await withMemoryDatabase { database in
            try await database.upsert(ada, into: "users")
            try await database.upsert(Name(id: "1", name: "Abe"), into: "users")
            try await database.upsert(Name(id: "2", name: "Bob"), into: "users")
            var abe = ada
            abe.name = "Abe"
            #expect(try await users(database) == [abe, User(id: "2", name: "Bob")])
            let uploads = try await uploads(database)
            #expect(uploads.map(\.op) == ["PUT", "PATCH", "PUT"])
            #expect(uploads[1].data == ["name": .string("Abe")])
        }
    }

    @Test func aTransactionHasAllOfThemOrNone() async throws {
        try await withMemoryDatabase { [ada] database in
            let error = await #expect(throws: TypedRowError.self) {
                try await database.writeTransaction { transaction in
                    try transaction.insert(ada, into: "users")
                    try transaction.upsert(Name(id: "2", name: "Bob"), into: "users")
                    try transaction.delete(ada, from: "users")
                    try transaction.update(Name(id: "3", name: "Cyd"), in: "users")
                }
            }
            #expect(error?.code == .rowNotFound)
            #expect(error?.table == "users")
            #expect(error?.column == "id")
            let left = try await users(database)
            #expect(left == [])
            #expect(try await database.count("ps_crud") == 0)
        }
    }

    @Test func anotherColumnMayBeTheKey() async throws {
        struct Price: Codable, Equatable, Sendable {
            var code: Int
            var amount: Decimal
        }
        try await withMemoryDatabase { database in
            try await database.execute("CREATE TABLE prices (code INTEGER PRIMARY KEY, amount TEXT)")
            try await database.upsert(Price(code: 1, amount: 1), into: "prices", key: "code")
            try await database.upsert(Price(code: 1, amount: 2.5), into: "prices", key: "code")
            #expect(try await database.getAll("SELECT * FROM prices", as: Price.self) == [Price(code: 1, amount: 2.5)])
            #expect(try await database.delete(["code": 1], from: "prices", key: "code"))
            await #expect(throws: PowerSyncError.self) {
                try await database.delete(["nothing": "code"], from: "prices", key: "nothing")
            }
        }
    }

    @Test func namesAreQuoted() async throws {
        let schema = Schema(
            Table(name: "odd \"table\"; --", columns: [.text("a, b; --"), .text("select"), .text("é'")])
        )
        let row = ["id": "1", "a, b; --": "x", "select": "y", "é'": "z"]
        try await withMemoryDatabase(schema) { database in
            let table = "odd \"table\"; --"
            try await database.insert(row, into: table)
            try await database.update(row.merging(["select": "w"]) { $1 }, in: table)
            try await database.upsert(row.merging(["select": "v"]) { $1 }, into: table)
            let all = try await database.getAll("SELECT * FROM \"odd \"\"table\"\"; --\"", as: [String: String].self)
            #expect(all == [row.merging(["select": "v"]) { $1 }])
            #expect(try await database.delete(row, from: table))
            for name in ["", "a\0b"] {
                await #expect(throws: PowerSyncError.self) { try await database.insert(row, into: name) }
                await #expect(throws: PowerSyncError.self) {
                    try await database.insert(["id": "1", name: "x"], into: table)
                }
            }
            #expect(try await database.count("ps_crud") == 4)
        }
    }

    @Test func valuesAreWrittenAsTheyAreRead() async throws {
        struct Inner: Codable, Equatable, Sendable {
            var date: Date
            var id: UUID
            var data: Data
            var list: [Int?]
        }
        enum Level: String, Codable { case low, high }
        struct Row: Codable, Equatable, Sendable {
            var id: UUID
            var inner: Inner
            var level: Level
            var price: Decimal
            var url: URL
            var data: Data
            var any: JsonValue
            var text: JsonValue
            var none: JsonValue
            var flags: [String: Bool]
            var wide: Int64
            var float: Float
            var empty: [Int]
        }
        let date = Date(timeIntervalSince1970: 1_700_000_000.5)
        let row = Row(
            id: UUID(),
            inner: Inner(date: date, id: UUID(), data: Data([0, 255]), list: [1, nil]),
            level: .high,
            price: try #require(Decimal(string: "12345678901234567890.123456789")),
            url: try #require(URL(string: "https://example.org/ä")),
            data: Data([1, 2]),
            any: .object(["a": .double(0.5)]),
            text: .string("5"),
            none: .null,
            flags: ["yes": true],
            wide: .max,
            float: 0.1,
            empty: []
        )
        let columns: [Column] =
            ["inner", "level", "price", "url", "data", "any", "text", "none", "flags", "empty"]
            .map { .text($0) } + [.integer("wide"), .real("float")]
        try await withMemoryDatabase(Schema(Table(name: "rows", columns: columns, ignoreEmptyUpdates: true))) {
            database in
            // Dates of this process have a conversion of their own, which has no fraction.
            try await database.insert(row, into: "rows")
            var read = try await database.get("SELECT * FROM rows", as: Row.self)
            #expect(read.inner.date == Date(timeIntervalSince1970: 1_700_000_000))
            read.inner.date = date
            #expect(read == row)
            let stored = try await database.get(
                "SELECT id, price, data, json_extract(inner, '$.id') AS inner_id, none, flags FROM rows",
                as: [String: String?].self
            )
            #expect(stored["id"] == row.id.uuidString.lowercased())
            #expect(stored["price"] == "12345678901234567890.123456789")
            #expect(stored["data"] == "AQI=")
            #expect(stored["inner_id"] == row.inner.id.uuidString.lowercased())
            #expect(stored["none"] == .some(nil))
            #expect(stored["flags"] == #"{"yes":true}"#)
            try await database.execute("DELETE FROM ps_crud")
            try await database.update(read, in: "rows")
            #expect(try await database.count("ps_crud") == 0)
        }
    }

    struct BadCase: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let code: TypedRowError.Code
        let column: String?
        let write: @Sendable (any PowerSyncDatabaseProtocol) async throws -> Void

        init(_ name: String, _ code: TypedRowError.Code, column: String?, _ row: some Encodable & Sendable) {
            (testDescription, self.code, self.column) = (name, code, column)
            write = { try await $0.insert(row, into: "users") }
        }
    }

    static let badCases = [
        BadCase("too wide", .outOfRange, column: "age", ["age": UInt64.max]),
        BadCase("NaN", .outOfRange, column: "score", ["score": Double.nan]),
        BadCase("NaN of Float", .outOfRange, column: "score", ["score": Float.nan]),
        BadCase("NaN of Decimal", .outOfRange, column: "score", ["score": Decimal.nan]),
        BadCase("infinity in JSON", .outOfRange, column: "name", ["name": [1, Double.infinity]]),
        BadCase("too wide in JSON", .outOfRange, column: "name", ["name": [UInt64.max]]),
        BadCase("one value", .unsupported, column: nil, 5),
        BadCase("an array", .unsupported, column: nil, [5]),
        BadCase("nothing", .unsupported, column: nil, [String: String]()),
    ]

    @Test(arguments: badCases)
    func whatNoColumnCanHoldIsRefused(_ test: BadCase) async throws {
        try await withMemoryDatabase { database in
            let error = await #expect(throws: TypedRowError.self) { try await test.write(database) }
            #expect(error?.code == test.code)
            #expect(error?.table == "users")
            #expect(error?.column == test.column)
            #expect(error?.description.contains("(table 'users')") == true)
            let count = try await database.count("users")
            #expect(count == 0)
        }
    }

    @Test func aRowWithoutKeyIsRefusedByName() async throws {
        try await withMemoryDatabase { database in
            for row in [["name": "x"], ["id": nil, "name": "x"]] as [[String: String?]] {
                let update = await #expect(throws: TypedRowError.self) { try await database.update(row, in: "users") }
                #expect(update?.code == .missingKey)
                await #expect(throws: TypedRowError.self) { try await database.upsert(row, into: "users") }
                await #expect(throws: TypedRowError.self) { try await database.delete(row, from: "users") }
                await #expect(throws: PowerSyncError.self) { try await database.insert(row, into: "users") }
            }
            let queued = try await database.count("ps_crud")
            #expect(queued == 0)
        }
    }

    @Test func aDeletionLooksAtTheKeyOnly() async throws {
        struct Measure: Encodable, Sendable {
            var id = "1"
            var score = Double.nan
        }
        try await withMemoryDatabase { [ada] database in
            try await database.insert(ada, into: "users")
            #expect(try await database.delete(Measure(), from: "users"))
        }
    }

    @Test func namesMayBeSnakeCase() async throws {
        struct Task: Codable, Equatable, Sendable {
            var id: String
            var userID: String
            var title: String?
        }
        let format = RowFormat(keys: .snakeCase)
        let task = Task(id: "1", userID: "u")
        try await withMemoryDatabase { database in
            try await database.insert(task, into: "tasks", format: format)
            try await database.update(task, in: "tasks", format: format)
            #expect(
                try await database.getAll("SELECT id, user_id, title FROM tasks", as: Task.self, format: format) == [
                    task
                ]
            )
            let error = await #expect(throws: PowerSyncError.self) { try await database.insert(task, into: "tasks") }
            #expect(error?.localizedDescription.contains("userID") == true)
        }
    }

    @Test(arguments: [
        (RowFormat.Dates.iso8601, PowerSyncDataType.string("2023-11-14T22:13:20.125000Z")),
        (.unixSeconds, .double(1_700_000_000.125)), (.unixMilliseconds, .int64(1_700_000_000_125)),
    ])
    func datesAreWrittenAsTheFormatSays(_ dates: RowFormat.Dates, _ expected: PowerSyncDataType) throws {
        let date = Date(timeIntervalSince1970: 1_700_000_000.125)
        let value = EncodedValue.json(try EncodedValue.date(date, RowFormat(dates: dates))).column
        #expect(QueryParameters([value]) == QueryParameters([expected]))
        for date in [Date(timeIntervalSince1970: .nan), Date(timeIntervalSince1970: .infinity)] {
            #expect(throws: StoredValue.Mismatch.self) { try EncodedValue.date(date, RowFormat(dates: dates)) }
        }
    }

    @Test(
        arguments: [
            (.unixSeconds, 1_700_000_000, .int64(1_700_000_000)), (.unixMilliseconds, 1.0016, .int64(1_002)),
            (.unixMilliseconds, -1.0016, .int64(-1_002)),
        ] as [(RowFormat.Dates, TimeInterval, PowerSyncDataType)]
    )
    func secondsHaveAFractionOnlyIfThereIsOneAndMillisecondsAreTheNearestOnes(
        _ dates: RowFormat.Dates,
        _ seconds: TimeInterval,
        _ expected: PowerSyncDataType
    ) throws {
        let date = Date(timeIntervalSince1970: seconds)
        let value = EncodedValue.json(try EncodedValue.date(date, RowFormat(dates: dates))).column
        #expect(QueryParameters([value]) == QueryParameters([expected]))
    }
}
