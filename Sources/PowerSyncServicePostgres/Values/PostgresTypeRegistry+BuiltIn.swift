extension PostgresTypeRegistry {
    /// The built-in types that values are converted from, and their arrays (`pg_type.dat` of PostgreSQL).
    ///
    /// Ranges and others are asked for; what is here needs no query.
    static let builtIn: [PostgresOID: PostgresType] = {
        /// Name, number, number of the array type.
        let scalars: [(String, PostgresOID, PostgresOID)] = [
            ("bool", 16, 1000), ("bytea", 17, 1001), ("name", 19, 1003), ("int8", 20, 1016), ("int2", 21, 1005),
            ("int4", 23, 1007), ("text", 25, 1009), ("oid", 26, 1028), ("json", 114, 199), ("xml", 142, 143),
            ("point", 600, 1017), ("lseg", 601, 1018), ("path", 602, 1019), ("box", 603, 1020),
            ("polygon", 604, 1027), ("line", 628, 629), ("cidr", 650, 651), ("float4", 700, 1021),
            ("float8", 701, 1022), ("circle", 718, 719), ("macaddr8", 774, 775), ("money", 790, 791),
            ("macaddr", 829, 1040), ("inet", 869, 1041), ("bpchar", 1042, 1014), ("varchar", 1043, 1015),
            ("date", 1082, 1182), ("time", 1083, 1183), ("timestamp", 1114, 1115), ("timestamptz", 1184, 1185),
            ("interval", 1186, 1187), ("timetz", 1266, 1270), ("bit", 1560, 1561), ("varbit", 1562, 1563),
            ("numeric", 1700, 1231), ("uuid", 2950, 2951), ("pg_lsn", 3220, 3221), ("tsvector", 3614, 3643),
            ("jsonb", 3802, 3807),
        ]
        var types: [PostgresOID: PostgresType] = [:]
        for (name, oid, array) in scalars {
            let delimiter = UInt8(ascii: name == "box" ? ";" : ",")
            types[oid] = PostgresType(oid: oid, schema: "pg_catalog", name: name, kind: .base)
            types[array] = PostgresType(
                oid: array,
                schema: "pg_catalog",
                name: "_\(name)",
                kind: .array(of: oid, delimiter: delimiter)
            )
        }
        return types
    }()
}
