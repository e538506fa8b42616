import Foundation
import GRDB
import Logging
import PowerSyncProtocol
import PowerSyncServiceCore
import RunningServiceTestSupport
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncService

/// The page in a real browser.
///
/// Pictures of it are kept in `.build/screenshots`.
@Suite(.serialized, .timeLimit(.minutes(4)), .enabled(if: !Browser.isUnwanted, "POWERSYNC_NO_BROWSER is set"))
struct DashboardPageTests {
    private typealias Admin = AdminScenario
    private typealias Scenario = ServiceScenario

    // MARK: Ways in

    @Test func theAddressThatDevPrintsIsEnough() async throws {
        try await Scenario.run {
            $0.development.dashboard = true
        } _: { scenario in
            let url = try #require(scenario.service.dashboardURL(at: scenario.address))
            let browser = try await Browser()
            try await browser.send("Page.navigate", ["url": .string(url)])
            try await browser.wait(until: "document.getElementById('state').textContent == 'Live'")
            #expect(try await browser.value("document.getElementById('login').hidden") == .bool(true))
            // The key is in the tab, not in the address.
            #expect(try await browser.text("location.href") == scenario.address.url + "/dashboard")
            try await browser.send("Page.reload")
            try await browser.wait(until: "document.getElementById('state').textContent == 'Live'")
            #expect(browser.problems.isEmpty, "\(browser.problems)")
        }
    }

    @Test func whoeverLeavesHearsNothingMore() async throws {
        try await Admin.run { scenario in
            let browser = try await Browser()
            // What the page does now and then, to be done at once and later.
            try await browser.send(
                "Page.addScriptToEvaluateOnNewDocument",
                [
                    "source": """
                    globalThis.ticks = [];
                    const every = globalThis.setInterval;
                    globalThis.setInterval = (tick, pause) => { ticks.push(tick); return every(tick, pause); };
                    """
                ]
            )
            let aMinuteLater = """
                (() => {
                  const now = Date.now;
                  Date.now = () => now() + 60000;
                  for (const tick of ticks) tick();
                  Date.now = now;
                  return document.getElementById('state').textContent;
                })()
                """
            try await Self.signIn(browser, scenario)
            try await browser.wait(until: "document.getElementById('state').textContent == 'Live'")
            let silence = try await browser.text(aMinuteLater)
            #expect(silence.hasPrefix("No news for 6"), "\(silence)")
            _ = try await browser.value("document.getElementById('leave').click()")
            #expect(try await browser.text(aMinuteLater) == "Not signed in")
            #expect(try await browser.value("document.getElementById('panels').hidden") == .bool(true))
        }
    }

    // MARK: Tables, plots and rows

    @Test func tablesAreSortedAndPlotsReadByKeyboard() async throws {
        try await Admin.run { scenario in
            let rows = ["anna": 1, "bert": 3, "carl": 2].flatMap { user, count in
                (0..<count).map { Scenario.put("lists", "\(user)\($0)", ["owner_id": .string(user), "name": "Milk"]) }
            }
            try await scenario.write(rows)
            try await scenario.settle()
            let browser = try await Browser()
            try await Self.signIn(browser, scenario)
            try await browser.wait(until: "document.getElementById('bucket-table').rows.length > 3")
            try await browser.wait(until: "document.getElementById('usage-table').textContent.includes('bert')")
            func users() async throws -> [String] {
                try await Self.rows("bucket-table", browser).compactMap { row in
                    row[0].firstMatch(of: /lists\|0\["(\w+)"\]/).map { String($0.1) }
                }
            }
            #expect(try await users() == ["bert", "carl", "anna"])
            let title = "document.querySelectorAll('#bucket-table th button')"
            for (column, expected, order) in [
                (0, ["anna", "bert", "carl"], "ascending"), (0, ["carl", "bert", "anna"], "descending"),
                (1, ["bert", "carl", "anna"], "descending"), (1, ["anna", "carl", "bert"], "ascending"),
            ] {
                _ = try await browser.value("\(title)[\(column)].focus()")
                try await browser.press("Enter", text: "\r")
                #expect(try await users() == expected, "\(column) \(order)")
                let sort = try await browser.text("\(title)[\(column)].parentElement.getAttribute('aria-sort')")
                #expect(sort == order)
            }
            #expect(
                try await Self.rows("usage-table", browser).first?[0...3] == ["lists", #"1#lists|0["bert"]"#, "3", "3"]
            )

            // The last six hours, and a value by keyboard.
            _ = try await browser.value("document.querySelectorAll('#ranges button')[2].click()")
            let plot = "document.querySelectorAll('#plots figure')[3]"
            try await browser.wait(until: "\(plot).textContent.includes('6 h ago')")
            _ = try await browser.value("\(plot).querySelector('svg').focus()")
            try await browser.press("ArrowLeft")
            #expect(try await browser.text("\(plot).querySelector('.top').textContent").contains(" at "))

            // Rows, with the token of their user.
            _ = try await browser.value("document.getElementById('user-token').value = '\(try scenario.token("bert"))'")
            try await Self.look(browser, user: "bert")
            try await browser.wait(until: "document.getElementById('user-rows')")
            #expect(try await Self.rows("user-rows", browser).map { $0[1] } == ["bert0", "bert1", "bert2"])
            #expect(browser.problems.isEmpty, "\(browser.problems)")
            try await Self.takePictures("hours", browser)
        }
    }

    // MARK: Small

    @Test func everyPanelShowsWhatTheServiceSays() async throws {
        try await Admin.run { scenario in
            let rows = (0..<5).map { Scenario.put("lists", "l\($0)", ["owner_id": "anna", "name": "list"]) }
            try await scenario.write(rows + [Scenario.put("todos", "t", ["list_id": "l1", "title": "x"])])
            try await scenario.settle()
            var stream = try await scenario.stream(
                try scenario.token("anna"),
                ["raw_data": true, "client_id": "device-1"]
            )
            _ = try await stream.untilComplete()

            let browser = try await Browser()
            try await Self.signIn(browser, scenario, token: "not a token")
            try await browser.wait(
                until: "document.getElementById('login-error').textContent.includes('does not know')"
            )
            #expect(try await browser.value("document.getElementById('panels').hidden") == .bool(true))
            // The browser says that it was refused, and for that reason only.
            #expect(browser.problems.allSatisfy { $0.contains("401") }, "\(browser.problems)")
            try await browser.takePicture("sign-in")
            browser.forgetProblems()
            try await browser.type(Admin.token)
            try await browser.press("Enter", text: "\r")
            try await browser.wait(until: "document.getElementById('client-table').rows.length > 1")
            try await browser.wait(until: "document.getElementById('client-table').textContent.includes('up to date')")
            try await browser.wait(until: "document.getElementById('bucket-table').rows.length > 2")
            try await browser.wait(until: "document.querySelector('#config-content pre')")
            try await browser.wait(until: "document.getElementById('storage-facts').textContent.includes('Buckets')")
            // Two snapshots make a rate.
            try await browser.wait(until: "document.querySelectorAll('#plots b')[1].textContent == '0/s'")

            var reader = try await WatchedSnapshots(scenario)
            let snapshot = try await reader.next { ($0.storage.sizes?.buckets ?? 0) > 1 }
            let replication = try await Self.facts("replication-facts", browser)
            #expect(replication["Source"] == snapshot.replication.source)
            #expect(replication["Rows"] == "\(snapshot.replication.rows)")
            #expect(replication["Transactions"] == "\(snapshot.replication.transactions)")
            #expect(snapshot.replication.lagSeconds == 0)
            #expect(replication["Lag"] == "0 s")
            let active = try #require(snapshot.replication.streams.first)
            let streams = try await Self.rows("streams", browser)
            #expect(streams.count == 1)
            #expect(streams[0][0...4] == ["\(active.id)", "active", "", "3 of 3 copied", active.checkpoint ?? ""])
            #expect(streams[0][7] == active.slot)

            let client = try #require(snapshot.clients.list.first)
            let clients = try await Self.rows("client-table", browser)
            #expect(clients.count == 1)
            #expect(clients[0][0...2] == ["anna", "device-1", "up to date"])
            #expect(clients[0][4] == "has checkpoint \(client.checkpoint ?? "?")")
            #expect(clients[0][5] == "\(client.buckets)")
            #expect(clients[0][6].hasPrefix("\(client.operations) ops, "))
            #expect(try await Self.facts("client-facts", browser)["Open streams"] == "1")

            let listed = try await scenario.dashboard("buckets")
            let buckets = try await Self.rows("bucket-table", browser)
            #expect(buckets.map { $0[0] } == listed.objects("buckets").map { $0.text("name") ?? "" })
            #expect(buckets.map { $0[1] } == listed.objects("buckets").map { $0.text("operations") ?? "" })
            #expect(buckets.map { $0[2] } == Self.sizes("buckets", of: listed))
            let sizes = try #require(snapshot.storage.sizes)
            let stored = try await Self.facts("storage-facts", browser)
            #expect(stored["Buckets"] == "\(sizes.buckets)")
            #expect(stored["Operations"] == Self.bytes(sizes.operations))
            #expect(stored["Parameter indexes"] == Self.bytes(sizes.parameters))
            #expect(stored["Rows of the source"] == Self.bytes(sizes.rows))
            #expect(stored["Read for clients"] == "0 bytes")
            #expect(stored["Files"]?.hasSuffix("iB") == true)
            #expect(
                try await browser.text("document.getElementById('compaction').textContent")
                    == "This process has not compacted yet: it does so 10 minutes after its start."
            )
            #expect(
                try await browser.text("document.querySelector('#config-content pre').textContent")
                    == Scenario.syncConfig
            )

            try await Self.look(browser, user: "anna")
            let preview = try await scenario.dashboard("user", body: ["user_id": "anna"])
            let tables = try await Self.rows("user-tables", browser)
            #expect(tables.map { $0[0...1] } == [["lists", "5"], ["todos", "1"]])
            let got = try await Self.rows("user-buckets", browser)
            #expect(got.map { $0[0] } == preview.objects("buckets").map { $0.text("name") ?? "" })
            #expect(got.map { $0[4] } == preview.objects("buckets").map { $0.text("rows") ?? "" })
            #expect(got.map { $0[5] } == Self.sizes("buckets", of: preview))
            #expect(tables.map { $0[2] } == Self.sizes("tables", of: preview))

            // What changes is shown without asking.
            let second = try await scenario.stream(try scenario.token("bert"))
            try await browser.wait(until: "document.getElementById('client-table').textContent.includes('bert')")
            withExtendedLifetime(second) {}
            let facts = try await Self.facts("service-facts", browser)
            #expect(facts["Role"] == "unified" && facts["max_read_ahead_bytes"] == "256 MiB")
            try await Self.takePictures("small", browser)
            // A client is one line on a phone, until it is opened.
            try await browser.show(try #require(Browser.Appearance.all.first { $0.name == "phone" }))
            let row = "document.querySelector('#client-table tbody tr')"
            #expect(try await browser.value("\(row).offsetHeight < 45") == .bool(true))
            _ = try await browser.value("\(row).focus()")
            try await browser.press("Enter", text: "\r")
            #expect(try await browser.value("\(row).offsetHeight > 100") == .bool(true))
            #expect(browser.problems.isEmpty, "\(browser.problems)")
        }
    }

    @Test func whatAUserGetsDependsOnWhatIsTyped() async throws {
        try await Admin.run {
            $0.syncConfig = .content(
                """
                config: {edition: 3}
                streams:
                  lists: {auto_subscribe: true, query: SELECT * FROM lists WHERE owner_id = connection.parameter('owner')}
                  todos: {auto_subscribe: true, query: SELECT * FROM todos WHERE list_id = auth.parameter('list')}
                  settings: {query: SELECT * FROM settings WHERE id = subscription.parameter('id')}
                """
            )
        } _: { scenario in
            try await scenario.write(
                Scenario.put("lists", "l1", ["owner_id": "o1", "name": "a"]),
                Scenario.put("todos", "t1", ["list_id": "l1", "title": "b"]),
                Scenario.put("settings", "s1", ["value": "c"])
            )
            try await scenario.settle()
            let browser = try await Browser()
            try await Self.signIn(browser, scenario)
            try await browser.wait(until: "document.getElementById('state').textContent == 'Live'")
            _ = try await browser.value("document.querySelector('#user-form details').open = true")
            for (field, text) in [
                ("user-parameters", #"{"owner":"o1"}"#), ("user-claims", #"{"list":"l1"}"#),
                ("user-subscriptions", #"[{"stream":"settings","parameters":{"id":"s1"}}]"#),
            ] {
                _ = try await browser.value("document.getElementById('\(field)').focus()")
                try await browser.type(text)
            }
            try await Self.look(browser, user: "anna")
            let buckets =
                #"[...document.querySelectorAll('#user-buckets tbody tr')].map((row) => row.cells[0].textContent)"#
            let all = [#"1#lists|0["o1"]"#, #"1#settings|0["s1"]"#, #"1#todos|0["l1"]"#]
            #expect(try await Self.rows("user-buckets", browser).map { $0[0] }.sorted() == all)
            #expect(
                try await Self.rows("user-tables", browser).map { $0[0...1] } == [
                    ["lists", "1"], ["settings", "1"], ["todos", "1"],
                ]
            )
            // Without what everybody gets.
            _ = try await browser.value("document.getElementById('user-defaults').click()")
            _ = try await browser.value("document.getElementById('user-form').requestSubmit()")
            try await browser.wait(until: "\(buckets).length == 1")
            #expect(try await browser.value(buckets) == .array([.string(all[1])]))
            // What is no JSON is said, and nothing is shown.
            _ = try await browser.value("document.getElementById('user-claims').value = '{list'")
            _ = try await browser.value("document.getElementById('user-form').requestSubmit()")
            try await browser.wait(
                until: "document.getElementById('user-error').textContent.includes('not a JSON object')"
            )
            #expect(try await browser.value("document.getElementById('user-tables')") == .null)
            #expect(browser.problems.isEmpty, "\(browser.problems)")
        }
    }

    // MARK: The banner

    @Test func theWorstIsSaidAboveThePanels() async throws {
        let folder = try TemporaryFolder()
        try await Admin.runDeployed(in: folder) { scenario in
            let browser = try await Browser()
            try await Self.signIn(browser, scenario)
            try await browser.wait(until: "document.querySelector('#config-content pre')")
            #expect(try await browser.value("document.getElementById('banner').hidden") == .bool(true))
            let body: JSONObject = ["content": .string(Admin.brokenConfig)]
            _ = try await scenario.send("POST", "/api/sync-rules/v1/deploy", token: Admin.token, body: body.text)
            try await browser.send("Page.reload")
            try await browser.wait(until: "!document.getElementById('banner').hidden")
            #expect(
                try await browser.text("document.getElementById('banner').textContent")
                    == "A sync config was refused: clients are served the one before."
            )
            #expect(try await browser.text("document.getElementById('banner').className") == "bad")
            _ = try await browser.value("document.getElementById('banner-link').click()")
            #expect(try await browser.text("location.hash") == "#config")
            try await Self.takePictures("refused-config", browser)
            #expect(browser.problems.isEmpty, "\(browser.problems)")
        }
    }

    // MARK: States

    /// A service whose first copy, lost source and errors do not depend on the time that a test takes.
    @Test func eachStateHasItsLineAboveThePanels() async throws {
        try await Admin.run { scenario in
            let browser = try await Browser()
            try await Self.tellSnapshots(browser)
            try await Self.signIn(browser, scenario)
            try await browser.wait(until: "document.querySelector('#config-content pre')")
            try await browser.wait(until: "globalThis.tell !== undefined")
            for state in ToldState.all {
                try await Self.tell(state.snapshot, browser)
                let banner = "document.getElementById('banner')"
                try await browser.wait(until: "\(banner).textContent.includes('\(state.banner)')")
                #expect(try await browser.text("\(banner).className") == state.kind)
                #expect(try await browser.text("document.getElementById('banner-link').hash") == "#\(state.panel)")
                try await Self.takePictures(state.name, browser, ["light", "phone"])
            }
            let facts = try await Self.facts("replication-facts", browser)
            #expect(facts["Copying"] == nil)
            #expect(browser.problems.isEmpty, "\(browser.problems)")
        }
    }

    @Test func theLastErrorsSayWhereAndWhatToDo() async throws {
        try await Admin.run { scenario in
            let browser = try await Browser()
            try await Self.signIn(browser, scenario)
            let table = "document.getElementById('error-table')"
            // What a service with this endpoint says at its start.
            try await browser.wait(until: "\(table).textContent.includes('POST /dev/write')")
            let logger = scenario.service.logger
            logger.warning(
                "A table of the source is left out until it can be read; the others are replicated",
                metadata: [
                    LogKey.table: "public.<b>lists</b>", LogKey.error: "Role sync may not read it.",
                    LogKey.replicationStream: "3", LogKey.remedy: "GRANT SELECT ON lists TO sync;",
                ]
            )
            for attempt in 1...12 {
                logger.error(
                    "Replication failed, and is tried again",
                    metadata: [
                        LogKey.error: "PSYNC_S1001: The source does not answer.", LogKey.code: "PSYNC_S1001",
                        "attempt": .stringConvertible(attempt),
                    ]
                )
            }
            let counted = "[...\(table).tBodies[0].rows].some((row) => row.cells[5].textContent == '12')"
            try await browser.wait(until: counted)
            // That the page has asked without a token first is no error of the service.
            let rows = try await Self.rows("error-table", browser)
            try #require(rows.count >= 3)
            #expect(rows[0][0] == "Replication failed, and is tried again: PSYNC_S1001: The source does not answer.")
            #expect(rows[0][1] == "" && rows[0][3] == "error" && rows[0][4] == "look up PSYNC_S1001")
            #expect(
                rows[1][0]
                    == "A table of the source is left out until it can be read; the others are replicated: "
                    + "Role sync may not read it."
            )
            #expect(rows[1][1] == "public.<b>lists</b>, stream 3" && rows[1][3] == "warning")
            #expect(rows[1][4] == "GRANT SELECT ON lists TO sync;" && rows[1][5] == "1")
            try await Self.takePictures("errors", browser)
            // An error is one line on a phone, until it is opened.
            try await browser.show(try #require(Browser.Appearance.all.first { $0.name == "phone" }))
            let row = "document.querySelector('#error-table tbody tr')"
            #expect(try await browser.value("\(row).offsetHeight < 45") == .bool(true))
            _ = try await browser.value("\(row).focus()")
            try await browser.press("Enter", text: "\r")
            #expect(try await browser.value("\(row).offsetHeight > 100") == .bool(true))
            #expect(browser.problems.isEmpty, "\(browser.problems)")
        }
    }

    // MARK: Hostile

    @Test func namesAreOnlyText() async throws {
        let hostile = #"<img src=x onerror="alert(1)"><script>alert(2)</script>'&amp;</td></pre>"#
        try await Admin.run {
            $0.syncConfig = .content(
                """
                config: {edition: 3}
                streams:
                  lists:
                    auto_subscribe: true
                    query: SELECT id, name FROM lists WHERE owner_id = auth.user_id() -- </pre><script>alert(3)</script>
                  "<b>missing</b>":
                    auto_subscribe: true
                    query: SELECT id FROM "<i>nowhere</i>"
                """
            )
        } _: { scenario in
            try await scenario.write(
                Scenario.put("lists", hostile, ["owner_id": .string(hostile), "name": .string(hostile)])
            )
            try await scenario.settle()
            var stream = try await scenario.stream(
                try scenario.token(hostile),
                ["raw_data": true, "client_id": .string(hostile)]
            )
            _ = try await stream.untilComplete()
            let browser = try await Browser()
            try await Self.signIn(browser, scenario)
            try await browser.wait(until: "document.getElementById('client-table').textContent.includes('up to date')")
            try await browser.wait(until: "document.getElementById('bucket-table').textContent.includes('onerror')")
            try await browser.wait(until: "document.querySelector('#config-content .findings')")
            let clients = try await Self.rows("client-table", browser)
            #expect(clients.first?[0] == hostile)
            #expect(clients.first?[1] == hostile)
            try await Self.look(browser, user: hostile)
            #expect(try await Self.rows("user-tables", browser).first?[0...1] == ["lists", "1"])
            #expect(try await Self.rows("user-buckets", browser).contains { $0[0].contains("onerror") })
            #expect(
                try await browser.text("document.querySelector('#config-content pre').textContent").contains(
                    "<script>alert(3)"
                )
            )
            #expect(
                try await browser.text("document.getElementById('config-content').textContent").contains(
                    "<i>nowhere</i>"
                )
            )
            let elements = "document.querySelectorAll('main img, main script, main b:not(figcaption b), main i').length"
            #expect(try await browser.value(elements) == 0)
            try await Self.takePictures("hostile", browser)
            #expect(browser.problems.isEmpty, "\(browser.problems)")
            withExtendedLifetime(stream) {}
        }
    }

    // MARK: Large

    @Test func tenThousandBucketsAreSearchedAndShownInParts() async throws {
        let folder = try TemporaryFolder()
        let count = 10_000
        let queue = try DatabaseQueue(path: folder.path("source.db"))
        try await queue.write { db in
            for table in Scenario.tables { try db.execute(sql: table) }
            for index in 0..<count {
                try db.execute(
                    sql: "INSERT INTO lists (id, owner_id, name) VALUES (?, ?, 'x')",
                    arguments: ["l\(index)", "user-\(index)"]
                )
            }
        }
        try queue.close()
        try await Admin.run(in: folder) {
            $0.syncConfig = .content(
                """
                config: {edition: 3}
                streams:
                  lists:
                    auto_subscribe: true
                    query: SELECT id, name FROM lists WHERE owner_id = auth.user_id()
                """
            )
            $0.limits.maxConcurrentConnections = 1000
        } _: { scenario in
            try await scenario.write(Scenario.put("lists", "more", ["owner_id": "user-77", "name": "y"]))
            try await scenario.settle()
            var streams: [StreamReader] = []
            for index in 0..<120 {
                streams.append(try await scenario.stream(try scenario.token("user-\(index)"), client: .roomy))
            }
            let browser = try await Browser()
            try await Self.signIn(browser, scenario)
            try await browser.wait(until: "document.getElementById('bucket-table').rows.length == 51")
            #expect(
                try await browser.text("document.getElementById('bucket-summary').textContent")
                    == "10,000 buckets with 10,001 operations"
            )
            let first = try await Self.rows("bucket-table", browser)
            #expect(first[0][0...1] == [#"1#lists|0["user-77"]"#, "2"])
            let listed = try await scenario.dashboard("buckets")
            #expect(first.map { $0[0] } == listed.objects("buckets").map { $0.text("name") ?? "" })

            // The last page, by keyboard.
            let pages = "document.querySelector('#bucket-pages span').textContent"
            #expect(try await browser.text(pages) == "1 to 50 of 10,000")
            _ = try await browser.value("document.querySelector('#bucket-pages button:last-of-type').focus()")
            try await browser.press("Enter", text: "\r")
            try await browser.wait(until: "\(pages) == '51 to 100 of 10,000'")
            #expect(try await Self.rows("bucket-table", browser).allSatisfy { !first.contains($0) })

            _ = try await browser.value("document.getElementById('bucket-search').focus()")
            try await browser.type(#""user-999"#)
            try await browser.wait(
                until: "document.getElementById('bucket-summary').textContent == '11 buckets with 11 operations'"
            )
            #expect(try await Self.rows("bucket-table", browser).count == 11)

            // More clients than a snapshot has.
            try await browser.wait(
                until: "document.querySelector('#client-pages span').textContent == '1 to 50 of 120'"
            )
            _ = try await browser.value("document.getElementById('client-search').focus()")
            try await browser.type("user-11")
            try await browser.wait(until: "document.getElementById('client-table').tBodies[0].rows.length == 11")
            try await Self.takePictures("large", browser)
            #expect(browser.problems.isEmpty, "\(browser.problems)")
            withExtendedLifetime(streams) {}
        }
    }
}
