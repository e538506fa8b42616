import NIOConcurrencyHelpers
import PostgresTestSupport
import Testing

@testable import PowerSyncServicePostgres

/// Connections that are kept, and what becomes of work when they are lost.
@Suite(.timeLimit(.minutes(1))) struct PostgresPoolTests {
    private let database: TestDatabase
    private let pool: PostgresPool

    init() async throws {
        database = try TestDatabase("CREATE TABLE t (n int)")
        pool = PostgresPool(database.connectionString, maximumConnections: 2)
        // So that one is kept.
        try await pool.withConnection { _ = try await $0.query("SELECT 1", activity: "testing") }
    }

    private func rows() throws -> Int { try database.run("SELECT 1 FROM t").count }

    /// How the connection is lost, after the server has been sent something that cannot be taken back.
    @Test(arguments: [
        "SELECT pg_terminate_backend(pg_backend_pid())",
        "DO $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(60); END $$",
    ])
    func nothingIsDoneTwice(end: String) async throws {
        let runs = NIOLockedValueBox(0)
        let error = await #expect(throws: PostgresError.self) {
            try await pool.withConnection { connection in
                runs.withLockedValue { $0 += 1 }
                try await connection.query("INSERT INTO public.t VALUES (1)", activity: "testing")
                try await connection.query(end, activity: "testing")
            }
        }
        #expect(error?.code == .connection)
        #expect(runs.withLockedValue { $0 } == 1)
        #expect(try rows() == 1)
        try await pool.withConnection { _ = try await $0.query("INSERT INTO public.t VALUES (2)", activity: "testing") }
        #expect(try rows() == 2)
    }

    @Test func aConnectionThatTheServerHasEndedIsNotUsed() async throws {
        for _ in 0..<3 {
            try database.disconnectEverybody()
            try await pool.withConnection { connection in
                _ = try await connection.query("INSERT INTO public.t VALUES (1)", activity: "testing")
            }
        }
        #expect(try rows() == 3)
    }

    @Test func commitsInDoubtSayIt() async throws {
        try database.run(
            """
            CREATE FUNCTION ends() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(60); RETURN NULL; END $$;
            CREATE CONSTRAINT TRIGGER ends AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION public.ends()
            """
        )
        let runs = NIOLockedValueBox(0)
        let error = await #expect(throws: PostgresError.self) {
            try await PostgresError.repeatingConflicts {
                try await pool.withConnection { connection in
                    try await connection.statements("testing", in: PostgresStorageSchema(name: "public")) { db in
                        runs.withLockedValue { $0 += 1 }
                        _ = try db.transaction { try db.run("INSERT INTO public.t VALUES (1)") }
                    }
                }
            }
        }
        #expect(error?.message.contains("may have been committed, or not") == true, "\(String(describing: error))")
        #expect(error?.sqlState == nil)
        #expect(runs.withLockedValue { $0 } == 1)
    }
}
