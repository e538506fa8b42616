import PowerSync

private func audit(_ id: String, from old: JsonParam?, to new: JsonParam?) {}

func fillASearchQueue(_ database: any PowerSyncDatabaseProtocol) async throws {
    try await database.withTableDiff(of: "todos") { diff in
        try await diff.run { changes in
            try changes.extractedDiff.execute(
                sql: "INSERT INTO search_queue (todo_id, title) SELECT id, title FROM DIFF",
                parameters: []
            )
        }
    }
}

func auditChanges(_ diff: TableDiff) async throws {
    try await diff.run { changes in
        for record in try changes.records() where record.operation == .update {
            audit(record.id, from: record.previousValue, to: record.value)
        }
    }
}

func recordLess() -> TableDiffOptions {
    var options = TableDiffOptions(
        columns: .only(["title", "done"]),
        when: [.insert: "TRUE", .update: "NEW.title <> OLD.title OR NEW.done <> OLD.done"]
    )
    options.throttle = 1

    options.beforeCreate = { transaction in
        try transaction.execute(sql: "INSERT INTO search_queue (todo_id) SELECT id FROM todos", parameters: [])
    }
    return options
}
