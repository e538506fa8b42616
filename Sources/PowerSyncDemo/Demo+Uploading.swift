import Foundation
import PowerSync
import PowerSyncProtocol
import PowerSyncTerminal

extension Demo {
    /// Step 1: A writes while it has no connection at all.
    func writeOffline() async throws {
        try terminal.heading("1. Client A writes offline")
        try await anna.addList("Groceries", todos: ["Milk", "Bread", "Coffee"])
        try await anna.addList("Work", todos: ["Write the report", "Call Berta"])
        let rows = try await anna.database.getAll(
            """
            SELECT lists.name, count(todos.id) FROM lists LEFT JOIN todos ON todos.list_id = lists.id
            GROUP BY lists.id ORDER BY lists.name
            """
        ) { cursor in
            [try cursor.getString(index: 0), try cursor.getString(index: 1)]
        }
        try terminal.table(TextTable(header: ["list", "todos"], rows: rows))
        try expect(rows == [["Groceries", "3"], ["Work", "2"]], "A does not see its own writes: \(rows)")
        let waiting = try await anna.waitingUploads()
        try terminal.line("  visible at once; \(waiting.counted("write waits", "writes wait")) in the upload queue")
        try expect(waiting == 7, "7 writes should wait, not \(waiting)")
    }

    /// Step 2: A connects, its queue is uploaded, and the write checkpoint comes back.
    func upload(to backend: DemoBackend, source: any DemoSource) async throws {
        try terminal.heading("2. Client A connects to \(backend.url)")
        try await anna.connect(to: backend)
        try await anna.waitForEmptyQueue()
        try terminal.line("  the queue is empty: uploadData() posted it to the backend")
        let anna = anna
        try await within(.seconds(30), "the first checkpoint of A") {
            try await anna.database.waitForFirstSync()
        }
        let gate = try await anna.database.getOptional(
            "SELECT value FROM ps_kv WHERE key = 'last_applied_checkpoint_request_id'"
        ) { try $0.getString(index: 0) }
        try expect(gate != nil, "no checkpoint with A's write checkpoint was applied")
        try terminal.line("  write checkpoint \(gate ?? "") came back, the gate is open")
        try await compare(with: source, clients: [anna], "after the upload")
    }
}
