import Testing

/// Something wrong with the table `b`.
struct TableFault: CustomTestStringConvertible, Sendable {
    var testDescription: String
    /// What makes it so, as the owner of the table.
    var sql = ""
    /// What another session does, and keeps open.
    var session: String?
    /// What mends it.
    var mending = ""
    /// What a line of the log contains.
    var words: [String]

    static let all = [
        TableFault(
            testDescription: "no grant",
            sql: "REVOKE SELECT ON b FROM {role}",
            mending: "GRANT SELECT ON b TO {role}",
            words: ["public.b", "GRANT SELECT ON public.b TO {role};"]
        ),
        TableFault(
            testDescription: "a lock",
            session: "BEGIN; LOCK TABLE b IN ACCESS EXCLUSIVE MODE",
            mending: "COMMIT",
            words: ["public.b", "is locked by process", "application migration", "pg_terminate_backend("]
        ),
        TableFault(
            testDescription: "unlogged",
            sql: "ALTER TABLE b SET UNLOGGED",
            mending: "ALTER TABLE b SET LOGGED",
            words: ["public.b is unlogged", "ALTER TABLE public.b SET LOGGED;"]
        ),
        TableFault(
            testDescription: "not published",
            sql: "DROP PUBLICATION powersync; CREATE PUBLICATION powersync FOR TABLE a, spare",
            mending: "ALTER PUBLICATION powersync ADD TABLE b",
            words: ["public.b is not in publication", "ADD TABLE public.b;"]
        ),
        TableFault(
            testDescription: "a view",
            sql: "ALTER TABLE b RENAME TO hidden; CREATE VIEW b AS SELECT * FROM hidden; GRANT SELECT ON b TO {role}",
            mending: "DROP VIEW b; ALTER TABLE hidden RENAME TO b",
            words: ["public.b is a view"]
        ),
        TableFault(
            testDescription: "another spelling",
            sql: #"ALTER TABLE b RENAME TO "B""#,
            mending: #"ALTER TABLE "B" RENAME TO b"#,
            words: ["The source has no table “b”", #"write "B""#]
        ),
        TableFault(
            testDescription: "gone",
            sql: "ALTER TABLE b RENAME TO elsewhere",
            mending: "ALTER TABLE elsewhere RENAME TO b",
            words: ["The source has no table “b”"]
        ),
    ]

    /// What keeps no table out.
    static let warnings = [
        TableFault(
            testDescription: "policies",
            sql: "ALTER TABLE b ENABLE ROW LEVEL SECURITY; ALTER ROLE {role} NOBYPASSRLS",
            mending: "ALTER ROLE {role} BYPASSRLS",
            words: ["Policies of public.b apply to role {role}", "ALTER ROLE {role} BYPASSRLS;"]
        ),
        TableFault(
            testDescription: "no identity",
            sql: "ALTER TABLE b DROP CONSTRAINT b_pkey",
            mending: "ALTER TABLE b ADD PRIMARY KEY (id)",
            words: ["public.b has no primary key", "REPLICA IDENTITY USING INDEX"]
        ),
        TableFault(
            testDescription: "a table that nobody reads without identity",
            sql: "ALTER TABLE spare DROP CONSTRAINT spare_pkey; ALTER TABLE spare ALTER id DROP NOT NULL",
            mending: "ALTER TABLE spare ADD PRIMARY KEY (id)",
            words: ["public.spare is in publication powersync and has no replica identity"]
        ),
        TableFault(
            testDescription: "a column that is not there",
            sql: #"ALTER TABLE b RENAME name TO "Name""#,
            mending: #"ALTER TABLE b RENAME "Name" TO name"#,
            words: ["sync config:5:", "“b” has no column “name”", #"write "Name""#]
        ),
    ]

    func sql(_ statement: String, _ role: String) -> String { statement.replacing("{role}", with: role) }
}
