import PostgresTestSupport
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// Values of a real server, copied and followed.
@Suite(.timeLimit(.minutes(1))) struct PostgresTypeTests {
    private static let types = """
        CREATE TYPE mood AS ENUM ('sad', 'so so', 'hap"py');
        CREATE TYPE point3 AS (x int, y text, mood mood);
        CREATE TYPE empty AS ();
        CREATE DOMAIN positive AS int CHECK (value > 0);
        CREATE DOMAIN truth AS bool;
        CREATE DOMAIN numbers AS int[];
        CREATE TYPE floats AS RANGE (subtype = float8);
        CREATE TABLE lists (
            id text PRIMARY KEY, a_bool bool, a_small smallint, a_int int, a_big bigint, a_oid oid, a_real real,
            a_double double precision, a_numeric numeric, a_money money, a_text text, a_varchar varchar(20), a_char char(5),
            a_name name, a_uuid uuid, a_json json, a_jsonb jsonb, a_bytea bytea, a_date date, a_time time, a_timetz timetz,
            a_timestamp timestamp, a_timestamptz timestamptz, an_interval interval, an_inet inet, a_cidr cidr, a_mac macaddr,
            a_bit bit(3), a_varbit varbit, an_xml xml, a_tsvector tsvector, a_point point, a_line line, a_box box,
            a_lsn pg_lsn, a_mood mood, a_domain positive, a_truth truth, some_numbers numbers, a_composite point3, an_empty empty,
            a_range int4range, a_tsrange tstzrange, a_float_range floats, a_multirange int4multirange, ints int[], texts text[],
            numerics numeric[], bools bool[], jsons jsonb[], moods mood[], points point3[], boxes box[], dates timestamptz[],
            nested int[][], bytes bytea[]
        );
        """
    private static let row = """
        INSERT INTO lists VALUES (
            'a', true, -32768, 2147483647, 9007199254740993, 4294967295, 0.1, 3, 12.50, 12.5, E'tab\\t"ü"', 'v', 'c', 'n',
            'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', '{ "a" : 1 }', '{"b":  [1, 2.0]}', '\\x00ff', '2024-03-01', '10:42',
            '10:42+05:30', '2024-03-01 12:00:00.123456', '2024-03-01 12:00:00.5+02', '1 year 2 days 03:04:05', '10.0.0.1/8',
            '10.0.0.0/8', '08:00:2b:01:02:03', B'101', B'1', '<a>b</a>', 'a fat cat', '(1,2)', '{1,-1,0}', '(2,2),(1,1)',
            '16/B374D848', 'hap"py', 7, false, '{1,2}', ROW(1, 'a "b", (c)', 'so so'), ROW(), '[1,5)',
            '["2024-01-01 00:00+00","2024-02-01 00:00+01")', '(0.5,)', '{[1,3),[5,7)}', '{1,NULL,3}', '{"a b",NULL,"c,\\"d\\""}',
            '{1.50,NaN}', '{t,f}', ARRAY['{"a": 1}'::jsonb, 'null'], '{sad,"hap\\"py"}',
            ARRAY[ROW(1, NULL, 'sad')::point3], '{(1,1),(0,0);(3,3),(2,2)}', '{2024-03-01 12:00+00,infinity}',
            '[2:3][1:2]={{1,2},{3,4}}', '{"\\\\x00ff",NULL}')
        """

    @Test(arguments: [false, true])
    func valuesAreTheSameInCopiesAndChanges(hasOtherSettings: Bool) async throws {
        let scenario = try PostgresScenario(Self.types)
        if hasOtherSettings {
            for (name, value) in [
                ("TimeZone", "Asia/Kolkata"), ("DateStyle", "German"), ("IntervalStyle", "iso_8601"),
                ("bytea_output", "escape"), ("extra_float_digits", "-3"), ("lc_monetary", "C"),
            ] {
                try scenario.database.runOutside("ALTER DATABASE \(scenario.database.name) SET \(name) TO '\(value)'")
            }
        }
        let session = try scenario.database.connect()
        try session.run("SET DateStyle TO ISO; SET TimeZone TO UTC; SET bytea_output TO hex; \(Self.row)")
        try session.run("INSERT INTO lists (id) VALUES ('n')")
        try await scenario.replicating {
            try await scenario.caughtUp()
            try session.run("CREATE TEMPORARY TABLE t AS SELECT * FROM lists")
            try session.run("UPDATE t SET id = 'followed ' || id; INSERT INTO lists SELECT * FROM t")
            try await scenario.caughtUp()
        }
        let rows = try await scenario.rows()
        func values(_ id: String) -> String? {
            rows["lists/\(id)"].map {
                $0.split(separator: "\"id\":\"\(id)\"", omittingEmptySubsequences: false).joined()
            }
        }
        let copied = try #require(values("a"))
        #expect(copied == values("followed a"))
        #expect(values("n") == values("followed n"))
        for part in [
            #""a_bool":1,"a_small":-32768,"a_int":2147483647,"a_big":9007199254740993,"a_oid":4294967295,"a_real":0.1,"#,
            #""a_double":3.0,"a_numeric":"12.50","a_money":"$12.50","a_text":"tab\t\"ü\"","#,
            #""a_char":"c    ""#, #""a_uuid":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","a_json":"{ \"a\" : 1 }","#,
            #""a_date":"2024-03-01","a_time":"10:42:00.000000""#,
            #""a_timestamp":"2024-03-01T12:00:00.123456","a_timestamptz":"2024-03-01T10:00:00.500000Z""#,
            #""an_interval":"1 year 2 days 03:04:05""#,
            #""a_lsn":"00000016/B374D848","a_mood":"hap\"py","a_domain":7,"a_truth":0"#,
            #""ints":"[1,null,3]""#, #""nested":"[[1,2],[3,4]]""#, #""bools":"[1,0]""#,
        ] {
            #expect(copied.contains(part), "\(part) in \(copied)")
        }
    }

    @Test func aRoleNeedsNoMoreThanItIsTold() async throws {
        let scenario = try PostgresScenario()
        let role = "role_\(scenario.database.name)"
        try scenario.database.run(
            """
            INSERT INTO lists VALUES ('a'); CREATE ROLE \(role) WITH LOGIN REPLICATION BYPASSRLS;
            GRANT USAGE ON SCHEMA public TO \(role); GRANT SELECT ON ALL TABLES IN SCHEMA public TO \(role)
            """
        )
        let uri = scenario.database.uri.split(separator: "postgres@").joined(separator: "\(role)@")
        let source = PostgresSource(
            PostgresSource.Settings(connection: PostgresConnectionString(uri)),
            logger: scenario.log.logger
        )
        let limited = try PostgresScenario(database: scenario.database, source: source)
        try await limited.replicating {
            try await limited.caughtUp()
            try scenario.database.run("INSERT INTO lists VALUES ('b')")
            try await limited.caughtUp()
            #expect(try await limited.ids() == ["a", "b"])
        }
        try source.close()
        try scenario.database.run("DROP OWNED BY \(role)")
        try scenario.database.runOutside("DROP ROLE \(role)")
    }
}
