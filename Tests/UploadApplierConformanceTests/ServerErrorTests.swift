import Foundation
import NIOConcurrencyHelpers
import PowerSyncBackend
import Testing

/// Errors of servers: what the app says about them, what reasons quote, and what takes too long.
@Suite(.timeLimit(.minutes(1))) struct ServerErrorTests {
    private typealias Scenario = ApplierScenario

    /// A trigger that raises an error of the app's own for the name `archived`.
    private static func raising(_ kind: Kind) -> [String] {
        switch kind {
        case .sqlite: []
        case .postgres:
            [
                """
                CREATE FUNCTION archived() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                  IF NEW.name = 'archived' THEN RAISE EXCEPTION 'archived' USING ERRCODE = 'APP01'; END IF; RETURN NEW;
                END $$
                """,
                "CREATE TRIGGER archived BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION archived()",
            ]
        case .mysql:
            [
                """
                CREATE TRIGGER archived BEFORE INSERT ON notes FOR EACH ROW BEGIN
                  IF NEW.name = 'archived' THEN
                    SIGNAL SQLSTATE 'APP01' SET MYSQL_ERRNO = 31001, MESSAGE_TEXT = 'archived';
                  END IF;
                END
                """
            ]
        }
    }

    @Test(arguments: [Kind.postgres, .mysql], [true, false])
    func theAppSaysWhatItsErrorsMean(_ kind: Kind, isRejection: Bool) async throws {
        var options = UploadApplierOptions()
        options.serverErrors = { error in
            guard error.sqlState == "APP01", error.number == (kind == .mysql ? 31001 : nil) else { return nil }
            return isRejection ? .reject("The list is archived.", code: .forbidden) : .failure
        }
        let scenario = try await Scenario(kind, adding: Self.raising(kind), options: options)
        let entries = [
            Scenario.put(1, "a", table: "notes"), Scenario.put(2, "b", name: "archived", table: "notes"),
            Scenario.put(3, "c", table: "notes"),
        ]
        let response = try await scenario.apply(entries)
        #expect(response.appliedThrough == 1)
        #expect(
            response.rejections.map { "\($0.operationID) \($0.code) \($0.message)" }
                == (isRejection ? ["2 forbidden The list is archived."] : [])
        )
        #expect(try await scenario.rows("notes").map { $0.prefix(1) } == ["a"])
    }

    /// Clients log reasons.
    @Test(arguments: [Kind.postgres, .mysql]) func reasonsDoNotQuoteValues(_ kind: Kind) async throws {
        let table =
            kind == .postgres
            ? "CREATE TABLE things (id TEXT PRIMARY KEY, place INTEGER, day DATE, code TEXT UNIQUE)"
            : "CREATE TABLE things (id VARCHAR(255) PRIMARY KEY, place INTEGER, day DATE, code VARCHAR(255) UNIQUE)"
        let scenario = try await Scenario(kind, adding: [table])
        func entry(_ number: Int64, _ column: String, _ value: String) -> UploadEntry {
            UploadEntry(
                operationID: number,
                op: .put,
                table: "things",
                id: "t\(number)",
                data: [column: .string(value)]
            )
        }
        try await scenario.apply([entry(1, "code", "private 'one'")])
        for (number, column, value) in [
            (2, "day", "private \"day\" o'clock"), (3, "place", "99999999999999"), (4, "code", "private 'one'"),
        ] as [(Int64, String, String)] {
            let rejections = try await scenario.apply([entry(number, column, value)]).rejections
            #expect(rejections.count == 1, "\(column)")
            #expect(
                rejections.allSatisfy { !$0.message.contains("private") && !$0.message.contains("9999") },
                "\(rejections)"
            )
        }
    }

    @Test(arguments: [Kind.postgres, .mysql])
    func aRequestThatTakesTooLongIsAnErrorAndTheNextOneIsApplied(_ kind: Kind) async throws {
        var options = UploadApplierOptions()
        options.requestTimeLimit = .milliseconds(500)
        let isFirst = NIOLockedValueBox(true)
        let rule = Rule(statement: { _ in
            let isSlow = isFirst.withLockedValue { first in
                defer { first = false }
                return first
            }
            guard isSlow else { return nil }
            return kind == .postgres ? "SELECT pg_sleep(30)" : "DO SLEEP(30)"
        })
        let scenario = try await Scenario(kind, options: options, rule: rule)
        let entries = [Scenario.put(1, "a")]
        await #expect(throws: UploadTimeLimitError(limit: .milliseconds(500))) { try await scenario.apply(entries) }
        let later = try await scenario.database.anotherApplier(UploadApplierOptions(), .everything)
        let response = try await later.apply(
            UploadRequest(clientID: "c1", entries: entries),
            for: BackendUser(id: "u1")
        )
        #expect(response.appliedThrough == 1)
        #expect(try await scenario.log() == ["+a"])
    }
}
