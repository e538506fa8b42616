import PowerSync

/// What the handler of a table diff was given, for a test to wait for.
final class HandedChanges: Sendable {
    private let stream = AsyncStream.makeStream(of: [String].self)

    /// Notes changes as `<operation> <id>`.
    func note(_ changes: TableDiffTransaction) throws {
        stream.continuation.yield(try changes.records().map { "\($0.operation.rawValue) \($0.id)" })
    }

    /// Waits for the next call of the handler.
    ///
    /// For one task.
    func next() async -> [String]? {
        var iterator = stream.stream.makeAsyncIterator()
        return await iterator.next()
    }
}
