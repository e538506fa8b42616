import Foundation
import PowerSync
import PowerSyncProtocol
import PowerSyncTerminal

extension Demo {
    /// Step 3: B gets the same rows and follows changes; another user gets none.
    func receive(from backend: DemoBackend) async throws {
        try terminal.heading("3. Client B (same user) and client C (another user) connect")
        try await bert.connect(to: backend)
        try await stranger.connect(to: backend)
        for client in [bert, stranger] {
            try await within(.seconds(30), "the first checkpoint of \(client.name)") {
                try await client.database.waitForFirstSync()
            }
        }
        let (bert, terminal) = (bert, terminal)
        async let seen: Void = within(.seconds(30), "B seeing A's live changes") {
            let summaries = try bert.database.watch(
                """
                SELECT lists.name || ' ' || coalesce(sum(todos.done), 0) || '/' || count(todos.id)
                FROM lists LEFT JOIN todos ON todos.list_id = lists.id GROUP BY lists.id ORDER BY lists.name
                """
            ) { try $0.getString(index: 0) }
            for try await summary in summaries {
                try terminal.line("  B sees (done/all): " + summary.joined(separator: ", "))
                if summary == ["Garden 0/1", "Groceries 1/3", "Work 0/2"] {
                    return
                }
            }
        }
        try await anna.addList("Garden", todos: ["Plant tomatoes"])
        try await anna.database.execute("UPDATE todos SET done = 1 WHERE title = 'Milk'")
        try await seen
        for table in ["lists", "todos"] {
            let count = try await stranger.count(table)
            try expect(count == 0, "C sees \(count) rows of \(table) that belong to another user")
        }
        try terminal.line("  C sees nothing of it")
    }

    /// Step 4: a bulk load, with lists before todos.
    func loadInBulk(into source: any DemoSource, backend: DemoBackend) async throws {
        let lists = 50
        try terminal.heading(
            "4. A bulk load of \(rows.grouped) \(rows.words("todo")) (priority 2) in \(lists) lists (priority 1)"
        )
        let (allLists, allTodos) = (try await anna.count("lists") + lists, try await anna.count("todos") + rows)
        try await bert.database.disconnect()
        let loaded = ContinuousClock.now
        try await source.bulkLoad(todos: rows, lists: lists, owner: anna.user)
        try await anna.waitForCount(of: "todos", toBe: allTodos)
        try terminal.line(
            "  inserted into the source; A, connected, had everything after \((ContinuousClock.now - loaded).readable)"
        )

        let started = ContinuousClock.now
        let startDate = Date()
        try await bert.connect(to: backend)
        let (bert, terminal) = (bert, terminal)
        let outcome = try await within(.seconds(90), "B's download") { () -> BulkLoadOutcome in
            var outcome = BulkLoadOutcome()
            for await status in bert.database.currentStatus.asFlow() {
                if let progress = status.downloadProgress {
                    outcome.fractions.append(progress.fraction)
                    outcome.operations = Int(progress.totalOperations)
                    try terminal.redraw(
                        "  B  "
                            + ProgressBar().text(done: Int(progress.downloadedOperations), total: outcome.operations)
                    )
                }
                let synced = status.statusForPriority(BucketPriority(1)).lastSyncedAt ?? .distantPast
                if outcome.timeToLists == nil, synced >= startDate, status.downloading {
                    outcome.timeToLists = ContinuousClock.now - started
                    outcome.listsThen = try await bert.count("lists")
                    outcome.todosThen = try await bert.count("todos")
                }
                if !status.downloading, let last = status.lastSyncedAt, last >= startDate {
                    // Who is slow to ask sees the newest status only: the last progress may have been passed over.
                    try terminal.redraw(
                        "  B  " + ProgressBar().text(done: outcome.operations, total: outcome.operations)
                    )
                    break
                }
            }
            outcome.timeToAll = ContinuousClock.now - started
            return outcome
        }
        try terminal.finishLine()
        try report(outcome, lists: allLists)
        let todos = try await bert.count("todos")
        try expect(todos == allTodos, "B has \(todos) todos, not \(allTodos)")
    }

    private func report(_ outcome: BulkLoadOutcome, lists: Int) throws {
        guard let timeToLists = outcome.timeToLists else {
            throw DemoFailure("B never showed its lists while todos were still downloading")
        }
        try terminal.line(
            "  lists after \(timeToLists.readable) (with \(outcome.todosThen.grouped) \(outcome.todosThen.words("todo")) at that moment), "
                + "everything after \(outcome.timeToAll.readable), "
                + "\(Int(Double(rows) / outcome.timeToAll.inSeconds).grouped) rows/s"
        )
        try expect(outcome.listsThen == lists, "B had \(outcome.listsThen) lists when they were complete, not \(lists)")
        try expect(!outcome.fractions.isEmpty, "the progress bar was never drawn")
        try expect(outcome.fractions == outcome.fractions.sorted(), "the progress went back: \(outcome.fractions)")
    }
}

/// What the bulk load showed on B.
private struct BulkLoadOutcome: Sendable {
    var timeToLists: Duration?
    var listsThen = 0
    var todosThen = 0
    var timeToAll = Duration.zero
    /// The fractions of the progress that B saw.
    var fractions: [Float] = []
    /// How many operations it was to download.
    var operations = 0
}
