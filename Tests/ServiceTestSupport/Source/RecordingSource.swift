import GRDB
import NIOConcurrencyHelpers
package import PowerSyncServiceCore
package import PowerSyncServiceSQLite

/// A source that records when its position is read, its marker written, and a position acknowledged, with a number that the
/// storage holds at that moment.
package final class RecordingSource: ForwardingSource {
    package let source: EmbeddedSource
    private let storage: SQLiteBucketStorage
    private let query: String
    private let recorded = NIOLockedValueBox<[String]>([])
    /// Advances with each acknowledgement.
    package let acknowledgements = ChangeSignal()

    /// Creates a source over another one.
    ///
    /// - Parameters:
    ///   - source: Does the work.
    ///   - storage: What is looked at.
    ///   - query: The number that is recorded.
    package init(
        _ source: EmbeddedSource,
        storage: SQLiteBucketStorage,
        recording query: String = "SELECT write_checkpoint FROM write_checkpoints"
    ) {
        self.source = source
        self.storage = storage
        self.query = query
    }

    package var events: [String] { recorded.withLockedValue { $0 } }

    private func record(_ event: String) async throws {
        let stored = try await storage.pool.read { [query] db in try Int64.fetchOne(db, sql: query) }
        recorded.withLockedValue { $0.append("\(event), stored: \(stored.map(String.init) ?? "nil")") }
    }

    package func head(having known: SourcePosition?) async throws -> SourcePosition {
        try await record("head")
        return try await source.head(having: known)
    }

    package func emitMarker() async throws {
        try await record("marker")
        try await source.emitMarker()
    }

    package func acknowledge(_ position: DurablePosition, of handle: String) async throws {
        try await record("acknowledgement")
        try await source.acknowledge(position, of: handle)
        acknowledgements.advance()
    }
}
