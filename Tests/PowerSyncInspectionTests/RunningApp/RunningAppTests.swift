import ArgumentParser
import Foundation
import NIOConcurrencyHelpers
import PowerSync
import PowerSyncClient
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTerminal
import PowerSyncTesting
import Testing

@testable import PowerSyncInspection

/// What `powersync inspect --app` prints of an app that runs.
@Suite(.timeLimit(.minutes(1))) struct RunningAppTests {
    @Test func theStatusIsPrintedForPeopleAndForTools() async throws {
        let fixture = try await RunningAppFixture()
        fixture.service.uploads.answer(.hold)
        try await fixture.database.execute("UPDATE lists SET name = 'Hidden' WHERE id = 'l1'")
        _ = try await fixture.service.uploads.next()
        try await fixture.whileListening {
            let lines = try await fixture.lines()
            #expect(lines[0] == "connected")
            #expect(lines[1].hasPrefix("last synced at 20"))
            #expect(lines.contains { $0.hasPrefix("upload waits for the app to upload 1 local write, since 20") })
            #expect(lines.contains { $0.hasPrefix("1 write of 1 transaction to upload, ") })
            #expect(
                lines.contains {
                    $0.hasPrefix("bucket ") && $0.contains("1 operation, ") && $0.contains(", priority 1")
                }
            )
            #expect(lines.contains { $0.hasPrefix("stream lists: by default, last synced at 20") })
            #expect(!lines.joined().contains("Hidden") && !lines.joined().contains("Groceries"))

            let document = try await fixture.lines("--json")
            #expect(document.count == 1)
            let status = try JSONObject(parsing: document[0])
            #expect(status["isConnected"] == true && status["bucketCount"] == 1)
            #expect(status["queue"]?.text.hasPrefix(#"{"writes":1,"transactions":1,"#) == true)
        }
        fixture.service.uploads.answer(.apply)
        try await fixture.database.close()
    }

    @Test func everyPartOfAStatusHasItsLine() throws {
        let status = try JSONObject(
            parsing: """
                {"isConnected":false,"waits":{"mode":"full","download":{"for":"x","since":"2026"},"hasWritesOfAnotherUser":true},
                "queue":{"writes":2,"transactions":1,"bytes":9,"rejectedWrites":3},"downloadError":"no","uploadError":"never",
                "bucketCount":3,"buckets":[{"name":"a","priority":1,"downloadedOperations":1,"downloadedBytes":2,
                "operationsToDownload":4,"operationsOfDownload":3,"isShown":false}],"streams":[{"name":"s","parameters":{"p":1},
                "isActive":false,"isSubscribed":true},{"name":"t","isUnknown":true,"isLeftOut":true}],"setAsideRowCount":1,
                "setAsideRows":[{"table":"t","id":"i","reason":"r"}]}
                """
        )
        #expect(
            AppStatusText(status).lines == [
                "not connected", "never synced", "download waits for x, since 2026", "uploading writes of another user",
                "2 writes of 1 transaction to upload, 9 bytes, 3 rejected", "download error: no",
                "upload error: never",
                "bucket a: 1 operation, 2 bytes, priority 1, downloading 3 of 4, not shown yet", "and 2 more buckets",
                #"stream s {"p":1}: subscribed, not active, never synced"#,
                "stream t: left out, because there are too many subscriptions, not known to the service, never synced",
                "set aside: t i: r",
            ]
        )
        #expect(AppStatusText([:]).lines.first == "not connected")
    }

    @Test func rowsArePrintedAsATable() async throws {
        let fixture = try await RunningAppFixture()
        try await fixture.whileListening {
            #expect(
                try await fixture.lines("--sql", "SELECT id, name, NULL AS missing, x'00ff' AS bytes, 1.5 FROM lists")
                    == [
                        "  id  name       missing  bytes      1.5", "  l1  Groceries  NULL     blob AP8=  1.5", "1 row",
                    ]
            )
            let first = try await fixture.lines("--sql", "VALUES ('a\u{1b}[31m'), (9e999)", "--limit", "1")
            #expect(first.last == "1 row, and there are more")
            #expect(first.joined().contains("\\u001b[31m"))
            #expect(try await fixture.lines("--sql", "SELECT 9e999 AS a")[1] == "  inf")
            #expect(
                try await fixture.lines("--json", "--sql", "SELECT ? AS a", "--parameters", #"["x"]"#)
                    == [#"{"columns":["a"],"rows":[["x"]],"isComplete":true}"#]
            )
            for sql in ["DELETE FROM lists", "SELECT * FROM nothing"] {
                let error = await #expect(throws: RunningAppError.self) { try await fixture.lines("--sql", sql) }
                #expect(error?.code == .refused)
            }
        }
        try await fixture.database.close()
    }

    @Test func aStreamIsSubscribedToUntilItIsUnsubscribed() async throws {
        let fixture = try await RunningAppFixture()
        let parameters = ["--parameters", #"{"list":"l1"}"#]
        try await fixture.whileListening {
            #expect(
                try await fixture.lines("--subscribe", "todos", parameters[0], parameters[1])
                    == ["subscribed to todos, until the app listens no more"]
            )
            try await fixture.database.waitForStatus { status in
                status.syncStreams?.contains { $0.subscription.name == "todos" && $0.subscription.hasSynced } == true
            }
            #expect(try await fixture.lines("--sql", "SELECT title FROM todos") == ["  title", "  Milk", "1 row"])
            #expect(
                try await fixture.lines().contains { $0.hasPrefix(#"stream todos {"list":"l1"}: subscribed, last"#) }
            )
            #expect(
                try await fixture.lines("--unsubscribe", "todos", parameters[0], parameters[1])
                    == ["unsubscribed from todos"]
            )
            let error = await #expect(throws: RunningAppError.self) {
                try await fixture.lines("--unsubscribe", "todos", parameters[0], parameters[1])
            }
            #expect(error?.code == .refused)
            #expect(
                try await fixture.lines("--unsubscribe", "todos", parameters[0], parameters[1], "--all")
                    == ["unsubscribed from todos"]
            )
        }
        try await fixture.database.close()
    }

    @Test func theStatusIsFollowedUntilTheAppListensNoMore() async throws {
        let fixture = try await RunningAppFixture()
        try await fixture.whileListening {
            let (prints, printed) = AsyncStream.makeStream(of: [String].self)
            async let following: Void = AppInspection(
                app: fixture.app,
                request: .follow,
                format: .text,
                printing: { printed.yield($0) }
            ).run()
            var iterator = prints.makeAsyncIterator()
            #expect(await iterator.next()?.first == "connected")
            try await fixture.database.disconnect()
            var lines = await iterator.next()
            while let next = lines, next.first != "not connected" { lines = await iterator.next() }
            #expect(lines?.first == "not connected")
            try await fixture.database.close()
            try await following
        }
    }

    @Test func whatDoesNotAnswerIsNamed() async throws {
        let fixture = try await RunningAppFixture()
        let missing = await #expect(throws: RunningAppError.self) { try await fixture.lines() }
        #expect(missing?.code == .notListening)
        #expect(missing?.message.contains("listenForInspection(at:)") == true)
        try Data().write(to: URL(filePath: fixture.path))
        let file = await #expect(throws: RunningAppError.self) { try await fixture.lines() }
        #expect(file?.code == .notListening)
        let long = RunningApp(path: fixture.path + String(repeating: "x", count: 200))
        let tooLong = await #expect(throws: RunningAppError.self) { try await long.ask(.status) }
        #expect(tooLong?.code == .notListening)
        try await fixture.database.close()
    }

    @Test func aTokenIsInNoAnswer() async throws {
        let fixture = try await RunningAppFixture()
        let token = try #require(try await fixture.service.connector(user: "u1").fetchCredentials()?.token)
        // Tokens of one user differ in their signature at most.
        let payload = try #require(token.split(separator: ".").dropFirst().first)
        try await fixture.whileListening {
            var answers = try await fixture.app.ask(.status).text
            let tables = try await fixture.app.ask(
                .query(InspectionQuery(sql: "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')"))
            )
            guard case .array(let rows)? = tables["rows"] else {
                Issue.record("\(tables.text)")
                return
            }
            #expect(rows.count > 10)
            for case .array(let row) in rows {
                guard case .string(let name)? = row.first else { continue }
                answers += try await fixture.app.ask(.query(InspectionQuery(sql: "SELECT * FROM \"\(name)\""))).text
            }
            #expect(answers.contains("Groceries"))
            #expect(!answers.contains(token) && !answers.contains(payload))
        }
        try await fixture.database.close()
    }

    @Test(arguments: [
        [], ["a.db", "--app", "b"], ["a.db", "--sql", "SELECT 1"], ["a.db", "--mcp"], ["a.db", "--follow"],
        ["--app", "a", "--key", "k"], ["--app", "a", "--key-file", "k"], ["--app", "a", "--rows"],
        ["--app", "a", "--sql", "SELECT 1", "--follow"], ["--app", "a", "--mcp", "--subscribe", "s"],
        ["--app", "a", "--limit", "1"], ["--app", "a", "--sql", "SELECT 1", "--limit", "0"], ["--app", "a", "--all"],
        ["--app", "a", "--allow-subscriptions"], ["--app", "a", "--subscribe", "s", "--parameters", "{"],
        ["--app", "a", "--subscribe", "s", "--parameters", "[]"],
        ["--app", "a", "--sql", "SELECT ?", "--parameters", "{}"],
        ["--app", "a", "--parameters", "{}"],
    ])
    func argumentsThatDoNotGoTogetherAreRefused(arguments: [String]) {
        #expect(throws: (any Error).self) { try InspectCommand.parse(arguments) }
    }
}
