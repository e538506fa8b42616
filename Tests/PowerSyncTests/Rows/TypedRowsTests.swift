import Foundation
import PowerSync
import Testing

/// Reading rows as types.
@Suite(.timeLimit(.minutes(1))) struct TypedRowsTests {
    struct Task: Codable, Equatable, Sendable {
        enum CodingKeys: String, CodingKey {
            case id, title
            case user = "user_id"
            case isDone = "done"
        }

        var id: String
        var title: String
        var user: String?
        var isDone: Bool
    }

    private func withTasks(_ body: (any PowerSyncDatabaseProtocol) async throws -> Void) async throws {
        try await withMemoryDatabase { database in
            try await database.execute(
                "INSERT INTO tasks (id, user_id, title, done) VALUES ('a', 'u', 'Read', 0), ('b', NULL, 'Write', 1)"
            )
            try await body(database)
        }
    }

    private let tasks = [
        Task(id: "a", title: "Read", user: "u", isDone: false),
        Task(id: "b", title: "Write", user: nil, isDone: true),
    ]

    @Test func rowsAreReadByTheNamesOfTheirColumns() async throws {
        try await withTasks { database in
            let all = try await database.getAll("SELECT * FROM tasks ORDER BY id", as: Task.self)
            #expect(all == tasks)
            let byID = "SELECT done, user_id, title, id FROM tasks WHERE id = ?"
            #expect(try await database.get(sql: byID, parameters: ["b"], as: Task.self) == tasks[1])
            #expect(try await database.getOptional(sql: byID, parameters: ["b"], as: Task.self) == tasks[1])
            #expect(try await database.getOptional(sql: byID, parameters: ["c"], as: Task.self) == nil)
            #expect(try await database.getOptional("SELECT * FROM tasks WHERE 0", as: Task.self) == nil)
            #expect(try await database.get("SELECT * FROM tasks ORDER BY id", as: Task.self) == tasks[0])
            await #expect(throws: PowerSyncError.self) {
                try await database.get(sql: byID, parameters: ["c"], as: Task.self)
            }
        }
    }

    @Test func transactionsReadTypedRows() async throws {
        try await withTasks { database in
            let read = try await database.readTransaction { transaction in
                (
                    try transaction.get(sql: "SELECT * FROM tasks ORDER BY id", as: Task.self),
                    try transaction.getOptional(
                        sql: "SELECT * FROM tasks WHERE id = ?",
                        parameters: ["x"],
                        as: Task.self
                    ),
                    try transaction.getAll(sql: "SELECT * FROM tasks ORDER BY id", as: Task.self)
                )
            }
            #expect(read.0 == tasks[0])
            #expect(read.1 == nil)
            #expect(read.2 == tasks)
        }
    }

    @Test func watchesGiveTypedRows() async throws {
        try await withTasks { database in
            let sql = "SELECT * FROM tasks ORDER BY id"
            var all = try database.watch(sql, as: Task.self).makeAsyncIterator()
            #expect(try await all.next() == tasks)
            var done = try database.watch(sql: "SELECT * FROM tasks WHERE done = ?", parameters: [1], as: Task.self)
                .makeAsyncIterator()
            #expect(try await done.next() == [tasks[1]])
            try await database.execute("UPDATE tasks SET done = 1")
            while let tasks = try await done.next(), tasks.count < 2 {}
            let options = WatchOptions(sql: sql, throttle: 0, as: Task.self)
            var distinct = try database.watchDistinct(options: options).makeAsyncIterator()
            #expect(try await distinct.next()?.map(\.isDone) == [true, true])
        }
    }

    @Test func mappersDecodeRowsThemselves() async throws {
        struct Person: Decodable { let name: String }
        try await withTasks { database in
            try await database.insertUser("Ada", id: "u")
            let pairs = try await database.getAll(
                "SELECT tasks.*, users.name FROM tasks JOIN users ON users.id = tasks.user_id"
            ) { try ($0.decode(Task.self), $0.decode(Person.self).name) }
            #expect(pairs.map(\.0) == [tasks[0]])
            #expect(pairs.map(\.1) == ["Ada"])
        }
    }

    @Test func aRowWithOneColumnIsOneValue() async throws {
        enum Kind: String, Codable { case small, large }
        struct Name: RawRepresentable, Codable, Equatable { let rawValue: String }
        let date = Date(timeIntervalSince1970: 1_700_000_000.25)
        let id = UUID()
        try await withTasks { database in
            let count = try await database.get("SELECT count(*) FROM tasks", as: Int.self)
            #expect(count == 2)
            #expect(
                try await database.getAll("SELECT title FROM tasks ORDER BY id", as: String.self) == ["Read", "Write"]
            )
            #expect(try await database.getAll("SELECT user_id FROM tasks ORDER BY id", as: String?.self) == ["u", nil])
            #expect(try await database.get("SELECT 'large'", as: Kind.self) == .large)
            #expect(try await database.get("SELECT 'x'", as: Name.self) == Name(rawValue: "x"))
            #expect(try await database.get("SELECT '2023-11-14 22:13:20.25'", as: Date.self) == date)
            #expect(try await database.get(sql: "SELECT ?", parameters: [id], as: UUID.self) == id)
            #expect(try await database.get("SELECT x'0102'", as: Data.self) == Data([1, 2]))
            #expect(try await database.get("SELECT '[1, 2]'", as: [Int].self) == [1, 2])
            #expect(try await database.get("SELECT NULL", as: Date?.self) == nil)
            #expect(try await database.get("SELECT 1700000000.25", as: Date?.self) == date)
        }
    }

    @Test func everyKindOfValueIsRead() async throws {
        enum Level: Int, Codable { case low = 1, high = 2 }
        struct Values: Decodable {
            let text: String
            let int: Int
            let small: Int8
            let unsigned: UInt64
            let wide: Int64
            let double: Double
            let whole: Double
            let float: Float
            let fromReal: Int
            let yes: Bool
            let level: Level
            let date: Date
            let unix: Date
            let uuid: UUID
            let base64: Data
            let blob: Data
            let url: URL
            let price: Decimal
            let cents: Decimal
            let json: JsonValue
            let absent: String?
            let null: Date?
        }
        try await withMemoryDatabase { database in
            let values = try await database.get(
                """
                SELECT 'é' AS text, 7 AS int, -128 AS small, 9223372036854775807 AS unsigned,
                    -9223372036854775808 AS wide, 0.1 AS double, 4 AS whole, 0.1 AS float, 3.0 AS fromReal, 1 AS yes,
                    2 AS level, '2026-11-22T18:44:46.5+01:00' AS date, 1700000000 AS unix,
                    '0f8fad5b-D9CB-469f-a165-70867728950e' AS uuid, 'AQI=' AS base64, x'0102' AS blob,
                    'https://example.org/a?b=c' AS url, '12.500000000000000000001' AS price, 0.1 AS cents,
                    '{"a": [1, null, "x"]}' AS json, NULL AS "null", 'unused' AS more
                """,
                as: Values.self
            )
            #expect(values.text == "é")
            #expect(values.int == 7)
            #expect(values.small == -128)
            #expect(values.unsigned == UInt64(Int64.max))
            #expect(values.wide == Int64.min)
            #expect(values.double == 0.1)
            #expect(values.whole == 4)
            #expect(values.float == 0.1)
            #expect(values.fromReal == 3)
            #expect(values.yes)
            #expect(values.level == .high)
            #expect(values.date == Date(timeIntervalSince1970: 1_795_369_486.5))
            #expect(values.unix == Date(timeIntervalSince1970: 1_700_000_000))
            #expect(values.uuid == UUID(uuidString: "0F8FAD5B-D9CB-469F-A165-70867728950E"))
            #expect(values.base64 == Data([1, 2]))
            #expect(values.blob == Data([1, 2]))
            #expect(values.url.absoluteString == "https://example.org/a?b=c")
            #expect(values.price == Decimal(string: "12.500000000000000000001"))
            #expect(values.cents == Decimal(string: "0.1"))
            #expect(values.json == .object(["a": .array([.int(1), .null, .string("x")])]))
            #expect(values.absent == nil)
            #expect(values.null == nil)
        }
    }

    @Test func columnsMayHaveSnakeCaseNamesAndOtherDates() async throws {
        struct Row: Codable, Equatable {
            let listID: String
            let myURLString2: String
            let createdAt: Date
        }
        try await withMemoryDatabase { database in
            let row = try await database.get(
                "SELECT 'l' AS list_id, 'u' AS my_url_string2, 1500 AS created_at",
                as: Row.self,
                format: RowFormat(keys: .snakeCase, dates: .unixMilliseconds)
            )
            #expect(row == Row(listID: "l", myURLString2: "u", createdAt: Date(timeIntervalSince1970: 1.5)))
        }
    }

    @Test func poolsAndFakesOfAppsGiveTypedRowsToo() async throws {
        struct Person: Decodable, Equatable, Sendable {
            let name: String
            let age: Int?
            let score: Double?
        }
        let row = MockRow(values: [("name", "Ada"), ("age", "36"), ("score", nil)])
        let database = MockDatabase(rows: [row])
        let person = Person(name: "Ada", age: 36, score: nil)
        #expect(try await database.getAll("SELECT * FROM users", as: Person.self) == [person])
        #expect(try await WrappingDatabase(inner: database).get("SELECT * FROM users", as: Person.self) == person)
        let error = await #expect(throws: TypedRowError.self) {
            try await database.get("SELECT * FROM users", as: [String: Int].self)
        }
        #expect(error?.code == .typeMismatch)
        #expect(error?.column == "name")
        #expect(error?.sql == "SELECT * FROM users")
    }
}
