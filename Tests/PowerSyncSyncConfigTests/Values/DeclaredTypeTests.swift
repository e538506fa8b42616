import PowerSyncSyncConfig
import Testing

/// Types as tables declare them.
@Suite struct DeclaredTypeTests {
    @Test(
        arguments: [
            ("INT", .integer), ("integer", .integer), ("INT(11)", .integer), ("int2", .integer), ("INT8", .integer),
            ("TINYINT(1)", .integer), ("mediumint unsigned", .integer), ("UNSIGNED BIG INT", .integer),
            ("MIDDLEINT", .integer), ("HUGEINT", .integer), ("pg_catalog.int4", .integer), ("DATETIMEOFFSET", .date),
            ("LONG INTEGER", .integer), ("VARINT", .integer), ("UInt64", .integer), ("serial4", .integer),
            ("REAL", .real), ("float8", .real), ("FLOAT(24)", .real), ("double precision", .real),
            ("BINARY_DOUBLE", .real), ("DECIMAL(10,2)", .decimal), ("dec", .decimal), ("numeric", .decimal),
            ("NUMBER(10)", .decimal), ("bool", .boolean), ("BOOLEAN", .boolean), ("DATETIME(6)", .date),
            ("timestamp(3) with time zone", .date), ("timestamptz", .date), ("VARBINARY(16)", .bytes), ("BLOB", .bytes),
            ("bytea", .bytes), ("VARCHAR(20)", .text), ("INTERVAL", .text), ("POINT", .text), ("", .text),
        ] as [(String, DeclaredType)]
    )
    func typesAreKnownByTheirNames(_ declaration: String, _ type: DeclaredType) {
        #expect(DeclaredType(declaration: declaration) == type)
    }

    @Test(arguments: [
        "int4range", "int8multirange", "numrange", "print_status", "decision_kind", "number_format", "boolean_set",
        "timestamp_kind", "surreal", "redoubt", "serialised", "integer[]", "INTEGER[3]", "datetime_kind",
    ])
    func typesOfSomebodyElseAreText(_ declaration: String) {
        #expect(DeclaredType(declaration: declaration) == .text)
    }
}
