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

    static let unsupported: [Case] = [
        Case("a type without conformance", DateComponents(), "", nil),
        Case("array", [1, 2], "", nil),
        Case("too large", UInt64.max, "", nil),
    ]

    @Test("Other types are refused before anything runs", arguments: unsupported)
    func otherTypesAreRefused(_ example: Case) async throws {
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

    @Test func missingParametersAreNull() async throws {
        try await withMemoryDatabase { database in
            let values = try await database.get(sql: "SELECT ?, ?", parameters: ["a"]) { cursor in
                [cursor.getStringOptional(index: 0), cursor.getStringOptional(index: 1)]
            }
            #expect(values == ["a", nil])
        }
    }

    @Test func tooManyParametersAreARangeError() async throws {
        try await withMemoryDatabase { database in
            let error = await #expect(throws: PowerSyncError.self) {
                try await database.execute(sql: "SELECT ?", parameters: [1, 2])
            }
            guard case .sqliteError(25, _, _, _, "SELECT ?") = error else {
                Issue.record("unexpected error \(String(describing: error))")
                return
            }
        }
    }

    @Test("Blobs can be read, by index and by name")
    func blobsCanBeRead() async throws {
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
