import NIOConcurrencyHelpers
import PowerSyncSyncConfig

/// Rows that are read for the next config of a stream, on their way from the task that reads them to the one that follows changes
/// (docs/service.md "What a deployment keeps").
///
///     reader                                       follower
///     begin(table)                                 notes the keys of all changes of the table from here on
///     waits until a marker has come back           saves changes up to it
///     reads a chunk, then the position “high”
///     offer(chunk, high)          ───────►         has saved changes up to “high”: takes the chunk
///     goes on                     ◄───────         saves its rows, without those whose keys it has noted
///
/// So the rows that are saved are as they were at the position that the follower has reached: clients are served checkpoints meanwhile.
final class ConfigFill: Sendable {
    /// What the reader hands over.
    enum Offer: Sendable {
        /// Rows of the table that was begun.
        case rows([SourceRow])
        /// All rows of the table that was begun have been handed over.
        case table
        /// There are no other tables.
        case everything
    }

    private struct Waiting {
        var offer: Offer
        var high: LSN?
    }

    private struct State {
        var table: SourceTable?
        /// Those of the changes since the table, or a part of it, was begun.
        var changedKeys: Set<ReplicaID> = []
        /// Whether all rows that were there before are gone, or there were too many changes to note.
        var isOutdated = false
        var position: LSN?
        var waiting: Waiting?
        var isAccepted = false
        var failure: (any Error)?
    }

    /// The number of the config.
    let number: Int64
    /// The tables that are to be read.
    let tables: [SourceTable]
    /// Whether these are all that were missing.
    let isWhole: Bool
    private let state = NIOLockedValueBox(State())
    /// Advanced when the follower has reached a position, or has taken what was offered.
    private let changed = ChangeSignal()
    private let maximumKeys: Int

    /// The most keys that are noted while a chunk is read: a chunk during which more rows change is read again.
    static let maximumKeys = 100_000

    /// Creates the exchange for a config.
    init(number: Int64, tables: [SourceTable], isWhole: Bool = true, maximumKeys: Int = ConfigFill.maximumKeys) {
        self.number = number
        self.tables = tables
        self.isWhole = isWhole
        self.maximumKeys = maximumKeys
    }

    // MARK: The reader's side

    /// From now on, the keys of changes of a table are noted.
    func begin(_ table: SourceTable) {
        state.withLockedValue { state in
            state.table = table
            state.changedKeys = []
            state.isOutdated = false
        }
    }

    /// Waits until everything up to a position has been saved.
    func waitUntilReached(_ lsn: LSN) async throws {
        try await wait { $0.position.map { $0 >= lsn } ?? false }
    }

    /// Offers something: the follower takes it with a later change, so a marker has to follow.
    ///
    /// - Parameters:
    ///   - offer: Rows, or an end.
    ///   - high: A position that shows all that the rows show; `nil` when nothing was read.
    func offer(_ offer: Offer, at high: LSN?) {
        state.withLockedValue { $0.waiting = Waiting(offer: offer, high: high) }
    }

    /// Waits until what was offered has been taken.
    ///
    /// - Returns: Whether it was saved: otherwise the rows must be read again, after another ``begin(_:)``.
    /// - Throws: `CancellationError`.
    func waitUntilTaken() async throws -> Bool {
        try await wait { $0.waiting == nil }
        return state.withLockedValue(\.isAccepted)
    }

    /// Nothing more is read: the follower has to fail with this error.
    func fail(_ error: any Error) { state.withLockedValue { $0.failure = error } }

    private func wait(until condition: (State) -> Bool) async throws {
        while true {
            let seen = changed.version
            if state.withLockedValue({ condition($0) }) { return }
            try await changed.wait(after: seen)
        }
    }

    // MARK: The follower's side

    /// Notes what is about to be saved.
    func note(_ message: SourceMessage) {
        state.withLockedValue { state in
            guard let table = state.table else { return }
            let names = table.descriptor.identity.map(\.name)
            func note(_ row: SourceRow?, _ keys: [SQLValue]?...) {
                if let row {
                    state.changedKeys.insert(ReplicaID(names: names, values: names.map { row[$0] ?? .null }))
                }
                for key in keys.compactMap(\.self) { state.changedKeys.insert(ReplicaID(names: names, values: key)) }
            }
            switch message {
            case .changes(let changes, table.descriptor.relationID):
                for change in changes { note(change.row, change.oldKey) }
            case .partialUpdates(let updates, table.descriptor.relationID):
                for update in updates { note(update.row, update.oldKey, update.sourceKey) }
            case .truncate(table.descriptor.relationID): state.isOutdated = true
            default: break
            }
            guard state.changedKeys.count > maximumKeys else { return }
            state.changedKeys = []
            state.isOutdated = true
        }
    }

    /// Everything up to a position has been saved.
    ///
    /// - Throws: What the reader has failed with.
    func reached(_ lsn: LSN) throws {
        let failure = state.withLockedValue { state in
            state.position = lsn
            return state.failure
        }
        if let failure { throw failure }
        changed.advance()
    }

    /// Takes what is offered, if it is as everything is that has been saved.
    ///
    /// - Returns: The rows to save, of which table, or the end.
    func take() -> (offer: Offer, table: SourceTable?)? {
        state.withLockedValue { state in
            guard let waiting = state.waiting, let position = state.position,
                waiting.high.map({ $0 <= position }) ?? true
            else { return nil }
            guard case .rows(let rows) = waiting.offer, let table = state.table else {
                return (waiting.offer, state.table)
            }
            if state.isOutdated { return (.rows([]), table) }
            let names = table.descriptor.identity.map(\.name)
            let kept = rows.filter { row in
                !state.changedKeys.contains(ReplicaID(names: names, values: names.map { row[$0] ?? .null }))
            }
            return (.rows(kept), table)
        }
    }

    /// What was taken has been saved, and the reader goes on.
    func didTake() {
        state.withLockedValue { state in
            state.isAccepted = !state.isOutdated
            state.waiting = nil
        }
        changed.advance()
    }
}
