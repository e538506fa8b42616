import NIOCore
import NIOPosix
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncServiceCore
import Testing

@testable import PowerSyncServicePostgres

/// Connections to a PostgreSQL server.
@Suite(.timeLimit(.minutes(1))) struct PostgresConnectionTests {
    private let database: TestDatabase

    init() throws {
        database = try TestDatabase("CREATE TABLE numbers AS SELECT n FROM generate_series(1, 5000) n")
    }

    @Test func statementsReturnTexts() async throws {
        let connection = try await PostgresConnection.open(database.connectionString)
        let rows = try await connection.query("SELECT $1::int + 1, NULL, $2", ["41", "ü"], activity: "asking")
        #expect(rows == [["42", nil, "ü"]])
        #expect(try await connection.query("SELECT 1 WHERE false", activity: "asking").isEmpty)
        #expect(try await connection.execute("SELECT 1; SELECT 2", activity: "asking") == [["2"]])
        #expect(connection.serverVersion >= 110_000)
    }

    @Test func nothingIsSentToAnAddressThatIsRejected() async throws {
        var string = database.connectionString
        string.rejectedAddresses.insert("192.168.0.0/16")
        try await PostgresConnection.open(string).close()
        string.rejectedAddresses.insert("127.0.0.0/8")
        let (texts, text) = AsyncStream.makeStream(of: ByteBuffer.self)
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { $0.pipeline.addHandler(FirstBytes(text)) }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        // The name has one address, or two.
        for host in ["127.0.0.1", "localhost"] {
            var rejecting = PostgresConnectionString("postgresql://a:secret@\(host):\(port)/b?sslmode=disable")
            rejecting.rejectedAddresses = .local
            await #expect(
                throws: PostgresError(
                    .connection,
                    "\(host) has an address in a range that reject_ip_ranges refuses",
                    activity: "connecting"
                )
            ) {
                try await PostgresConnection.open(rejecting)
            }
        }
        await #expect(throws: PostgresError.self) { try await PostgresConnection.open(string) }
        try await server.close()
        text.finish()
        for await bytes in texts { Issue.record("the server was sent \(bytes)") }
    }

    /// Tells what a client sends.
    private final class FirstBytes: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer

        private let text: AsyncStream<ByteBuffer>.Continuation

        init(_ text: AsyncStream<ByteBuffer>.Continuation) {
            self.text = text
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            text.yield(unwrapInboundIn(data))
        }
    }

    @Test func theServersErrorsSayWhatWasDone() async throws {
        let connection = try await PostgresConnection.open(database.connectionString)
        await #expect(
            throws: PostgresError(
                .server,
                #"relation "nothing" does not exist"#,
                sqlState: "42P01",
                activity: "counting"
            )
        ) {
            try await connection.query("SELECT count(*) FROM nothing", activity: "counting")
        }
        // The details of such an error have the values.
        try database.run("CREATE TABLE secrets (id text PRIMARY KEY); INSERT INTO secrets VALUES ('1234')")
        await #expect {
            try await connection.query("INSERT INTO public.secrets VALUES ('1234')", activity: "inserting")
        } throws: {
            ($0 as? PostgresError)?.sqlState == "23505" && !"\($0)".contains("1234")
        }
        #expect(try await connection.query("SELECT 1", activity: "asking") == [["1"]])
    }

    @Test func whatTheServerRefusesHasACodeOfTheCatalogue() async throws {
        let connection = try await PostgresConnection.open(database.connectionString)
        func expect(_ code: ErrorCode, _ sql: String) async {
            await #expect {
                try await connection.execute(sql, activity: "asking")
            } throws: {
                ($0 as? PostgresError)?.catalogueCode == code
            }
        }
        await expect(.sourceQuery, "SELECT 1 / 0")
        await expect(.sourceQuery, "SELECT * FROM nothing")
        _ = try await connection.execute("SET statement_timeout TO '1ms'", activity: "limiting")
        await expect(.sourceTimeout, "SELECT pg_sleep(60)")
        #expect(PostgresError(.timeout, "no answer", activity: "asking").catalogueCode == .sourceTimeout)
        for code in [PostgresError.Code.connection, .closed, .noSession] {
            #expect(PostgresError(code, "lost", sqlState: "57P01", activity: "asking").catalogueCode == nil)
        }
    }

    @Test func messagesOfTheServerHaveNoValues() async throws {
        let connection = try await PostgresConnection.open(database.connectionString)
        for (sql, message) in [
            ("SELECT $1::int", #"invalid input syntax for type integer: "…""#),
            ("SELECT $1::int[]", #"malformed array literal: "…""#),
        ] {
            await #expect(throws: PostgresError(.server, message, sqlState: "22P02", activity: "asking")) {
                try await connection.query(sql, [#"my "secret" is"#], activity: "asking")
            }
        }
        // In another language; with a mark that another character begins with; and what is no value.
        #expect(LibPQ.withoutValues("invalide : « secret »", sqlState: "22P02") == "invalide : «…»")
        #expect(LibPQ.withoutValues("value \"\u{301}secret", sqlState: "22000") == "value \"…")
        #expect(LibPQ.withoutValues(#"no "a" and "b""#, sqlState: "42P01") == #"no "a" and "b""#)
    }

    @Test func sessionsHaveTheSameSettingsWhateverTheDatabaseSays() async throws {
        for (name, value) in [
            ("TimeZone", "Asia/Kolkata"), ("DateStyle", "German"), ("IntervalStyle", "iso_8601"),
            ("bytea_output", "escape"), ("extra_float_digits", "-3"), ("search_path", "information_schema"),
            ("statement_timeout", "1"),
        ] {
            try database.runOutside("ALTER DATABASE \(database.name) SET \(name) TO '\(value)'")
        }
        for purpose in [PostgresConnection.Purpose.statements, .replication] {
            let connection = try await PostgresConnection.open(database.connectionString, for: purpose)
            let rows = try await connection.execute(
                """
                SELECT '2024-03-01 12:00:00+02'::timestamptz, '1 day 2 hours'::interval, '\\x00ff'::bytea, 0.1::float8,
                    current_setting('search_path'), pg_sleep(0.01)
                """,
                activity: "asking"
            )
            #expect(rows == [["2024-03-01 10:00:00+00", "1 day 02:00:00", "\\x00ff", "0.1", "\"\"", ""]])
        }
    }

    @Test func aCancelledCallEndsAtOnceAndOnTheServerToo() async throws {
        let connection = try await PostgresConnection.open(database.connectionString)
        let process = try #require(try await connection.query("SELECT pg_backend_pid()", activity: "asking").first?[0])
        let lock = try database.connect()
        try lock.run("BEGIN; LOCK TABLE numbers")
        let call = Task { try await connection.query("SELECT * FROM public.numbers", activity: "waiting") }
        while try database.run("SELECT 1 FROM pg_locks WHERE pid = \(process) AND NOT granted").isEmpty {}
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(!connection.isUsable)
        // The server's process ends although the lock is still held.
        while try !database.run("SELECT 1 FROM pg_stat_activity WHERE pid = \(process)").isEmpty {}
        try lock.run("ROLLBACK")
    }

    @Test func connectionsThatWereEndedAreReplaced() async throws {
        let pool = PostgresPool(database.connectionString, maximumConnections: 1)
        let process = try await pool.withConnection { connection in
            let rows = try await connection.query("SELECT pg_backend_pid()", activity: "asking")
            try await connection.query("SET idle_session_timeout TO 1", activity: "setting")
            return rows.first?.first.flatMap(\.self)
        }
        while try !database.run("SELECT 1 FROM pg_stat_activity WHERE pid = \(try #require(process))").isEmpty {}
        let rows = try await pool.withConnection { try await $0.query("SELECT 1", activity: "asking") }
        #expect(rows == [["1"]])
        pool.close()
    }

    @Test func onlyStatementsAreCancelled() async throws {
        let silent = try await Self.silentServer()
        let port = try #require(silent.localAddress?.port)
        let connecting = try LibPQ()
        #expect {
            try connecting.connect(
                PostgresConnectionString("host=127.0.0.1 port=\(port) user=a dbname=b"),
                [],
                until: .now.advanced(by: .milliseconds(50))
            )
        } throws: {
            ($0 as? PostgresError)?.code == .timeout
        }
        let isCancellable = connecting.cancellation != nil
        #expect(!isCancellable)
        try await silent.close()

        let libpq = try LibPQ()
        let deadline = ContinuousClock.now.advanced(by: .seconds(30))
        try libpq.connect(database.connectionString, [], until: deadline)
        let idle = libpq.cancellation
        #expect(idle.map { _ in true } == nil)
        try libpq.send("SELECT generate_series(1, 1000000000)", nil, until: deadline, "counting")
        // It runs when its first rows are here: before that, a server that is slow would have nothing to cancel.
        try libpq.waitForActivity(.readable, timeout: .seconds(30), "counting")
        try #require(libpq.cancellation).run()
        #expect {
            _ = try libpq.receiveAll(until: deadline, "counting")
        } throws: {
            ($0 as? PostgresError)?.sqlState == PostgresError.SQLState.queryCanceled
        }
    }

    @Test func statementsThatRunTogetherMayTakeLong() async throws {
        let connection = try await PostgresConnection.open(database.connectionString)
        let rows = try await connection.run { libpq in
            var rows = 0
            try libpq.runTogether(
                Array(repeating: (sql: "SELECT pg_sleep(0.6)", arguments: []), count: 4),
                timeout: .seconds(2),
                "sleeping"
            ) { _, _ in rows += 1 }
            return rows
        }
        #expect(rows == 4)
    }

    /// It takes connections, and never says a word.
    private static func silentServer() async throws -> any Channel {
        try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup).bind(host: "127.0.0.1", port: 0).get()
    }

    @Test func aServerThatOnlyReadsIsPassedOver() async throws {
        let standby = try TestCluster()
        try Session(standby.uri).run("ALTER DATABASE postgres SET default_transaction_read_only TO on")
        let keywords = try [standby.uri, database.uri].map { try #require(PostgresConnectionString($0).keywords) }
        func values(_ name: String) -> [String] {
            keywords.map { keywords in keywords.last { $0.name == name }?.value ?? "" }
        }
        let own: [(name: String, value: String)] = [
            ("user", "postgres"), ("dbname", "postgres"), ("host", values("host").joined(separator: ",")),
            ("port", values("port").joined(separator: ",")),
        ]
        let anyServer: [(name: String, value: String)] = [("target_session_attrs", "any")]
        for purpose in [PostgresConnection.Purpose.statements, .replication] {
            for (keywords, place) in [(own, 1), (own + anyServer, 0)] {
                let string = PostgresConnectionString(keywords: keywords)
                let connection = try await PostgresConnection.open(string, for: purpose)
                #expect(try await connection.execute("SHOW port", activity: "asking") == [[values("port")[place]]])
                connection.close()
            }
        }
        #expect(PostgresConnectionString("host=a port=1").wantedSession?.value == nil)
        #expect(PostgresConnectionString("hostaddr=10.0.0.1,10.0.0.2").wantedSession?.value == "read-write")
    }

    @Test func aHostThatDoesNotAnswerIsPassedOver() async throws {
        let silent = try await Self.silentServer()
        let port = try #require(silent.localAddress?.port)
        var keywords = try #require(database.connectionString.keywords)
        let host = keywords.last { $0.name == "host" }?.value ?? "127.0.0.1"
        let own = keywords.last { $0.name == "port" }?.value ?? "5432"
        keywords.removeAll { ["host", "port"].contains($0.name) }
        keywords += [
            (name: "host", value: "127.0.0.1,\(host)"), (name: "port", value: "\(port),\(own)"),
            (name: "connect_timeout", value: "1"),
        ]
        let string = PostgresConnectionString(keywords: keywords)
        let connection = try await PostgresConnection.open(string)
        #expect(try await connection.query("SELECT 1", activity: "asking") == [["1"]])
        try await silent.close()
        #expect(PostgresConnectionString("host=a,b port=1").hosts.map { $0.map(\.value) } == [["a"], ["b"]])
        #expect(PostgresConnectionString("host=a,b port=1,2,3").hosts.map(\.count) == [0])
        #expect(
            PostgresConnectionString("postgresql://a:1,b:2/x").hosts.map { $0.map(\.value) } == [
                ["a", "1"], ["b", "2"],
            ]
        )
    }

    @Test func callsOfCancelledTasksDoNotBegin() async throws {
        let connection = try await PostgresConnection.open(database.connectionString)
        let call = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await connection.query("SELECT 1", activity: "asking")
        }
        await #expect(throws: CancellationError.self) { try await call.value }
    }

    @Test func statementsThatTakeTooLongEnd() async throws {
        let connection = try await PostgresConnection.open(database.connectionString)
        await #expect {
            try await connection.query("SELECT pg_sleep(60)", timeout: .milliseconds(50), activity: "sleeping")
        } throws: {
            ($0 as? PostgresError)?.code == .timeout
        }
        #expect(!connection.isUsable)
    }

    @Test func serversThatAreNotThereAreNamed() async throws {
        await #expect {
            _ = try await PostgresConnection.open(
                PostgresConnectionString("postgresql://me:hunter2@127.0.0.1:1/app?connect_timeout=5")
            )
        } throws: {
            ($0 as? PostgresError)?.code == .connection && "\($0)".contains("127.0.0.1") && !"\($0)".contains("hunter2")
        }
    }

    @Test(
        arguments: [
            "postgresql://me:hunter2@[127.0.0.1/app", "host=127.0.0.1 password='hunter2",
            "host=127.0.0.1 hunter2 = x y",
            "postgresql://me:hunter2@127.0.0.1:99999/app", "postgresql://me:hunter2@127.0.0.1/app?nonsense=1",
        ]
    )
    func passwordsAreNeverShown(_ text: String) async throws {
        let string = PostgresConnectionString(text)
        var dumped = ""
        dump(string, to: &dumped)
        #expect(!"\(string) \(String(reflecting: string)) \(dumped)".contains("hunter2"))
        await #expect { _ = try await PostgresConnection.open(string) } throws: { !"\($0)".contains("hunter2") }
    }

    /// A text that is a password and a name is a name where it is one: what was cut out of a message would tell it.
    @Test func messagesAreWholeWhateverThePasswordIs() async throws {
        let base = database.uri.split(separator: "@").last ?? ""
        for password in ["nobody_here", "e"] {
            await #expect {
                let uri = "postgresql://nobody_here:\(password)@\(base)"
                _ = try await PostgresConnection.open(PostgresConnectionString(uri))
            } throws: {
                "\($0)".contains(#""nobody_here""#)
            }
        }
    }

    private struct Texts: RowReader {
        var texts: [String] = []
        var maximum: Int
        var wantsMore: Bool { texts.count < maximum }

        mutating func read(_ row: LibPQ.Row) {
            texts.append(row.withValue(0) { $0?.string ?? "NULL" })
        }
    }

    @Test func rowsComeInPortions() async throws {
        let connection = try await PostgresConnection.open(database.connectionString)
        try await connection.beginRows(of: "SELECT n FROM public.numbers ORDER BY n", [], activity: "reading")
        var texts: [String] = []
        var hasMore = true
        while hasMore {
            let portion = try await connection.nextRows(
                timeout: .seconds(10),
                activity: "reading",
                Texts(maximum: 1000)
            )
            texts += portion.reader.texts
            hasMore = portion.hasMore
        }
        #expect(texts == (1...5000).map { "\($0)" })
        #expect(try await connection.query("SELECT 1", activity: "asking") == [["1"]])
    }
}
