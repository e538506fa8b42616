import Logging
import PostgresTestSupport
import PowerSyncSyncConfig
import PowerSyncServiceCore
import PowerSyncServicePostgres
import Testing

/// What a server delivers for values of all types, in the copy and in the change stream (docs/postgres.md "Types").
@Suite(.timeLimit(.minutes(2))) struct ServerValueTests {
    struct Sample {
        /// The type of the column.
        var type: String
        /// An expression of SQL.
        var sql: String
        /// The value with all options of the current edition.
        var value: SQLValue
        /// With `custom_postgres_types: false`, where that differs.
        var raw: SQLValue?

        init(_ type: String, _ sql: String, _ value: SQLValue, raw: SQLValue? = nil) {
            self.type = type
            self.sql = sql
            self.value = value
            self.raw = raw
        }
    }

    private static let types = """
        CREATE TYPE mood AS ENUM ('ok', 'so so');
        CREATE DOMAIN flag AS bool; CREATE DOMAIN blob AS bytea; CREATE DOMAIN ints AS int[];
        CREATE DOMAIN moment AS timestamptz; CREATE DOMAIN positive AS int CHECK (VALUE > 0);
        CREATE DOMAIN outer_domain AS positive;
        CREATE TYPE pair AS (x int, "the y" text);
        CREATE TYPE nested AS (p pair, l numeric[], j jsonb, b bytea, m mood, r int4range);
        CREATE TYPE nothing AS ();
        CREATE TYPE textrange AS RANGE (subtype = text, collation = "C");
        CREATE TYPE spans AS (a tstzrange, b int4multirange);
        CREATE TABLE others (id int, name text);
        """

    static let samples: [Sample] = [
        Sample("text", #"E'a "b" \\ ü\n'"#, "a \"b\" \\ ü\n"), Sample("varchar(9)", "'v'", "v"),
        Sample("char(4)", "'ab'", "ab  "),
        Sample("name", "'n'", "n"), Sample("bool", "true", 1), Sample("int2", "-3", -3), Sample("int4", "7", 7),
        Sample("int8", "9007199254740993", 9_007_199_254_740_993), Sample("oid", "4294967295", 4_294_967_295),
        Sample("float8", "3", 3.0), Sample("float8", "0.1::float8 + 0.2::float8", 0.30000000000000004),
        Sample("float4", "0.1", 0.1), Sample("float8", "'NaN'", nil),
        Sample("float8", "'-Infinity'", .real(-.infinity)),
        Sample("numeric", "1.50", "1.50"), Sample("numeric", "'NaN'", "NaN"),
        Sample("numeric(30,10)", "12345678901234567890.5", "12345678901234567890.5000000000"),
        Sample("uuid", "'0A0B0C0D-0000-4000-8000-00000000FFFF'", "0a0b0c0d-0000-4000-8000-00000000ffff"),
        Sample("json", #"'{ "a" : 1 }'"#, "{ \"a\" : 1 }"), Sample("jsonb", #"'{ "a" : 1.50 }'"#, "{\"a\": 1.50}"),
        Sample("bytea", #"'\x00ff5c27'"#, .blob([0, 255, 0x5c, 0x27])), Sample("bytea", "''", .blob([])),
        Sample("date", "'2024-03-01'", "2024-03-01"), Sample("date", "'infinity'", "9999-12-31"),
        Sample("date", "'-infinity'", "0000-01-01"), Sample("date", "'0044-03-15 BC'", "0044-03-15 BC"),
        Sample("time", "'10:42'", "10:42:00.000000"), Sample("time", "'10:42:00.5'", "10:42:00.500000"),
        Sample("timetz", "'10:42:00.5+02'", "10:42:00.5+02"),
        Sample("timestamp", "'2024-03-01 12:00:00.5'", "2024-03-01T12:00:00.500000"),
        Sample("timestamp", "'10022-09-08 21:19:28'", "10022-09-08T21:19:28.000000"),
        Sample("timestamp", "'0044-03-15 12:00 BC'", nil),
        Sample("timestamp", "'infinity'", "9999-12-31T23:59:59.000000"),
        Sample("timestamptz", "'2024-03-01 12:00:00.5+02'", "2024-03-01T10:00:00.500000Z"),
        Sample("timestamptz", "'1883-06-01 00:00:00+00'", "1883-06-01T00:00:00.000000Z"),
        Sample("timestamptz", "'10022-09-08 21:19:28+00'", nil),
        Sample("timestamptz", "'-infinity'", "0000-01-01T00:00:00.000000Z"),
        Sample("interval", "'1 year 2 months -3 days 04:05:06.7'", "1 year 2 mons -3 days +04:05:06.7"),
        Sample("inet", "'10.0.0.1/8'", "10.0.0.1/8"), Sample("cidr", "'10.0.0.0/8'", "10.0.0.0/8"),
        Sample("macaddr", "'08:00:2b:01:02:03'", "08:00:2b:01:02:03"), Sample("bit(3)", "B'101'", "101"),
        Sample("varbit", "B'1'", "1"), Sample("xml", "'<a/>'", "<a/>"), Sample("tsvector", "'b a'", "'a' 'b'"),
        Sample("point", "'(1,2)'", "(1,2)"), Sample("line", "'{1,-1,0}'", "[1.0,-1.0,0.0]"),
        Sample("lseg", "'[(1,2),(3,4)]'", "[(1,2),(3,4)]"), Sample("box", "'(3,4),(1,2)'", "(3,4),(1,2)"),
        Sample("path", "'((0,0),(1,1))'", "((0,0),(1,1))"), Sample("polygon", "'((0,0),(1,1))'", "((0,0),(1,1))"),
        Sample("circle", "'<(1,2),3>'", "<(1,2),3>"), Sample("pg_lsn", "'16/B374D848'", "00000016/B374D848"),
        Sample("int2vector", "'1 2'", "1 2"), Sample("regclass", "'pg_class'", "pg_class"), Sample("text", "NULL", nil),
        // Arrays of built-in types.
        Sample("int[]", "'{1,NULL,-3}'", "[1,null,-3]"), Sample("int[]", "'[2:3]={1,2}'", "[1,2]"),
        Sample("int[]", "'{{1,2},{3,4}}'", "[[1,2],[3,4]]"), Sample("int[]", "'{}'", "[]"),
        Sample(
            "text[]",
            #"ARRAY['a', 'b c', '', NULL, 'NULL', 'a"b', 'a\b', '{x}', 'a,b']"#,
            #"["a","b c","",null,"NULL","a\"b","a\\b","{x}","a,b"]"#
        ),
        Sample("bool[]", "'{t,f}'", "[1,0]"), Sample("numeric[]", "'{1.50,NaN}'", #"["1.50","NaN"]"#),
        Sample("float8[]", "'{1,NaN,Infinity,1e20}'", "[1.0,null,null,100000000000000000000.0]"),
        Sample("jsonb[]", #"ARRAY['{"a": "b \" c"}'::jsonb, '1']"#, #"[{"a": "b \" c"},1]"#),
        Sample("bytea[]", #"ARRAY['\x00'::bytea, NULL]"#, "[null,null]"),
        Sample(
            "timestamptz[]",
            "'{2024-03-01 12:00+00,infinity}'",
            #"["2024-03-01T12:00:00.000000Z","9999-12-31T23:59:59.000000Z"]"#
        ),
        Sample("box[]", "'{(3,4),(1,2);(1,1),(0,0)}'", #"["(3,4),(1,2)","(1,1),(0,0)"]"#),
        Sample("line[]", "ARRAY['{1,-1,0}'::line]", "[[1.0,-1.0,0.0]]"),
        // Types that the database has made.
        Sample("mood", "'so so'", "so so"), Sample("flag", "true", 1), Sample("blob", #"'\x01'"#, .blob([1])),
        Sample("ints", "'{1,2}'", "[1,2]"), Sample("moment", "'2024-03-01 12:00+02'", "2024-03-01T10:00:00.000000Z"),
        Sample("outer_domain", "5", 5),
        Sample("mood[]", "ARRAY['ok', 'so so', NULL]::mood[]", #"["ok","so so",null]"#, raw: #"{ok,"so so",NULL}"#),
        Sample("positive[]", "'{1,2}'", "[1,2]", raw: "{1,2}"),
        Sample("pair", "ROW(1, 'a \"b\" c)')", #"{"x":1,"the y":"a \"b\" c)"}"#, raw: #"(1,"a ""b"" c)")"#),
        Sample("pair", "ROW(NULL, '')", #"{"x":null,"the y":""}"#, raw: #"(,"")"#),
        Sample("pair[]", "ARRAY[ROW(1, 'a b')::pair]", #"[{"x":1,"the y":"a b"}]"#, raw: #"{"(1,\"a b\")"}"#),
        Sample("nothing", "ROW()", "{}", raw: "()"),
        Sample("others", "ROW(1, 'n')", #"{"id":1,"name":"n"}"#, raw: "(1,n)"),
        Sample("int4range", "'[1,5)'", #"{"lower":1,"upper":5,"lower_exclusive":0,"upper_exclusive":1}"#, raw: "[1,5)"),
        Sample("int4range", "'empty'", "empty"),
        Sample(
            "numrange",
            "'(,1.50]'",
            #"{"lower":null,"upper":"1.50","lower_exclusive":1,"upper_exclusive":0}"#,
            raw: "(,1.50]"
        ),
        Sample(
            "textrange",
            #"textrange('a "b"', 'c\d')"#,
            #"{"lower":"a \"b\"","upper":"c\\d","lower_exclusive":0,"upper_exclusive":1}"#,
            raw: #"["a ""b""","c\\d")"#
        ),
        Sample(
            "int4range[]",
            "ARRAY['[1,2)'::int4range, 'empty']",
            #"[{"lower":1,"upper":2,"lower_exclusive":0,"upper_exclusive":1},"empty"]"#,
            raw: #"{"[1,2)",empty}"#
        ),
        Sample(
            "int4multirange",
            "'{[1,3),[5,)}'",
            #"[{"lower":1,"upper":3,"lower_exclusive":0,"upper_exclusive":1},{"lower":5,"upper":null,"lower_exclusive":0,"upper_exclusive":1}]"#,
            raw: "{[1,3),[5,)}"
        ),
        Sample(
            "textmultirange",
            #"textmultirange(textrange('a]', 'b'))"#,
            #"[{"lower":"a]","upper":"b","lower_exclusive":0,"upper_exclusive":1}]"#,
            raw: #"{["a]",b)}"#
        ),
        Sample(
            "nested",
            #"ROW(ROW(1, 'a "b"'), '{1.50}', '{"k": "v w"}', '\x00', 'ok', '[1,5)')"#,
            #"{"p":{"x":1,"the y":"a \"b\""},"l":["1.50"],"j":{"k": "v w"},"m":"ok","r":{"lower":1,"upper":5,"lower_exclusive":0,"upper_exclusive":1}}"#,
            raw: #"("(1,""a """"b"""""")",{1.50},"{""k"": ""v w""}","\\x00",ok,"[1,5)")"#
        ),
        Sample(
            "spans",
            "ROW('[2024-03-01 12:00+00,)', '{[1,2)}')",
            #"{"a":{"lower":"2024-03-01T12:00:00.000000Z","upper":null,"lower_exclusive":0,"upper_exclusive":1},"b":[{"lower":1,"upper":2,"lower_exclusive":0,"upper_exclusive":1}]}"#,
            raw: #"("[""2024-03-01 12:00:00+00"",)","{[1,2)}")"#
        ),
    ]

    /// A database with a table that has a column for each sample.
    private func database(hasOddSettings: Bool = false) throws -> TestDatabase {
        let columns = Self.samples.enumerated().map { ", c\($0) \($1.type)" }.joined()
        let database = try TestDatabase("\(Self.types) CREATE TABLE samples (id int PRIMARY KEY\(columns))")
        if hasOddSettings {
            for (name, value) in [
                ("TimeZone", "Asia/Kolkata"), ("DateStyle", "German"), ("IntervalStyle", "iso_8601"),
                ("bytea_output", "escape"), ("extra_float_digits", "-3"),
            ] {
                try database.runOutside("ALTER DATABASE \(database.name) SET \(name) TO '\(value)'")
            }
        }
        try insert(1, database)
        return database
    }

    private func insert(_ id: Int, _ database: TestDatabase) throws {
        let values = Self.samples.map { ", (\($0.sql))::\($0.type)" }.joined()
        try database.run("INSERT INTO samples SELECT \(id)\(values)")
    }

    /// The rows of a table by copying it, and those that are made while its changes are read.
    private func rows(
        of table: String,
        in database: TestDatabase,
        options: String = "",
        log: Logger = Logger(label: "test"),
        insert: () throws -> Void
    ) async throws -> (copied: [SourceRow], streamed: [SourceRow]) {
        let yaml = "config: {edition: 3\(options)}\nstreams: {s: {query: SELECT * FROM \(table)}}"
        var plan = try #require(SyncConfig.parse(yaml).plan)
        plan.defaultSchema = PostgresSource.defaultSchema
        let source = PostgresSource(.init(connection: database.connectionString), logger: log)
        defer { try? source.close() }
        let slot = "\(database.name)_\(options.utf8.count)"
        let position = try await source.prepareStream(slot, resumingAfter: nil, reached: nil)
        let descriptors = try await source.tables(for: plan)
        var copied: [SourceRow] = []
        var reader = try await source.snapshot(of: try #require(descriptors.first), after: nil)
        while let chunk = try await reader.next() { copied += chunk.rows }
        let tables = descriptors.map { SourceTable(id: $0.relationID, descriptor: $0, isSnapshotDone: true) }
        try insert()
        let streamed = try await source.withChanges(of: slot, after: position, tables: tables, plan: plan) { reader in
            while true {
                for message in try await reader.next() {
                    if case .changes(let changes, _) = message { return changes.compactMap(\.row) }
                }
            }
        }
        return (copied, streamed)
    }

    @Test(arguments: [false, true])
    func copyAndStreamGiveTheValuesOfThePage(hasOddSettings: Bool) async throws {
        let database = try database(hasOddSettings: hasOddSettings)
        let (copied, streamed) = try await rows(of: "samples", in: database) { try insert(2, database) }
        for (position, sample) in Self.samples.enumerated() {
            #expect(copied.first?["c\(position)"] == sample.value, "\(sample.type) \(sample.sql)")
        }
        #expect(copied.count == 1 && streamed.count == 1)
        #expect(copied.first?.values.dropFirst() == streamed.first?.values.dropFirst())
    }

    @Test func customTypesMayStayAsTheyArePrinted() async throws {
        let database = try database()
        let (copied, streamed) = try await rows(
            of: "samples",
            in: database,
            options: ", custom_postgres_types: false"
        ) { try insert(2, database) }
        for (position, sample) in Self.samples.enumerated() {
            #expect(copied.first?["c\(position)"] == sample.raw ?? sample.value, "\(sample.type) \(sample.sql)")
        }
        #expect(copied.first?.values.dropFirst() == streamed.first?.values.dropFirst())
    }

    @Test func valuesThatCannotBeReadAreNullAndReplicationGoesOn() async throws {
        // Each level doubles the quotes of the ones below.
        var sql = "CREATE TYPE level1 AS (a int);"
        var value = "ROW(7)::level1"
        for level in 2...21 {
            sql += "CREATE TYPE level\(level) AS (a level\(level - 1));"
            value = "ROW(\(value))::level\(level)"
        }
        sql += "CREATE TABLE deep (id int PRIMARY KEY, v level21, t timestamptz);"
        sql += "INSERT INTO deep VALUES (1, \(value), '0044-03-15 12:00+00 BC');"
        let database = try TestDatabase(sql)
        let (copied, streamed) = try await rows(of: "deep", in: database) {
            try database.run("INSERT INTO deep VALUES (2, \(value), '0044-03-15 12:00+00 BC')")
        }
        #expect(copied.map(\.values) == [[1, nil, nil]])
        #expect(streamed.map(\.values) == [[2, nil, nil]])
    }

    @Test func generatedColumnsAreLeftOut() async throws {
        let database = try TestDatabase(
            """
            CREATE TABLE products (id int PRIMARY KEY, price int, total int GENERATED ALWAYS AS (price * 2) STORED);
            INSERT INTO products VALUES (1, 5);
            """
        )
        let (copied, streamed) = try await rows(of: "products", in: database) {
            try database.run("INSERT INTO products VALUES (2, 6)")
        }
        #expect(copied == [["id": 1, "price": 5]])
        #expect(streamed == [["id": 2, "price": 6]])
    }
}
