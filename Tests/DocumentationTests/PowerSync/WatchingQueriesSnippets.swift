import PowerSync

private func render(_ titles: [String]) {}
private func hide(_ todo: Todo) {}
private func redraw(_ todo: Todo) {}
private func show(_ todo: Todo) {}

func watchAQuery(_ database: any PowerSyncDatabaseProtocol, listID: String) async throws {
    let todos = try database.watch(
        sql: "SELECT title FROM todos WHERE list_id = ? ORDER BY title",
        parameters: [listID],
        mapper: { try $0.getString(name: "title") }
    )
    for try await titles in todos {
        render(titles)
    }
}

func wakeAWatchByOtherTables(_ database: any PowerSyncDatabaseProtocol) throws -> AsyncThrowingStream<[Int], any Error>
{
    var options = WatchOptions(sql: "SELECT count(*) FROM todos WHERE due < date('now')") { try $0.getInt(index: 0) }
    options.triggerOnTables = ["todos", "settings"]
    let overdue = try database.watch(options: options)
    return overdue
}

func watchDifferences(_ database: any PowerSyncDatabaseProtocol, options: WatchOptions<Todo>) async throws {
    for try await diff in try database.watchDifferential(options: options, keyBy: \.id) {
        for todo in diff.removed { hide(todo) }
        for (_, todo) in diff.updated { redraw(todo) }
        for todo in diff.added { show(todo) }
    }
}
