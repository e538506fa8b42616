import Foundation
import PowerSyncSyncConfig
import PowerSyncTerminal
import TestSupport
import Testing

@testable import PowerSyncGenerator

/// Statements of PostgreSQL and MySQL as people keep them: dumps, migrations by hand and by tools.
@Suite struct DDLSchemaTests {
    /// The tables as `name(column type!, …)`, `!` for one that is never NULL, and how many statements were skipped.
    private static func run(_ texts: String...) -> (tables: [String], skipped: Int) {
        var schema = DDLSchema()
        for text in texts { schema.run(text) }
        return (schema.tables.map(line), schema.skipped)
    }

    private static func line(_ table: DeclaredTable) -> String {
        let schema = table.name.schema == "main" ? "" : "\(table.name.schema)."
        let columns = table.columns.map { "\($0.name) \($0.type)\($0.isNotNull ? "!" : "")" }
        return "\(schema)\(table.name.name)(\(columns.joined(separator: ", ")))"
    }

    @Test func aMigrationOfSupabase() {
        let (tables, skipped) = Self.run(
            """
            create extension if not exists "uuid-ossp" with schema extensions;
            create type public.status as enum ('open', 'done; really');
            create table public.lists (
              id uuid not null default gen_random_uuid (),
              created_at timestamp with time zone not null default now(),
              name text not null default 'a, b)',
              owner_id uuid not null references auth.users (id) on delete cascade,
              size numeric(10, 2) null,
              tags text[] default '{}'::text[],
              state "public"."status" not null default 'open'::status,
              constraint lists_pkey primary key (id),
              constraint name_length check (char_length(name) > 0 and (size >= 0))
            ) tablespace pg_default;
            alter table public.lists enable row level security;
            create policy "owners; all" on lists for all using ((select auth.uid()) = owner_id);
            create or replace function public.touch() returns trigger language plpgsql as $fn$
            begin
              create table nothing (id int);
              new.updated_at := now(); return new;
            end;
            $fn$;
            """
        )
        #expect(
            tables == [
                "lists(id uuid!, created_at timestamp with time zone!, name text!, owner_id uuid!, size numeric(10,2), "
                    + "tags text[], state status!)"
            ]
        )
        #expect(skipped == 5)
    }

    @Test func aDumpOfPostgres() {
        let (tables, skipped) = Self.run(
            #"""
            -- PostgreSQL database dump
            \restrict abc
            SET statement_timeout = 0;
            SELECT pg_catalog.set_config('search_path', '', false);
            CREATE TABLE public.todos (
                id integer NOT NULL,
                "listId" character varying(36),
                key text,
                index integer CHECK (index > 0),
                body bytea DEFAULT '\x00'::bytea,
                done boolean DEFAULT false NOT NULL
            );
            ALTER TABLE public.todos OWNER TO postgres;
            CREATE SEQUENCE public.todos_id_seq AS integer START WITH 1;
            ALTER TABLE ONLY public.todos ALTER COLUMN id SET DEFAULT nextval('public.todos_id_seq'::regclass);
            COPY public.todos (id, "listId", key) FROM stdin;
            1	a;b	CREATE TABLE x (id int);
            2	'	\N
            \.
            ALTER TABLE ONLY public.todos ADD CONSTRAINT todos_pkey PRIMARY KEY (id);
            CREATE TABLE audit.entries (id bigserial, at timestamptz(3));
            """#
        )
        #expect(
            tables == [
                "audit.entries(id bigserial!, at timestamptz(3))",
                "todos(id integer!, listId character varying(36), key text, index integer, body bytea, done boolean!)",
            ]
        )
        #expect(skipped == 6)
    }

    @Test func migrationsChangeWhatEarlierOnesMade() {
        let (tables, _) = Self.run(
            "CREATE TABLE Lists (Id uuid PRIMARY KEY, a int, b int, c int); CREATE TABLE old (id int);",
            """
            ALTER TABLE lists ADD COLUMN IF NOT EXISTS d text NOT NULL DEFAULT '', DROP COLUMN a CASCADE, ALTER b TYPE bigint USING b::bigint;
            ALTER TABLE lists RENAME COLUMN c TO e;
            ALTER TABLE lists ALTER COLUMN b SET NOT NULL, ALTER COLUMN d DROP NOT NULL;
            -- migrate:down
            DROP TABLE lists;
            """,
            "DROP TABLE IF EXISTS old CASCADE; ALTER TABLE lists RENAME TO groups; CREATE TABLE IF NOT EXISTS groups (x int);",
            "CREATE TABLE copies (LIKE groups INCLUDING ALL, note text); CREATE TEMP TABLE t (id int);",
            "ALTER TABLE copies SET SCHEMA app; CREATE TABLE parts PARTITION OF groups FOR VALUES IN (1);"
        )
        #expect(
            tables == [
                "app.copies(id uuid!, b bigint!, e int, d text, note text)",
                "groups(id uuid!, b bigint!, e int, d text)",
            ]
        )
    }

    @Test func aDumpOfMySQL() {
        let (tables, skipped) = Self.run(
            #"""
            /*!40101 SET NAMES utf8mb4 */;
            # A comment; with a semicolon
            DROP TABLE IF EXISTS `Todos`;
            CREATE TABLE `Todos` (
              `id` int unsigned NOT NULL AUTO_INCREMENT,
              `list_id` varchar(36) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL COMMENT 'it\'s; a list',
              `state` enum('open','done') NOT NULL DEFAULT 'open',
              `done` tinyint(1) DEFAULT '0',
              `made_in` year(4) DEFAULT NULL,
              `at` datetime(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
              PRIMARY KEY (`id`),
              UNIQUE KEY `one` (`list_id`,`state`),
              KEY `by_list` (`list_id`(10)),
              FULLTEXT KEY `words` (`state`),
              CONSTRAINT `fk` FOREIGN KEY (`list_id`) REFERENCES `lists` (`id`) ON DELETE CASCADE
            ) ENGINE=InnoDB AUTO_INCREMENT=3 DEFAULT CHARSET=utf8mb4;
            INSERT INTO `Todos` VALUES (1,'a\'b;c','open',0,NULL);
            DELIMITER ;;
            CREATE TRIGGER t BEFORE INSERT ON `Todos` FOR EACH ROW BEGIN SET NEW.id = 1; END;;
            DELIMITER ;
            ALTER TABLE `Todos` ADD COLUMN `note` text AFTER `done`, MODIFY `done` int NOT NULL, CHANGE `at` `made` date;
            """#
        )
        #expect(
            tables == [
                "Todos(id int unsigned!, list_id varchar(36), state enum('','')!, done int!, made_in integer, made date, note text)"
            ]
        )
        #expect(skipped == 2)
    }

    @Test(arguments: [
        "CREATE TABLE", "CREATE TABLE a", "CREATE TABLE a (", "CREATE TABLE a (b", "ALTER TABLE a ADD", "'", "$$x",
        "\"", "/*",
    ])
    func whatIsBrokenOffTrapsNothing(_ text: String) {
        #expect(Self.run(text).tables.count <= 1)
    }

    @Test func aFolderIsReadInTheOrderOfItsMigrations() throws {
        let folder = try TemporaryFolder()
        for (path, text) in [
            ("migrations/2024_b/migration.sql", "ALTER TABLE lists ADD name text;"),
            ("migrations/2023_a/migration.sql", "CREATE TABLE lists (id uuid PRIMARY KEY DEFAULT gen_random_uuid());"),
            ("migrations/2024_b/down.sql", "DROP TABLE lists;"), ("migrations/notes.txt", "CREATE TABLE x (id int);"),
            ("migrations/0003_x.down.sql", "DROP TABLE lists;"),
        ] {
            let file = URL(filePath: folder.path(path))
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        let tables = try DeclaredTable.all(in: folder.path("migrations"))
        #expect(tables.map(Self.line) == ["lists(id uuid!, name text)"])
        let schema = try SourceSchema(contentsOf: folder.path("migrations"))
        #expect(schema.isDefaultForTests("public"))
        #expect(throws: UnreadableFile.self) { try DeclaredTable.all(in: folder.path("migrations/2024_b")) }
    }

    @Test func aFileThatSQLiteDoesNotTakeIsReadToo() throws {
        let folder = try TemporaryFolder()
        try "SET x = 1;\nCREATE TABLE a (id uuid DEFAULT gen_random_uuid());".write(
            toFile: folder.path("schema.sql"),
            atomically: true,
            encoding: .utf8
        )
        #expect(try DeclaredTable.all(in: folder.path("schema.sql")).map(Self.line) == ["a(id uuid)"])
    }
}

extension SourceSchema {
    fileprivate func isDefaultForTests(_ schema: String) -> Bool {
        schema == defaultSchema || defaultSchemaAliases.contains(schema)
    }
}
