import Testing

@testable import PowerSyncServicePostgres

/// Connection URIs as people write them: no part of a password is shown, and what is wrong is said.
@Suite struct ConnectionURITests {
    /// Passwords that nobody has escaped, in URIs that libpq would take apart elsewhere.
    static let unescaped = [
        "hun@ter2", "hunter2@", "@hunter2", "hun/ter2", "/hunter2", "hun@ter2/x", "12/hun@ter2", "hun@ter2:5432",
        "hun?ter2@x",
        "h@u@n@ter2", "12/hunter2", "hun@ter2?user=x",
    ]

    @Test(arguments: unescaped)
    func noPartOfAPasswordIsTakenForAHostOrADatabase(_ password: String) async throws {
        for uri in [
            "postgresql://me:\(password)@127.0.0.1:1/app", "postgres://me:\(password)@127.0.0.1:1/app?sslmode=disable",
            "postgresql://me:\(password)@127.0.0.1",
        ] {
            let string = PostgresConnectionString(uri)
            #expect(string.keywords == nil, "\(uri)")
            #expect(string.problem == .ambiguous, "\(uri)")
            await #expect { _ = try await PostgresConnection.open(string) } throws: {
                !"\($0)".contains("ter2") && !"\($0)".contains("hun")
            }
        }
    }

    @Test func passwordsThatAreEscapedAreWhatTheyAre() throws {
        let string = PostgresConnectionString(
            "postgresql://me:h%40u%2Fn?t:e#r@127.0.0.1/app?schema=public&pgbouncer=true"
        )
        #expect(string.foreignParameters == ["schema", "pgbouncer"])
        #expect(string.problem == nil)
        let keywords = Dictionary(try #require(string.keywords).map { ($0.name, $0.value) }) { $1 }
        #expect(keywords == ["user": "me", "password": "h@u/n?t:e#r", "host": "127.0.0.1", "dbname": "app"])
    }

    @Test(arguments: [
        ("?pgbouncer=true", ""), ("?connection_limit=1&sslmode=disable", "?sslmode=disable"),
        ("?sslmode=disable&pool_timeout=0&connect_timeout=5", "?sslmode=disable&connect_timeout=5"),
        ("?sslmode=disable", "?sslmode=disable"), ("", ""), ("?what=1", "?what=1"),
    ])
    func parametersOfOtherProgramsDoNotCountAndTheRestStays(query: String, kept: String) {
        #expect(PostgresConnectionString("postgresql://u:p@h/d\(query)").text == "postgresql://u:p@h/d\(kept)")
    }

    @Test(arguments: PostgresConnectionString.parametersOfOthers.sorted())
    func eachParameterOfOthers(_ name: String) {
        let string = PostgresConnectionString("postgresql://u:p@h/d?\(name)=public&application_name=a")
        #expect(string.text == "postgresql://u:p@h/d?application_name=a")
        #expect(string.foreignParameters == [name])
        #expect(string.problem == nil)
        // libpq knows none of them: else it would be one that counts.
        #expect(PostgresConnectionString("postgresql://u:p@h/d?x\(name)=1").problem == .parameter("x\(name)"))
    }

    @Test(
        arguments: [
            ("mysql://u:hunter2@h/d", .scheme("mysql")), ("jdbc:postgresql://h/d", .scheme("jdbc:postgresql")),
            ("postgresql://u:hunter2%z@h/d", .escape), ("postgresql://u:p@h/d?what=1", .parameter("what")),
            ("postgresql://u:p@h/d?schema=app", .schema("app")), ("hunter2", .unreadable), ("", nil),
            ("postgresql://u:hunter2@h/d", nil), ("host=h dbname=d", nil), ("host=h hunter2", .unreadable),
        ] as [(String, PostgresConnectionString.Problem?)]
    )
    func problems(text: String, problem: PostgresConnectionString.Problem?) {
        #expect(PostgresConnectionString(text).problem == problem)
    }
}
