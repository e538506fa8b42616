import PowerSync

/// What of the page is not in `QueriesInViewsArticleTests`.
@MainActor enum QueriesInViewsPage {
    static func showNothingToDo() {}

    static func showUrgentTodos(_ database: any PowerSyncDatabaseProtocol) {
        let sql = "SELECT * FROM todos WHERE urgent"
        let urgent = ObservedQuery(database, sql: sql, as: Todo.self, synced: .priority(BucketPriority(1)))
        if urgent.hasSynced && urgent.rows.isEmpty { showNothingToDo() }
    }
}

// Linux has no SwiftUI: there, this is only parsed.
#if canImport(SwiftUI)
import SwiftUI

struct TodoView: View {
    @WatchedQuery("SELECT * FROM todos ORDER BY title", as: Todo.self) private var todos
    @SyncState private var status

    var body: some View {
        List(todos) { Text($0.title) }
            .overlay { if !$todos.hasResult { ProgressView() } }
    }
}

@MainActor func around(_ database: any PowerSyncDatabaseProtocol) -> some View {
    TodoView().environment(\.powerSync, database)
}
#endif
