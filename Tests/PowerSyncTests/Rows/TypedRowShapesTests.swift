import Foundation
import PowerSync
import Testing

/// Rows of types that are more than a list of properties.
@Suite(.timeLimit(.minutes(1))) struct TypedRowShapesTests {
    private func get<Row: Decodable & Sendable>(_ sql: String, as type: Row.Type) async throws -> Row {
        try await withMemoryDatabase { try await $0.get(sql, as: type) }
    }

    private func error<Row: Decodable & Sendable>(_ sql: String, as type: Row.Type) async throws -> TypedRowError? {
        await #expect(throws: TypedRowError.self) { try await get(sql, as: type) }
    }

    struct Address: Codable, Equatable, Sendable {
        struct Place: Codable, Equatable, Sendable {
            var x: Double
            var seen: Date?
        }

        var street: String
        var places: [Place]
    }

    @Test func nestedValuesAndArraysAreJSON() async throws {
        struct Row: Decodable, Equatable, Sendable {
            let address: Address
            let tags: [String]
            let counts: [String: Int]
            let optional: Address?
        }
        let row = try await get(
            """
            SELECT '{"street":"Main","places":[{"x":1},{"x":2.5,"seen":"1970-01-01"}],"more":null}' AS address,
                '["a","b"]' AS tags, '{"n":9007199254740993}' AS counts, NULL AS optional
            """,
            as: Row.self
        )
        let places = [Address.Place(x: 1), Address.Place(x: 2.5, seen: Date(timeIntervalSince1970: 0))]
        #expect(row.address == Address(street: "Main", places: places))
        #expect(row.tags == ["a", "b"])
        #expect(row.counts == ["n": 9_007_199_254_740_993])
        #expect(row.optional == nil)
    }

    @Test func errorsInsideOfJSONTellTheirPlace() async throws {
        struct Row: Decodable, Sendable { let address: Address }
        let wrong = #"SELECT '{"street":"Main","places":[{"x":1},{"x":"far"}]}' AS address"#
        let type = try await error(wrong, as: Row.self)
        #expect(type?.code == .typeMismatch)
        #expect(type?.column == "address")
        #expect(type?.path == ["places", "1", "x"])
        #expect(type?.value == "text 'far'")
        #expect(type?.row == 1)
        let missing = try await error(#"SELECT '{"places":[]}' AS address"#, as: Row.self)
        #expect(missing?.path == ["street"])
        #expect(missing?.column == "address")
        let null = try await error(#"SELECT '{"street":null,"places":[]}' AS address"#, as: Row.self)
        #expect(null?.code == .unexpectedNull)
        #expect(null?.path == ["street"])
        let kind = try await error("SELECT '[]' AS address", as: Row.self)
        #expect(kind?.code == .typeMismatch)
        #expect(kind?.path == [])
        let text = try await error("SELECT '{' AS address", as: Row.self)
        #expect(text?.code == .malformedValue)
        #expect(text?.description.contains("column 'address'") == true)
        #expect(try await error("SELECT x'00' AS address", as: Row.self)?.code == .typeMismatch)
        #expect(try await error("SELECT NULL AS address", as: Row.self)?.code == .unexpectedNull)
        let deep = String(repeating: "[", count: 100_000)
        #expect(try await error("SELECT '\(deep)' AS address", as: Row.self)?.code == .malformedValue)
    }

    class Base: Codable {
        var id: String
        init(id: String) { self.id = id }
    }

    final class Derived: Base, @unchecked Sendable {
        enum CodingKeys: CodingKey { case name }
        let name: String
        let viaSuper: Bool

        init(id: String, name: String) {
            (self.name, viaSuper) = (name, false)
            super.init(id: id)
        }

        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            name = try container.decode(String.self, forKey: .name)
            viaSuper = true
            try super.init(from: container.superDecoder())
        }

        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(name, forKey: .name)
            try super.encode(to: container.superEncoder())
        }
    }

    @Test func aSuperClassReadsAndWritesTheSameRow() async throws {
        let row = try await get("SELECT '1' AS id, 'Ada' AS name", as: Derived.self)
        #expect(row.id == "1")
        #expect(row.name == "Ada")
        try await withMemoryDatabase { database in
            try await database.insert(Derived(id: "2", name: "Bob"), into: "users")
            #expect(try await database.get("SELECT id || name FROM users", as: String.self) == "2Bob")
        }
    }

    @Test func aDictionaryIsEveryColumn() async throws {
        #expect(try await get("SELECT 1 AS a, 2 AS b", as: [String: Int].self) == ["a": 1, "b": 2])
        #expect(try await get("SELECT 1 AS a, NULL AS b", as: [String: Int?].self) == ["a": 1, "b": nil])
        let values = try await get(#"SELECT 1 AS a, '"x"' AS b, NULL AS c"#, as: [String: JsonValue].self)
        #expect(values == ["a": .int(1), "b": .string("x"), "c": .null])
    }

    @Test func columnsWithOneNameAreAmbiguousOnlyForWhoAsks() async throws {
        struct Named: Decodable, Sendable { let name: String }
        struct Row: Decodable, Sendable {
            let id: String?
            let name: String
        }
        let sql = "SELECT 'x' AS id, 'y' AS id, 'Ada' AS name"
        #expect(try await get(sql, as: Named.self).name == "Ada")
        let error = try await error(sql, as: Row.self)
        #expect(error?.code == .ambiguousColumn)
        #expect(error?.column == "id")
        #expect(try await get(sql, as: [String: String].self) == ["name": "Ada"])
    }

    @Test func aRowWithSeveralColumnsIsNotOneValue() async throws {
        let error = try await error("SELECT 1, 2", as: Int.self)
        #expect(error?.code == .unsupported)
        #expect(error?.column == nil)
        #expect(try await self.error("SELECT 1, 2", as: [Int].self)?.code == .unsupported)
        #expect(try await self.error("SELECT 1, 2", as: Date.self)?.code == .unsupported)
    }

    @Test func enumsWithPayloadsAreJSON() async throws {
        enum Event: Codable, Equatable, Sendable { case moved(x: Int), stopped }
        struct Row: Codable, Equatable, Sendable { let event: Event }
        let row = try await get(#"SELECT '{"moved":{"x":3}}' AS event"#, as: Row.self)
        #expect(row == Row(event: .moved(x: 3)))
        #expect(try await error(#"SELECT '{"flown":{}}' AS event"#, as: Row.self)?.column == "event")
    }

    @Test func aTypeMayTryAnotherWayAfterAnError() async throws {
        struct Loose: Decodable, Equatable, Sendable {
            let value: String
            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                do {
                    value = try container.decode(String.self)
                } catch DecodingError.typeMismatch {
                    value = String(try container.decode(Int.self))
                }
            }
        }
        struct Row: Decodable, Sendable { let a: Loose, b: Loose }
        let row = try await get("SELECT 'x' AS a, 5 AS b", as: Row.self)
        #expect(row.a.value == "x")
        #expect(row.b.value == "5")
    }

    @Test func errorsOfTheTypeComeOutUnchanged() async throws {
        struct Refused: Error, Equatable {}
        struct Row: Decodable, Sendable {
            init(from decoder: any Decoder) throws { throw Refused() }
        }
        await #expect(throws: Refused()) { try await get("SELECT 1 AS a", as: Row.self) }
    }

    @Test func aDecoderThatIsKeptHasNoColumnsLater() async throws {
        final class Keeper: Decodable, @unchecked Sendable {
            let decoder: any Decoder
            init(from decoder: any Decoder) throws { self.decoder = decoder }
        }
        try await withMemoryDatabase { database in
            let keeper = try await database.get("SELECT 1 AS a", as: Keeper.self)
            #expect(throws: DecodingError.self) { try keeper.decoder.singleValueContainer().decode(Int.self) }
            #expect(throws: DecodingError.self) { try Base(from: keeper.decoder) }
        }
    }
}
