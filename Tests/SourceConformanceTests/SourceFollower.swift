import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// Does what a source expects of whoever replicates it, and keeps the rows in memory.
struct SourceFollower {
    private let tested: TestedSource
    let slot: String
    /// The last transaction boundary.
    private(set) var position: SourcePosition
    private(set) var rows: [SourceTableName: [[SQLValue]: SourceRow]] = [:]
    private(set) var tables: [SourceTable] = []
    /// Rows that were asked for by their keys are newer than what was followed, until this position.
    private var barrier: LSN?

    /// Begins a stream.
    init(_ tested: TestedSource) async throws {
        self.tested = tested
        slot = tested.slot
        position = try await tested.source.prepareStream(slot, resumingAfter: nil, reached: nil)
    }

    /// Goes on with a stream, with what was kept of it.
    init(_ other: SourceFollower, on tested: TestedSource, reached: LSN? = nil) async throws {
        self = SourceFollower(other, tested)
        position = try await tested.source.prepareStream(slot, resumingAfter: other.position, reached: reached)
    }

    private init(_ other: SourceFollower, _ tested: TestedSource) {
        self.tested = tested
        slot = other.slot
        position = other.position
        rows = other.rows
        tables = other.tables
        barrier = other.barrier
    }

    /// All rows, when they are those of one state of the source.
    var allRows: Set<SourceRow> { Set(rows.values.flatMap(\.values)) }

    /// Copies all tables anew; `betweenPages` happens after each page.
    mutating func copy(betweenPages: () async throws -> Void = {}) async throws {
        rows = [:]
        tables = []
        for table in try await tested.source.tables(for: tested.plan) {
            var key: SnapshotKey?
            while true {
                // A reader for each page, as after an interruption.
                var reader = try await tested.source.snapshot(of: table, after: key)
                guard let chunk = try await reader.next() else { break }
                for row in chunk.rows { rows[table.name, default: [:]][table.key(of: row)] = row }
                key = chunk.lastKey
                try await betweenPages()
            }
            tables.append(
                SourceTable(id: table.relationID, descriptor: table, isSnapshotDone: true, lastSnapshotKey: key)
            )
        }
        barrier = max(barrier ?? position.lsn, try await tested.source.head().lsn)
    }

    /// Follows the changes until everything that is committed now has been seen, or the tables have changed (`false`).
    ///
    /// `atBoundary` happens at each transaction boundary at which the rows are those of the source.
    @discardableResult
    mutating func catchUp(atBoundary: (SourceFollower) async throws -> Void = { _ in }) async throws -> Bool {
        let head = try await tested.source.head()
        try await tested.source.emitMarker()
        var follower = self
        let result = try await tested.source.withChanges(
            of: slot,
            after: position,
            tables: tables,
            plan: tested.plan
        ) { reader in
            while true {
                for message in try await reader.next() {
                    guard try await follower.take(message) else { return (follower, false) }
                    guard case .commit(let lsn) = message else { continue }
                    #expect(lsn >= follower.position.lsn)
                    follower.position.lsn = lsn
                    if let barrier = follower.barrier, lsn < barrier { continue }
                    try await atBoundary(follower)
                    if lsn >= head.lsn { return (follower, true) }
                }
            }
        }
        self = result.0
        return result.1
    }

    private mutating func take(_ message: SourceMessage) async throws -> Bool {
        switch message {
        case .changes(let changes, let relationID):
            let table = try #require(tables.first { $0.descriptor.relationID == relationID }).descriptor
            for change in changes { apply(change.row, oldKey: change.oldKey, of: table) }
        case .partialUpdates(let updates, let relationID):
            let table = try #require(tables.first { $0.descriptor.relationID == relationID }).descriptor
            let reading = try #require(tested.source.rowReading)
            for update in updates {
                let present = try await reading.rows(
                    of: table,
                    keys: [update.sourceKey ?? table.key(of: update.row)],
                    showing: Set([update.moment].compactMap(\.self))
                )
                barrier = max(barrier ?? position.lsn, present.position.lsn)
                let row = present.rows.first.map { row in
                    SourceRow(columns: row.columns.map { .init(name: $0.name, value: update.row[$0.name] ?? $0.value) })
                }
                apply(row, oldKey: update.oldKey ?? table.key(of: update.row), of: table)
            }
            // An idle source would never get beyond the barrier.
            try await tested.source.emitMarker()
        case .cascade(let cascade):
            let reading = try #require(tested.source.rowReading)
            // All rows of these tables are read: which ones have changed, a storage finds out.
            for relationID in Set([cascade.relationID] + cascade.references.map(\.relationID)) {
                let table = try #require(tables.first { $0.descriptor.relationID == relationID }).descriptor
                let keys = Array(rows[table.name, default: [:]].keys)
                let present = try await reading.rows(
                    of: table,
                    keys: keys,
                    showing: Set([cascade.moment].compactMap(\.self))
                )
                barrier = max(barrier ?? position.lsn, present.position.lsn)
                rows[table.name] = [:]
                for row in present.rows { apply(row, oldKey: nil, of: table) }
            }
            try await tested.source.emitMarker()
        case .truncate(let relationID):
            let table = try #require(tables.first { $0.descriptor.relationID == relationID }).descriptor
            rows[table.name] = [:]
        case .begin, .commit, .marker: break
        case .tablesChanged: return false
        }
        return true
    }

    private mutating func apply(_ row: SourceRow?, oldKey: [SQLValue]?, of table: SourceTableDescriptor) {
        if let oldKey { rows[table.name]?[oldKey] = nil }
        if let row { rows[table.name, default: [:]][table.key(of: row)] = row }
    }
}

extension SourceTableDescriptor {
    /// The identity of a row.
    func key(of row: SourceRow) -> [SQLValue] { row.key(of: identity.map(\.name)) }
}
