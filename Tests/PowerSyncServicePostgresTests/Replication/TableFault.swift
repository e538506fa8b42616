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

    func sql(_ statement: String, _ role: String) -> String { statement.replacing("{role}", with: role) }
}
