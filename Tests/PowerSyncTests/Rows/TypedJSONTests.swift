import Foundation
import PowerSync
import Testing

/// What types read in JSON columns: numbers with all of their digits, and large objects.
@Suite(.timeLimit(.minutes(1))) struct TypedJSONTests {
    private struct Cell<Value: Decodable & Sendable>: Decodable, Sendable { let v: Value }

    private func read<Value: Decodable & Sendable>(_ json: String, as type: Value.Type) async throws -> Value {
        try await withMemoryDatabase { database in
            try await database.get(sql: "SELECT ? AS v", parameters: [json], as: Cell<Value>.self).v
        }
    }

    /// As many digits as a `Decimal` has in any case.
    private static let digits = String(repeating: "9", count: 38)

    @Test func numbersKeepTheirDigits() async throws {
        let decimals = try await read(
            "[123456789.123456789012, 12.50, -0.1e1, 12345678901234567890, -0.0, 0.\(Self.digits), 1e45]",
            as: [Decimal].self
        )
        let texts = [
            "123456789.123456789012", "12.5", "-1", "12345678901234567890", "0", "0.\(Self.digits)", "1e45",
        ]
        #expect(decimals == texts.compactMap { Decimal(string: $0) })
        let unsigned = try await read("[12345678901234567890, 18446744073709551615, 0, -0]", as: [UInt64].self)
        #expect(unsigned == [12_345_678_901_234_567_890, .max, 0, 0])
        let signed = try await read(
            "[9007199254740993.0, 1e3, -1.50E+1, 900e-2, -9.223372036854775808e18]",
            as: [Int64].self
        )
        #expect(signed == [9_007_199_254_740_993, 1_000, -15, 9, .min])
        let doubles = try await read("[0.1, 12345678901234567890, 100000000000000000000, 2]", as: [Double].self)
        #expect(doubles == [0.1, 12_345_678_901_234_567_168, 1e20, 2])
        #expect(try await read("[0.5]", as: JsonValue.self) == .array([.double(0.5)]))
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let read: @Sendable (any PowerSyncDatabaseProtocol) async throws -> Void
        let value: String
        let testDescription: String

        init<Value: Decodable & Sendable>(_ number: String, _ type: Value.Type, value: String? = nil) {
            read = { database in
                _ = try await database.get(sql: "SELECT ? AS v", parameters: ["[\(number)]"], as: Cell<[Value]>.self)
            }
            self.value = value ?? "number \(number)"
            testDescription = "\(number) as \(type)"
        }
    }

    static let misfits = [
        Case("18446744073709551616", UInt64.self),
        Case("12345678901234567890", Int64.self),
        Case("1.00000000000000000001", Int.self),
        Case("9223372036854775807.5", Int64.self),
        Case("1e-99999999999999999999", Int.self),
        Case("-1.0", UInt.self),
        Case("0.\(digits)9", Decimal.self, value: "number 0.\(digits)…"),
        Case("1.28e2", Int8.self),
        Case("1\(String(repeating: "0", count: 40))", Int.self, value: "number 1\(String(repeating: "0", count: 39))…"),
    ]

    @Test(arguments: misfits)
    func aNumberThatATypeDoesNotHaveIsRefused(_ test: Case) async throws {
        try await withMemoryDatabase { database in
            let error = await #expect(throws: TypedRowError.self) { try await test.read(database) }
            #expect(error?.code == .outOfRange)
            #expect(error?.path == ["0"])
            #expect(error?.value == test.value)
        }
    }

    /// The names of an object, as a type with keys of its own sees them.
    private struct Names: Decodable, Sendable {
        struct Key: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        let names: [String]
        let missing: Bool

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            names = container.allKeys.map(\.stringValue)
            missing = !container.contains(Key(stringValue: "missing"))
        }
    }

    @Test(arguments: [1, 2, 15, 16, 17, 20, 50_000])
    func objectsOfAnySizeAreRead(_ count: Int) async throws {
        // Of each name the last value counts.
        let members = (0..<count).map { #""k\#($0)": \#($0)"# } + [#""k0": -1"#, #""k\#(count - 1)": -2"#]
        let json = "{" + members.joined(separator: ", ") + "}"
        var expected = Dictionary(uniqueKeysWithValues: (0..<count).map { ("k\($0)", $0) })
        expected["k0"] = -1
        expected["k\(count - 1)"] = -2
        #expect(try await read(json, as: [String: Int].self) == expected)
        let object = try await read(json, as: Names.self)
        #expect(object.names.count == count)
        #expect(Set(object.names) == Set(expected.keys))
        #expect(object.missing)
    }

    @Test(arguments: [0, 20])
    func namesAreToldApartByTheirBytes(_ more: Int) async throws {
        struct Letters: Decodable, Sendable {
            enum CodingKeys: String, CodingKey {
                case composed = "\u{e9}"
            }

            let composed: Int
        }
        let members = [#""\#u{e9}": 1"#, #""e\#u{301}": 2"#] + (0..<more).map { #""k\#($0)": 0"# }
        let json = "{" + members.joined(separator: ", ") + "}"
        #expect(try await read(json, as: Letters.self).composed == 1)
        #expect(try await read(json, as: Names.self).names.count == more + 2)
    }
}
