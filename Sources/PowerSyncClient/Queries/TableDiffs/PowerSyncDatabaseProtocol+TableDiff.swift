extension PowerSyncDatabaseProtocol {
    /// Records the changes to a view while a closure runs.
    ///
    /// ```swift
    /// try await database.withTableDiff(of: "todos") { diff in
    ///     try await diff.run { changes in
    ///         try changes.extractedDiff.execute(
    ///             sql: "INSERT INTO search_queue (todo_id) SELECT DISTINCT id FROM DIFF",
    ///             parameters: []
    ///         )
    ///     }
    /// }
    /// ```
    ///
    /// Writes of the app and of the sync client are recorded, by temporary triggers on this database's writing
    /// connection; writes of other instances and processes are not. Changes that were not handed over are lost when the
    /// closure returns, the database is closed, or the schema is replaced.
    ///
    /// - Parameters:
    ///   - view: The name of a view in the schema.
    ///   - options: What is recorded.
    ///   - body: What to do meanwhile. Recording ends when it returns or throws.
    /// - Returns: What the closure returns.
    /// - Throws: ``PowerSyncError`` when the schema has no such view or column, SQLite does not understand a condition, or
    ///   the database is not one of ours; what the hook of the options or the closure throws.
    public nonisolated(nonsending) func withTableDiff<R>(
        of view: String,
        options: TableDiffOptions = TableDiffOptions(),
        _ body: nonisolated(nonsending) (TableDiff) async throws -> R
    ) async throws -> R {
        let diff = try await trackTableDiff(of: view, options: options)
        let result: R
        do {
            result = try await body(diff)
        } catch {
            try? await diff.stop()
            throw error
        }
        try await diff.stop()
        return result
    }

    /// Records all columns and all changes of a view until the returned object is stopped.
    ///
    /// - Parameter view: The name of a view in the schema.
    /// - Returns: The recorded changes.
    /// - Throws: What ``trackTableDiff(of:options:)`` throws.
    public func trackTableDiff(of view: String) async throws -> TableDiff {
        try await trackTableDiff(of: view, options: TableDiffOptions())
    }

    /// Records changes of a view until the returned object is stopped.
    ///
    /// - Parameters:
    ///   - view: The name of a view in the schema.
    ///   - options: What is recorded.
    /// - Returns: The recorded changes.
    /// - Throws: ``PowerSyncError`` when the schema has no such view or column, SQLite does not understand a condition, the throttle is
    ///   no time, or the database is not one of this SDK; what the hook of the options throws.
    public func trackTableDiff(of view: String, options: TableDiffOptions) async throws -> TableDiff {
        let own = try requireOwn(for: "A table diff")
        try Argument.check(seconds: options.throttle, "throttle")
        return try await TableDiff.start(of: view, options, on: own.local)
    }
}
