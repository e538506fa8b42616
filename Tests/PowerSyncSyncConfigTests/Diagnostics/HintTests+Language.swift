/// What hints about the rest of the language say to write.
extension HintTests {
    // MARK: Subqueries

    static let subqueries: [Hint] = [
        Hint(
            config: config(
                TestStream("s", "SELECT id, (SELECT r.b FROM routes r WHERE r.a = accounts.id) AS route FROM accounts")
            ),
            code: "sql.unsupported_expr",
            advice: "sync the other table with a query of its own",
            mended: config(TestStream("s", "SELECT id FROM accounts", "SELECT id, a, b FROM routes")),
            writes: "FROM routes"
        ),
        .stream(
            "SELECT * FROM t WHERE org_id = (SELECT org_id FROM users WHERE id = auth.user_id())",
            "sql.unsupported_expr",
            "IN (SELECT",
            "SELECT * FROM t WHERE org_id IN (SELECT org_id FROM users WHERE id = auth.user_id())"
        ),
        .stream(
            "SELECT * FROM t WHERE EXISTS (SELECT id FROM m WHERE m.t = t.id AND m.u = auth.user_id())",
            "sql.unknown_function",
            "IN (SELECT",
            "SELECT * FROM t WHERE id IN (SELECT m.t FROM m WHERE m.u = auth.user_id())"
        ),
        .stream(
            "SELECT * FROM t WHERE (SELECT auth.uid()) = user_id",
            "sql.unsupported_expr",
            "auth.user_id()",
            "SELECT * FROM t WHERE auth.user_id() = user_id"
        ),
        .stream(
            "SELECT * FROM t WHERE (SELECT 1) = a",
            "sql.unsupported_expr",
            "needs no SELECT",
            "SELECT * FROM t WHERE (1) = a",
            writes: "(1)"
        ),
        .stream(
            "SELECT * FROM t WHERE a = ANY (b)",
            "sql.unknown_function",
            "IN",
            "SELECT * FROM t WHERE a IN b"
        ),
        .definition(
            "SELECT id AS u FROM x WHERE (SELECT auth.uid()) = k",
            "SELECT * FROM t WHERE a = bucket.u",
            "sql.unsupported_expr",
            "request.user_id()",
            "SELECT id AS u FROM x WHERE request.user_id() = k",
            "SELECT * FROM t WHERE a = bucket.u"
        ),
    ]

    // MARK: Types

    static let types: [Hint] =
        [
            ("boolean", "cast out"), ("bool", "cast out"), ("uuid", "cast out"), ("timestamptz", "cast out"),
            ("timestamp", "cast out"), ("timestamp with time zone", "cast out"),
            ("timestamp(3) without time zone", "cast out"),
            ("date", "cast out"), ("time", "cast out"), ("interval", "cast out"), ("json", "cast out"),
            ("jsonb", "cast out"),
            ("text[]", "cast out"), ("integer[]", "cast out"), ("int4[]", "cast out"), ("public.state", "cast out"),
            (#""State""#, "cast out"), ("inet", "cast out"), ("varchar(20)[]", "cast out"),
        ].map { type, advice in
            .stream(
                "SELECT id, c::\(type) AS c FROM t",
                "sql.bad_cast",
                advice,
                "SELECT id, c AS c FROM t",
                writes: "c AS c"
            )
        }
        + [
            ("int", "integer"), ("int2", "integer"), ("int4", "integer"), ("int8", "integer"), ("bigint", "integer"),
            ("smallint", "integer"), ("float", "real"), ("float4", "real"), ("float8", "real"),
            ("double precision", "real"),
            ("double", "real"), ("decimal", "numeric"), ("decimal(10, 2)", "numeric"), ("char", "text"),
            ("char(3)", "text"),
            ("character varying", "text"), ("character varying(20)", "text"), ("varchar", "text"),
            ("varchar(20)", "text"),
            ("bpchar", "text"), ("citext", "text"), ("string", "text"), ("bytea", "blob"),
        ].map { type, advice in
            .stream(
                "SELECT id, c::\(type) AS c FROM t",
                "sql.bad_cast",
                "Write “\(advice)”",
                "SELECT id, c::\(advice) AS c FROM t",
                writes: "::\(advice)"
            )
        }

    // MARK: Names

    static let names: [Hint] = [
        .stream(
            "SELECT source, target FROM links",
            "stream.no_id",
            "source || '-' || target AS id",
            "SELECT source, target, source || '-' || target AS id FROM links"
        ),
        .stream(
            "SELECT l.note, l.list_id, l.\"labelId\" FROM links AS \"l\", x WHERE x.a = l.list_id AND x.b = auth.user_id()",
            "stream.no_id",
            "l.list_id || '-' || l.\"labelId\" AS id",
            "SELECT l.note, l.list_id, l.\"labelId\", l.list_id || '-' || l.\"labelId\" AS id FROM links AS \"l\", x WHERE x.a = l.list_id AND x.b = auth.user_id()"
        ),
        .stream(
            "SELECT user_id, theme FROM settings WHERE user_id = auth.user_id()",
            "stream.no_id",
            "user_id AS id",
            "SELECT user_id AS id, theme FROM settings WHERE user_id = auth.user_id()"
        ),
        .stream(
            "SELECT c.id, c.name FROM clients c WHERE c.owner_id = auth.user_id()",
            "table.alias_renames",
            "Write clients in place of the alias",
            "SELECT clients.id, clients.name FROM clients WHERE clients.owner_id = auth.user_id()",
            writes: "clients.id"
        ),
        .stream(
            "SELECT c.id FROM clients c",
            "table.alias_renames",
            #"write the alias as "c""#,
            #"SELECT c.id FROM clients "c""#,
            writes: #"clients "c""#
        ),
        .stream(
            #"SELECT id FROM "t_%" WHERE NOT (_table_suffix = 'x')"#,
            "sql.unknown_column",
            #""t_%".table_suffix()"#,
            #"SELECT id FROM "t_%" WHERE NOT ("t_%".table_suffix() = 'x')"#
        ),
        .stream(
            "SELECT id, upper(a) FROM t",
            "column.unnamed",
            "AS",
            "SELECT id, upper(a) AS a FROM t"
        ),
        .stream(
            "SELECT a AS b, id, * FROM t",
            "column.star_after_alias",
            "Write “*” first",
            "SELECT *, a AS b, id FROM t",
            writes: "SELECT *, a"
        ),
        .stream(
            "SELECT * FROM t WHERE a = -b",
            "sql.unsupported_expr",
            "0 - a",
            "SELECT * FROM t WHERE a = 0 - b",
            writes: "0 - b"
        ),
        .stream(
            "SELECT * FROM t WHERE a == b",
            "sql.syntax",
            "one “=”",
            "SELECT * FROM t WHERE a = b",
            writes: "a = b"
        ),
        .stream(
            "SELECT * FROM t WHERE a = ARRAY[1,2]",
            "sql.unsupported_expr",
            "'[1,2]'",
            "SELECT * FROM t WHERE a = '[1,2]'"
        ),
        .stream("SELECT * FROM user", "sql.syntax", #""user""#, #"SELECT * FROM "user""#),
        .stream(
            "SELECT * FROM t WHERE substrin(a, 1) = 'x'",
            "sql.unknown_function",
            "substring",
            "SELECT * FROM t WHERE substring(a, 1) = 'x'"
        ),
    ]

    // MARK: Bucket definitions

    private static let user = "SELECT request.user_id() AS u"
    private static let mine = "SELECT * FROM t WHERE a = bucket.u"

    static let definitions: [Hint] = [
        .definition(
            "SELECT id AS u FROM x",
            mine,
            "lookup.unbounded",
            "WHERE user_id = request.user_id()",
            "SELECT id AS u FROM x WHERE user_id = request.user_id()",
            mine
        ),
        .definition(
            "",
            "SELECT id, upper(a) FROM t",
            "legacy.alias_required",
            "AS name",
            "",
            "SELECT id, upper(a) AS name FROM t"
        ),
        .definition(
            "",
            "SELECT source, target FROM links",
            "legacy.no_id",
            "source || '-' || target AS id",
            "",
            "SELECT source, target, source || '-' || target AS id FROM links"
        ),
        .definition(
            user,
            "SELECT o.id FROM orders o WHERE o.a = bucket.u",
            "table.alias_renames",
            "Write orders in place of the alias",
            user,
            "SELECT orders.id FROM orders WHERE orders.a = bucket.u",
            writes: "orders.id"
        ),
        .definition(
            "",
            "SELECT id, _table_suffix FROM t",
            "sql.unknown_column",
            #""_table_suffix""#,
            "",
            #"SELECT id, "_table_suffix" FROM t"#
        ),
        .definition("", "SELECT ID FROM t", "sql.case_folded", "else id", "", "SELECT id FROM t", writes: "SELECT id"),
        .definition(
            "SELECT",
            "SELECT * FROM t",
            "sql.unsupported_clause",
            "request.user_id() AS user_id",
            "SELECT request.user_id() AS user_id",
            "SELECT * FROM t WHERE a = bucket.user_id"
        ),
    ]

    // MARK: The file

    static let files: [Hint] = [
        Hint(
            config: "config: {edition: 2}\nstreams: {a: {query: SELECT * FROM a UNION SELECT * FROM b}}",
            code: "sql.not_select",
            advice: "a stream of each",
            mended: "config: {edition: 2}\nstreams: {a: {query: SELECT * FROM a}, b: {query: SELECT * FROM b}}",
            writes: "b: {query: SELECT * FROM b}"
        ),
        Hint(
            config: "config: {edition: 2}\nstreams: {a: {query: SELECT * FROM a; SELECT * FROM b}}",
            code: "sql.many_statements",
            advice: "a stream of each",
            mended: "config: {edition: 2}\nstreams: {a: {query: SELECT * FROM a}, b: {query: SELECT * FROM b}}",
            writes: "b: {query: SELECT * FROM b}"
        ),
        Hint(
            config:
                "config: {edition: 2}\nstreams: {a: {query: WITH x AS (SELECT id FROM a) SELECT * FROM b WHERE a_id IN x}}",
            code: "sql.not_select",
            advice: "in parentheses in the place of its name",
            mended: "config: {edition: 2}\nstreams: {a: {query: SELECT * FROM b WHERE a_id IN (SELECT id FROM a)}}",
            writes: "(SELECT id FROM a)"
        ),
        Hint(
            config: "config: {edition: 3}\nstreams: {a: {query: SELECT * FROM a UNION SELECT * FROM b}}",
            code: "sql.not_select",
            advice: "queries",
            mended: "config: {edition: 3}\nstreams: {a: {queries: [SELECT * FROM a, SELECT * FROM b]}}"
        ),
        Hint(
            config:
                "config: {edition: 3}\nstreams: {a: {query: WITH x AS (SELECT id FROM a) SELECT * FROM b WHERE a_id IN x}}",
            code: "sql.not_select",
            advice: "with",
            mended: """
                config: {edition: 3}
                streams: {a: {with: {x: SELECT id FROM a}, query: SELECT * FROM b WHERE a_id IN x}}
                """
        ),
        Hint(
            config: BucketDefinitionTests.yaml([], ["WITH x AS (SELECT id FROM a) SELECT * FROM x"]),
            code: "sql.not_select",
            advice: "a stream",
            mended: """
                config: {edition: 3}
                streams: {a: {with: {x: SELECT id FROM a}, query: SELECT * FROM x}}
                """,
            writes: "streams"
        ),
        Hint(
            config: "streams: {a: {query: SELECT * FROM a}}",
            code: "streams.edition",
            advice: "config: {edition: 3}",
            mended: "config: {edition: 3}\nstreams: {a: {query: SELECT * FROM a}}"
        ),
        Hint(
            config: "config: {timestamps_iso8601: true}\nstreams: {a: {query: SELECT * FROM a}}",
            code: "streams.edition",
            advice: "edition: 3",
            mended: "config: {edition: 3, timestamps_iso8601: true}\nstreams: {a: {query: SELECT * FROM a}}"
        ),
        Hint(
            config: "config: {edition: 1}\nstreams: {a: {query: SELECT * FROM a}}",
            code: "streams.edition",
            advice: "edition: 3",
            mended: "config: {edition: 3}\nstreams: {a: {query: SELECT * FROM a}}"
        ),
        Hint(
            config: "streams: {a: {query: SELECT * FROM a}}\nbucket_definitions: {b: {data: [SELECT * FROM b]}}",
            code: "streams.edition",
            advice: "config: {edition: 2}",
            mended: """
                config: {edition: 2}
                streams: {a: {query: SELECT * FROM a}}
                bucket_definitions: {b: {data: [SELECT * FROM b]}}
                """
        ),
        Hint(
            config: "config: {edition: 3, storage_version: 5}\nstreams: {a: {query: SELECT * FROM a}}",
            code: "config.storage_version",
            advice: "leave it out",
            mended: "config: {edition: 3}\nstreams: {a: {query: SELECT * FROM a}}",
            writes: "config: {edition: 3}"
        ),
        Hint(
            config: "config: {edition: 3}\nstreams: {a: {qurey: SELECT * FROM a}}",
            code: "yaml.unknown_key",
            advice: "query",
            mended: "config: {edition: 3}\nstreams: {a: {query: SELECT * FROM a}}"
        ),
    ]
}
