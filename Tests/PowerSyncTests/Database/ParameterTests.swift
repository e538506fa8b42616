import Foundation
import PowerSync
import Testing

private struct Color: PowerSyncDataTypeConvertible, Sendable {
    let name: String?
    var psDataType: PowerSyncDataType? { name.map { .string($0) } }
}

@Suite struct ParameterTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let parameter: (any Sendable)?
        let type: String
        let text: String?

        init(_ name: String, _ parameter: (any Sendable)?, _ type: String, _ text: String?) {
            testDescription = name
            self.parameter = parameter
            self.type = type
            self.text = text
        }
    }

    static let id = UUID()
    static let cases = [
        Case("nil", nil, "null", nil),
        Case("true", true, "integer", "1"),
        Case("false", false, "integer", "0"),
        Case("Int", 42, "integer", "42"),
        Case("Int32", Int32.min, "integer", "-2147483648"),
        Case("Int64", Int64.max, "integer", "9223372036854775807"),
        Case("UInt8", UInt8(200), "integer", "200"),
        Case("Double", 1.5, "real", "1.5"),
        Case("Float", Float(0.25), "real", "0.25"),
        Case("empty String", "", "text", ""),
        Case("NUL and emoji", "a\u{0}b😀", "text", "a\u{0}b😀"),
        Case("empty Data", Data(), "blob", ""),
        Case("Data", Data([0x61, 0x62]), "blob", "ab"),
        Case("convertible", Color(name: "red"), "text", "red"),
        Case("convertible to NULL", Color(name: nil), "null", nil),
        Case("nested nil", Optional<String?>.some(.none), "null", nil),
        Case("nested value", Optional<Int?>.some(.some(5)), "integer", "5"),
        Case("PowerSyncDataType", PowerSyncDataType.int32(3), "integer", "3"),
        Case("the app's own conformance", id, "text", id.uuidString.lowercased()),
    ]

    @Test(arguments: cases)
    func parameterIsBound(_ example: Case) async throws {
        try await withMemoryDatabase(Schema()) { database in
            let (type, text) = try await database.get(
                sql: "SELECT typeof(?1), ?1",
                parameters: [example.parameter]
            ) { cursor in (try cursor.getString(index: 0), cursor.getStringOptional(index: 1)) }
            #expect(type == example.type)
            #expect(text == example.text)
        }
    }

    @Test(
        arguments: [
            (ParameterList(["a", "b \"\\é\n"]), ["a", "b \"\\é\n"]), (ParameterList([String]()), []),
            (ParameterList([1, 3]), ["1"]),
            (ParameterList([UUID(uuidString: "6BA7B810-9DAD-11D1-80B4-00C04FD430C8")].compactMap(\.self)), ["uuid"]),
        ]
    )
    func listIsOneParameterForIN(_ list: ParameterList, _ found: [String]) async throws {
        try await withMemoryDatabase { database async throws in
            for (id, name) in [
                ("a", "x"), ("b \"\\é\n", "x"), ("1", "1"), ("uuid", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
            ] {
                try await database.execute(sql: "INSERT INTO users (id, name) VALUES (?, ?)", parameters: [id, name])
            }
            let ids = try await database.getAll(
                sql: """
                    SELECT id FROM users WHERE id IN (SELECT value FROM json_each(?1))
                        OR name IN (SELECT CAST(value AS TEXT) FROM json_each(?1)) ORDER BY id
                    """,
                parameters: [list]
            ) { try $0.getString(index: 0) }
            #expect(ids == found)
        }
    }

    static let unsupported: [Case] = [
        Case("a type without conformance", DateComponents(), "", nil),
        Case("array", [1, 2], "", nil),
        Case("too large", UInt64.max, "", nil),
    ]

    @Test(arguments: unsupported)
    func otherTypesAreRefusedBeforeAnythingRuns(_ example: Case) async throws {
        try await withMemoryDatabase { database async throws in
            let error = await #expect(throws: PowerSyncError.self) {
                try await database.execute(
                    sql: "INSERT INTO users (id, name) VALUES ('1', ?)",
                    parameters: [example.parameter]
                )
            }
            guard case .operationFailed = error else {
                Issue.record("unexpected error \(String(describing: error))")
                return
            }
            #expect(try await database.count("users") == 0)
        }
    }

    struct Count: CustomTestStringConvertible {
        let sql: String
        let parameters: [(any Sendable)?]?
        let words: String
        var testDescription: String { "\(parameters?.count ?? -1) for \(sql)" }
    }

    static let counts = [
        Count(sql: "SELECT ?, ?", parameters: ["a"], words: "has 2 parameters, and 1 value is given"),
        Count(sql: "SELECT ?, ?", parameters: nil, words: "has 2 parameters, and 0 values are given"),
        Count(sql: "SELECT ?", parameters: [], words: "has 1 parameter, and 0 values are given"),
        Count(sql: "SELECT ?", parameters: [1, 2], words: "has 1 parameter, and 2 values are given"),
        Count(sql: "SELECT 1", parameters: [nil], words: "has 0 parameters, and 1 value is given"),
        Count(sql: "SELECT ?3", parameters: [1], words: "has 3 parameters, and 1 value is given"),
        Count(sql: "SELECT :a, :b, :a", parameters: [1], words: "has 2 parameters, and 1 value is given"),
    ]

    @Test(arguments: counts)
    func tooFewOrTooManyValuesAreAnErrorThatCountsThem(_ example: Count) async throws {
        try await withMemoryDatabase { database in
            func expectRangeError(_ body: () async throws -> Void) async throws {
                let error = await #expect(throws: PowerSyncError.self) { try await body() }
                guard case .sqliteError(25, _, let message?, _, let sql?) = error else {
                    Issue.record("unexpected error \(String(describing: error))")
                    return
                }
                #expect(message.contains(example.words), "\(message)")
                #expect(sql == example.sql)
            }
            try await expectRangeError { try await database.execute(sql: example.sql, parameters: example.parameters) }
            try await expectRangeError {
                _ = try await database.getAll(sql: example.sql, parameters: example.parameters) { _ in 0 }
            }
            try await expectRangeError {
                for try await _ in try database.watch(
                    sql: example.sql,
                    parameters: example.parameters,
                    mapper: { _ in 0 }
                ) {}
            }
        }
    }

    @Test func parametersThatAreUsedTwiceCountOnce() async throws {
        try await withMemoryDatabase { database in
            let sum = try await database.get(sql: "SELECT ?1 + ?2 + ?1", parameters: [1, 2]) { try $0.getInt(index: 0) }
            #expect(sum == 4)
        }
    }

    @Test
    func blobsCanBeReadByIndexAndByName() async throws {
        try await withMemoryDatabase { database in
            let bytes = Data([0, 1, 255])
            try await database.get(sql: "SELECT ? AS a, ? AS b, NULL AS c", parameters: [bytes, Data()]) {
                cursor throws in
                #expect(try cursor.getData(index: 0) == bytes)
                #expect(try cursor.getData(name: "a") == bytes)
                #expect(try cursor.getData(name: "b") == Data())
                #expect(try cursor.getDataOptional(name: "c") == nil)
                #expect(throws: SqlCursorError.self) { try cursor.getData(name: "c") }
                #expect(throws: SqlCursorError.self) { try cursor.getData(index: 3) }
            }
        }
    }
}
