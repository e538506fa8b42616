import PowerSyncSyncConfig
import PowerSyncServiceCore
import Testing

/// What a running source says about the values of columns.
@Suite struct DescribedSchemaTests {
    private static let config = """
        config: {edition: 3}
        streams:
          bool: {auto_subscribe: true, query: "SELECT * FROM t WHERE is_public = 'true'"}
          int: {auto_subscribe: true, query: "SELECT * FROM t WHERE owner_id = auth.user_id()"}
          numeric: {auto_subscribe: true, query: "SELECT * FROM t WHERE price > 1000"}
          bytes: {auto_subscribe: true, query: "SELECT * FROM t WHERE hash = 'x'"}
        """

    private func lines(_ columns: [DescribedTable.Column]) -> [String] {
        let id = DescribedTable.Column(name: "id", type: "text", clientType: "text", values: .text)
        let table = DescribedTable(name: SourceTableName(schema: "public", name: "t"), columns: [id] + columns)
        return SyncConfig.parse(Self.config, schema: SourceSchema([table], defaultSchema: "public")).diagnostics
            .map { "\($0.line) \($0.code)" }
    }

    @Test func columnsHaveTheValuesThatTheirSourceSays() {
        let found = lines([
            .init(name: "is_public", type: "boolean", clientType: "integer", values: .boolean),
            .init(name: "owner_id", type: "bigint", clientType: "integer", values: .number),
            .init(name: "price", type: "numeric(10,2)", clientType: "text", values: .text),
            .init(name: "hash", type: "bytea", clientType: "blob", values: .bytes),
        ])
        #expect(found == ["3 filter.never", "4 filter.never", "5 filter.always", "6 filter.never"])
    }

    @Test func columnsThatHoldAnythingSayNothing() {
        let found = lines([
            .init(name: "is_public", type: "BOOLEAN", clientType: "numeric", values: nil),
            .init(name: "owner_id", type: "INTEGER", clientType: "integer", values: .number),
            .init(name: "price", type: "NUMERIC", clientType: "numeric", values: nil),
            .init(name: "hash", type: "", clientType: "blob", values: nil),
        ])
        #expect(found == ["4 filter.never"])
    }
}
