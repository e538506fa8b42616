import PowerSyncServicePostgres
import Testing

/// What is to be done about an error of a connection: what its cause asks for, and nothing else.
@Suite struct ConnectionRemedyTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var code = PostgresError.Code.connection
        var message: String
        var state: String?
        var activity = "connecting"
        /// A part of the advice; `nil` for none.
        var advice: String?
        var testDescription: String { "\(state ?? "no state"), \(message)" }
    }

    @Test(arguments: [
        Case(
            message: #"connection to server at "h" (10.0.0.1), port 5432 failed: Connection refused"#,
            advice: "listens on more than localhost"
        ),
        Case(message: #"connection to server at "h", port 5432 failed: timeout expired"#, advice: "firewalls"),
        Case(message: #"connection to server at "h", port 5432 failed: Connection timed out"#, advice: "firewalls"),
        Case(message: #"connection to server at "h", port 5432 failed: No route to host"#, advice: "firewalls"),
        Case(message: #"connection to server at "h", port 5432 failed: Network is unreachable"#, advice: "firewalls"),
        Case(code: .timeout, message: "The server did not answer in time.", advice: "firewalls"),
        Case(code: .timeout, message: "The server did not answer in time.", activity: "reading the catalogue"),
        Case(
            message: #"could not translate host name "h" to address: Name or service not known"#,
            advice: "Check hostname"
        ),
        Case(message: #"connection to server at "h", port 5432 failed: FATAL:  the database system is starting up"#),
        Case(
            message:
                #"connection to server at "h", port 5432 failed: FATAL:  no more connections allowed (max_client_conn)"#
        ),
        Case(message: "server closed the connection unexpectedly"), Case(message: "The server has ended the stream."),
        Case(message: "terminating connection due to administrator command", state: "57P01", advice: "its log"),
        Case(message: "the database system is starting up", state: "57P03", advice: "wait for it"),
        Case(
            message: "terminating connection due to idle-session timeout",
            state: "57P05",
            advice: "idle_session_timeout"
        ),
        Case(
            message: "terminating connection due to idle-in-transaction timeout",
            state: "25P03",
            advice: "idle_in_transaction"
        ),
        Case(message: "sorry, too many clients already", state: "53300", advice: "max_connections"),
        Case(message: "server conn crashed?", state: "08P01"), Case(message: "query_wait_timeout", state: "08P01"),
        Case(message: "terminating walsender process due to replication timeout", state: "XX000"),
    ])
    func adviceFitsTheCause(_ test: Case) {
        let error = PostgresError(test.code, test.message, sqlState: test.state, activity: test.activity)
        let remedy = PostgresCheck.remedy(for: error)
        if let advice = test.advice {
            #expect(remedy?.contains(advice) == true, "\(remedy ?? "nothing")")
        } else {
            #expect(remedy == nil)
        }
    }
}
