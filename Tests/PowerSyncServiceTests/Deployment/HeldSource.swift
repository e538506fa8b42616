import NIOConcurrencyHelpers

@testable import PowerSyncServiceCore

/// A model of a source whose copies wait while they are held.
final class HeldSource: ForwardingSource {
    let source: ModelSource
    private let isHeld = NIOLockedValueBox(false)
    private let released = ChangeSignal()
    private let waits = ChangeSignal()

    init(_ model: ModelSource) {
        source = model
    }

    /// From now on, no copy gets another page.
    func hold() {
        isHeld.withLockedValue { $0 = true }
    }

    /// Copies go on.
    func release() {
        isHeld.withLockedValue { $0 = false }
        released.advance()
    }

    /// How often a copy has begun to wait.
    var waitCount: UInt64 { waits.version }

    /// Waits until another copy waits.
    func copyWaits(after count: UInt64) async throws {
        try await waits.wait(after: count)
    }

    private struct Pages: SnapshotReader {
        let source: HeldSource
        var pages: any SnapshotReader

        mutating func next() async throws -> SnapshotChunk? {
            while true {
                let seen = source.released.version
                guard source.isHeld.withLockedValue({ $0 }) else { return try await pages.next() }
                source.waits.advance()
                try await source.released.wait(after: seen)
            }
        }
    }

    func snapshot(of table: SourceTableDescriptor, after key: SnapshotKey?) async throws -> any SnapshotReader {
        Pages(source: self, pages: try await source.snapshot(of: table, after: key))
    }
}
