import PowerSyncServicePostgres
import Testing

@Suite struct PostgresTypeRegistryTests {
    @Test func builtInTypesNeedNoQuery() {
        let types = PostgresTypeRegistry()
        #expect(types[16]?.name == "bool")
        #expect(types[1007]?.kind == .array(of: 23, delimiter: UInt8(ascii: ",")))
        #expect(types[1020]?.kind == .array(of: 603, delimiter: UInt8(ascii: ";")))
        #expect(types.missing(among: [16, 25, 0, 1007]) == [])
        #expect(types.missing(among: [20_001, 16, 20_000, 20_001]) == [20_000, 20_001])
    }

    @Test func rowsOfTheQueryDescribeTypes() throws {
        var types = PostgresTypeRegistry()
        try types.add([
            ["23", "pg_catalog", "int4", "b", "0", nil, "0", nil, nil, nil, nil],
            ["20000", "public", "mood", "e", "0", nil, "0", nil, nil, nil, nil],
            ["20001", "public", "_mood", "b", "20000", "44", "0", nil, nil, nil, nil],
            ["20002", "public", "pair", "c", "0", nil, "0", nil, nil, "x", "23"],
            ["20002", "public", "pair", "c", "0", nil, "0", nil, nil, "y z", "20001"],
            ["20004", "public", "nothing", "c", "0", nil, "0", nil, nil, nil, nil],
            ["20006", "public", "positive", "d", "0", nil, "23", nil, nil, nil, nil],
            ["20008", "public", "moods", "r", "0", nil, "0", "20000", nil, nil, nil],
            ["20010", "public", "multimoods", "m", "0", nil, "0", nil, "20008", nil, nil],
            ["20012", "public", "citext", "b", "0", nil, "0", nil, nil, nil, nil],
        ])
        #expect(types[20_000]?.kind == .enumeration)
        #expect(types[20_001]?.kind == .array(of: 20_000, delimiter: UInt8(ascii: ",")))
        #expect(
            types[20_002]?.kind
                == .composite([.init(name: "x", type: 23), .init(name: "y z", type: 20_001)])
        )
        #expect(types[20_004]?.kind == .composite([]))
        #expect(types[20_006]?.kind == .domain(over: 23))
        #expect(types[20_008]?.kind == .range(of: 20_000))
        #expect(types[20_010]?.kind == .multirange(of: 20_008))
        #expect(types[20_012]?.kind == .base)
        #expect(types[20_012]?.isBuiltIn == false)
    }

    @Test func aDescriptionIsReplacedAndNotExtended() throws {
        var types = PostgresTypeRegistry()
        let row: [String?] = ["20002", "public", "pair", "c", "0", nil, "0", nil, nil, "x", "23"]
        try types.add([row])
        try types.add([row])
        #expect(types[20_002]?.kind == .composite([.init(name: "x", type: 23)]))
    }

    @Test(
        arguments: [
            [], ["x"], [nil, "s", "n", "b", "0", nil, "0", nil, nil, nil, nil],
            ["x", "s", "n", "b", "0", nil, "0", nil, nil, nil, nil],
            ["1", nil, "n", "b", "0", nil, "0", nil, nil, nil, nil],
            ["1", "s", "n", "d", "0", nil, nil, nil, nil, nil, nil],
            ["1", "s", "n", "c", "0", nil, "0", nil, nil, "x", nil],
            ["1", "s", "n", "r", "0", nil, "0", nil, nil, nil, nil],
            ["1", "s", "n", "m", "0", nil, "0", nil, nil, nil, nil],
            ["1", "s", "n", "b", "5", nil, "0", nil, nil, nil, nil],
        ] as [[String?]]
    )
    func otherRowsAreErrors(row: [String?]) {
        var types = PostgresTypeRegistry()
        let error = #expect(throws: PostgresCatalogError.self) { try types.add([row]) }
        #expect(error?.description.contains("types, row 0") == true)
    }

    @Test func olderServersHaveNoMultiranges() {
        #expect(PostgresTypeRegistry.discoveryQuery(serverVersion: 140_000).contains("rngmultitypid"))
        #expect(!PostgresTypeRegistry.discoveryQuery(serverVersion: 130_000).contains("rngmultitypid"))
    }
}
