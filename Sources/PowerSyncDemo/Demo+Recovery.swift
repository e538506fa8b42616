import Foundation
import PowerSync
import PowerSyncProtocol
import PowerSyncTerminal

extension Demo {
    /// Step 6, first half: the service is down, and both clients go on.
    func editWhileServiceIsDown() async throws {
        try terminal.heading("6. The service is stopped; A and B edit offline, the same row too")
        try await anna.database.execute("UPDATE todos SET title = 'Oat milk, says A' WHERE title = 'Milk'")
        try await anna.addList("Written by A while offline", todos: ["One", "Two"])
        try await bert.database.execute("UPDATE todos SET title = 'Goat milk, says B' WHERE title = 'Milk'")
        try await bert.database.execute("DELETE FROM todos WHERE title = 'Bread'")
        for (client, expected) in [(anna, 4), (bert, 2)] {
            let waiting = try await client.waitingUploads()
            try terminal.line("  \(client.name): \(waiting.counted("write waits", "writes wait"))")
            try expect(waiting == expected, "\(expected) writes of \(client.name) should wait, not \(waiting)")
        }
    }

    /// Step 6, second half: the service is back on the same data folder.
    func converge(with source: any DemoSource) async throws {
        try terminal.line("  the service is back")
        try await anna.waitForEmptyQueue()
        try await bert.waitForEmptyQueue()
        try await compare(with: source, clients: [anna, bert, stranger], "after the restart")
        let title = try await anna.database.get("SELECT title FROM todos WHERE title LIKE '%milk, says%'") {
            try $0.getString(index: 0)
        }
        try terminal.line("  the row that both edited: '\(title)' everywhere; the later upload won")
    }

    /// Waits until every row of every client equals the source, and prints the result.
    func compare(with source: any DemoSource, clients: [DemoClient], _ moment: String) async throws {
        var table = TextTable(header: ["table", "client", "rows", "in the source"])
        for name in DemoApp.syncedTables {
            for client in clients {
                let expected = try await source.rows(of: name, visibleTo: client.user)
                try await client.waitForRows(of: name, toEqual: expected)
                table.rows.append([name, client.name, expected.count.grouped, "equal \(moment)"])
            }
        }
        try terminal.table(table)
    }
}
