import PostgresTestSupport
import ServiceTestSupport

/// The storages of the suites: another one is added here, and is tested by all of them.
extension TestedStorage {
    static let all: [TestedStorage] = [.inMemory, .sqlite, .sealed, .postgres]
    /// The ones that differ in more than how they are set up.
    static let distinct: [TestedStorage] = [.inMemory, .sqlite, .postgres]
    /// Those of them that survive their process.
    static let durable: [TestedStorage] = [.sqlite, .postgres]
}
