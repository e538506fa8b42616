extension PostgresTypeRegistry {
    /// The query that describes types, and all types that these are made of.
    ///
    /// Its parameter `$1` is the list of numbers as `oid[]`, `{16400,16403}`. It returns texts, one row for each type, or for
    /// each column of a composite one.
    ///
    /// - Parameter serverVersion: As `PQserverVersion` says it: 150_000 for version 15.
    /// - Returns: The text of the query.
    package static func discoveryQuery(serverVersion: Int) -> String {
        // Multiranges exist since version 14.
        let multirange = serverVersion >= 140_000 ? "r.rngmultitypid" : "NULL::pg_catalog.oid"
        return """
            WITH RECURSIVE needed(oid) AS (
              SELECT unnest FROM pg_catalog.unnest($1::pg_catalog.oid[])
              UNION
              SELECT part.oid
              FROM needed
              JOIN pg_catalog.pg_type t ON t.oid = needed.oid
              CROSS JOIN LATERAL (
                SELECT t.typelem WHERE t.typelem <> 0
                UNION ALL
                SELECT t.typbasetype WHERE t.typbasetype <> 0
                UNION ALL
                SELECT a.atttypid FROM pg_catalog.pg_attribute a
                WHERE t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
                UNION ALL
                SELECT r.rngsubtype FROM pg_catalog.pg_range r WHERE r.rngtypid = t.oid
                UNION ALL
                SELECT r.rngtypid FROM pg_catalog.pg_range r WHERE \(multirange) = t.oid
              ) AS part(oid)
            )
            SELECT t.oid, n.nspname, t.typname, t.typtype,
              CASE WHEN e.typarray = t.oid THEN e.oid ELSE 0 END AS element, pg_catalog.ascii(e.typdelim::text) AS delimiter,
              t.typbasetype,
              (SELECT r.rngsubtype FROM pg_catalog.pg_range r WHERE r.rngtypid = t.oid) AS subtype,
              (SELECT r.rngtypid FROM pg_catalog.pg_range r WHERE \(multirange) = t.oid) AS range,
              a.attname, a.atttypid
            FROM needed
            JOIN pg_catalog.pg_type t ON t.oid = needed.oid
            JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
            LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem
            LEFT JOIN pg_catalog.pg_attribute a
              ON t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
            ORDER BY t.oid, a.attnum
            """
    }

    /// Adds what ``discoveryQuery(serverVersion:)`` has returned.
    ///
    /// - Parameter rows: The rows in order, their values as texts.
    /// - Throws: ``PostgresCatalogError`` when they are not what the query returns.
    package mutating func add(_ rows: [[String?]]) throws(PostgresCatalogError) {
        var type: PostgresType?
        for (position, row) in rows.enumerated() {
            let next = try Self.type(of: row, position)
            if case .composite(let fields) = next.kind, let last = type, last.oid == next.oid,
                case .composite(let earlier) = last.kind
            {
                type?.kind = .composite(earlier + fields)
            } else {
                if let type { add(type) }
                type = next
            }
        }
        if let type { add(type) }
    }

    private static func type(of row: [String?], _ position: Int) throws(PostgresCatalogError) -> PostgresType {
        func fail(_ column: String) -> PostgresCatalogError {
            PostgresCatalogError(query: "types", row: position, column: column)
        }
        guard row.count == 11 else { throw fail("the number of columns") }
        guard let oid = row[0].flatMap({ PostgresOID($0) }) else { throw fail("oid") }
        guard let schema = row[1], let name = row[2], let typtype = row[3] else { throw fail("typname") }
        let kind: PostgresType.Kind
        switch typtype {
        case "e":
            kind = .enumeration
        case "d":
            guard let base = row[6].flatMap({ PostgresOID($0) }) else { throw fail("typbasetype") }
            kind = .domain(over: base)
        case "c":
            if let name = row[9] {
                guard let type = row[10].flatMap({ PostgresOID($0) }) else { throw fail("atttypid") }
                kind = .composite([PostgresType.Field(name: name, type: type)])
            } else {
                kind = .composite([])
            }
        case "r":
            guard let subtype = row[7].flatMap({ PostgresOID($0) }) else { throw fail("subtype") }
            kind = .range(of: subtype)
        case "m":
            guard let range = row[8].flatMap({ PostgresOID($0) }) else { throw fail("range") }
            kind = .multirange(of: range)
        default:
            if let element = row[4].flatMap({ PostgresOID($0) }), element != 0 {
                guard let delimiter = row[5].flatMap({ UInt8($0) }) else { throw fail("delimiter") }
                kind = .array(of: element, delimiter: delimiter)
            } else {
                kind = .base
            }
        }
        return PostgresType(oid: oid, schema: schema, name: name, kind: kind)
    }
}

/// A query of the catalogue has returned something else than it returns.
package struct PostgresCatalogError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What was asked for.
    package let query: String
    /// The position of the row, from 0 on.
    package let row: Int
    /// The column.
    package let column: String

    package var description: String {
        "The catalogue of PostgreSQL has an answer that is not understood: \(query), row \(row), \(column)."
    }
}
