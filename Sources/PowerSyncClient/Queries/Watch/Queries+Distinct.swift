extension Queries {
    /// Watches a query, and leaves out results that equal the one before.
    ///
    /// Another order of the same rows is another result. Like ``watch(options:)`` otherwise.
    ///
    /// - Parameter options: The query.
    /// - Returns: The results.
    /// - Throws: What ``watch(options:)`` throws.
    public func watchDistinct<Row: Sendable & Equatable>(
        options: WatchOptions<Row>
    ) throws -> AsyncThrowingStream<[Row], any Error> {
        try watch(options: options).distinct()
    }

    /// Watches a query, and tells what has changed from one result to the next.
    ///
    /// ```swift
    /// let options = WatchOptions(sql: "SELECT id, title FROM todos ORDER BY title", mapper: Todo.init)
    /// for try await diff in try database.watchDifferential(options: options, keyBy: \.id) {
    ///     for todo in diff.removed { hide(todo) }
    ///     for (_, todo) in diff.updated { redraw(todo) }
    ///     for todo in diff.added { show(todo) }
    /// }
    /// ```
    ///
    /// The first element comes at once: all rows are added. Later elements come only when a row was added, removed or
    /// updated; another order alone is no change. A slow consumer gets the difference between the result it saw last and
    /// the newest one.
    ///
    /// - Parameters:
    ///   - options: The query.
    ///   - keyBy: The identity of a row, for example its id. Of rows with the same key the last one counts.
    /// - Returns: The differences.
    /// - Throws: What ``watch(options:)`` throws.
    public func watchDifferential<Row: Sendable & Equatable, Key: Hashable & Sendable>(
        options: WatchOptions<Row>,
        keyBy: @Sendable @escaping (Row) -> Key
    ) throws -> AsyncThrowingStream<WatchDiff<Row>, any Error> {
        let logger = (self as? any PowerSyncDatabaseProtocol)?.logger
        return try watch(options: options).scan(RowComparison<Row, Key>()) { comparison, rows in
            let hadDuplicates = comparison.hasSeenDuplicates
            let diff = comparison.compare(rows, keyBy: keyBy)
            if !hadDuplicates, comparison.hasSeenDuplicates {
                logger?.warning(
                    "A differential watch has several rows with one key; the last one counts: \(options.sql)",
                    tag: LogTag.database
                )
            }
            return diff
        }
    }
}

extension AsyncThrowingStream where Element: Sendable & Equatable, Failure == any Error {
    /// The elements without those that equal the one before.
    func distinct() -> AsyncThrowingStream<Element, any Error> {
        scan(Element?.none) { last, element in
            guard element != last else { return nil }
            last = element
            return element
        }
    }
}
