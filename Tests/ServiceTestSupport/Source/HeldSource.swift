import NIOConcurrencyHelpers
import PowerSyncSyncConfig
package import PowerSyncServiceCore

/// A source whose copies wait while they are held.
package final class HeldSource<Source: ReplicationSource>: ForwardingSource {
    private struct Hold {
        var isForAll = false
        /// A table, and how many of its rows a copy gets.
        var table: (name: String, rows: Int)?
    }

    package let source: Source
    private let held = NIOLockedValueBox(Hold())
    private let released = ChangeSignal()
    private let waits = ChangeSignal()

    package init(_ source: Source) {
        self.source = source
    }

    /// From now on, no copy gets another page.
    package func hold() {
        held.withLockedValue { $0.isForAll = true }
    }

    /// From now on, no copy of a table gets another page once it has got so many rows.
    package func hold(_ table: String, afterRows count: Int) {
        held.withLockedValue { $0.table = (table, count) }
    }

    /// Copies go on.
    package func release() {
        held.withLockedValue { $0 = Hold() }
        released.advance()
    }

    /// How often a copy has begun to wait.
    package var waitCount: UInt64 { waits.version }

    /// Waits until another copy waits.
    package func copyWaits(after count: UInt64) async throws {
        try await waits.wait(after: count)
    }

    private struct Pages: SnapshotReader {
        let source: HeldSource
        let table: String
        var pages: any SnapshotReader
        var rowCount = 0

        private var isHeld: Bool {
            source.held.withLockedValue { hold in
                hold.isForAll || hold.table.map { $0.name == table && rowCount >= $0.rows } == true
            }
        }

        mutating func next() async throws -> SnapshotChunk? {
            while true {
                let seen = source.released.version
                guard isHeld else {
                    let page = try await pages.next()
                    rowCount += page?.rows.count ?? 0
                    return page
                }
                source.waits.advance()
                try await source.released.wait(after: seen)
            }
        }
    }

    package func snapshot(of table: SourceTableDescriptor, after key: SnapshotKey?) async throws -> any SnapshotReader {
        Pages(source: self, table: table.name.name, pages: try await source.snapshot(of: table, after: key))
    }
}
