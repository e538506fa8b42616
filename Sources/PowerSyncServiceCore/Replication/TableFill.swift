import NIOConcurrencyHelpers
import PowerSyncSyncConfig

/// Rows of tables that are read beside the change stream, on their way from the task that reads them to the one that follows changes: for
/// the next config of the stream (docs/service.md "What a deployment keeps"), or because columns are others than they were.
///
///     reader                                       follower
///     waits for the position “low”                 saves changes up to it
///     begin(table)                                 notes the keys of all changes of the table from here on
///     reads a chunk, then the position “high”,
///     and evaluates its rows
///     offer(chunk, high)          ───────►         has saved changes up to “high”: takes the chunk
///     reads and evaluates the next one             saves its rows, without those whose keys it has noted
///     offer(chunk, high)          ───────►
///
/// Where the follower has not come to a position, the reader puts a marker into the change stream. A marker is written to the disk of the
/// source; a follower that is there already, as over SQLite and MySQL when nothing happens, takes the chunk without one.
///
/// So the rows that are saved are as they were at the position that the follower has reached: clients are served checkpoints meanwhile.
final class TableFill: Sendable {
    /// What the reader hands over.
    enum Offer: Sendable {
        /// Rows of the table that was begun, evaluated, and where the rows after them begin; `nil` when it is not known.
        case rows([PendingRecord], upTo: SnapshotKey?)
        /// All rows of the table that was begun have been handed over.
        case table
        /// There are no other tables.
        case everything
    }

    /// What the follower saves.
    enum Taken: Sendable {
        /// Rows of a table, and how far it has been read with them; `nil` when it is not known, or they are read once more.
        case rows([PendingRecord], upTo: SnapshotKey?, SourceTable)
        /// All rows of a table have been saved.
        case table(SourceTable)
        /// As ``Offer/everything``.
        case everything
    }

    private struct Waiting {
        var offer: Offer
        var high: LSN?
    }

    private struct State {
        var table: SourceTable?
        /// Those of the changes since the table was begun.
        var changedKeys: Set<ReplicaID> = []
        /// Whether all rows that were there before are gone, or there were too many changes to note.
        var isOutdated = false
        var position: LSN?
        var waiting: Waiting?
        /// Whether the change stream has something that the follower has not looked at.
        var hasChanges = false
        /// Whether rows have been taken since changes were saved: no checkpoint shows them.
        var hasHiddenRows = false
        var isAccepted = false
        var failure: (any Error)?

        func hasReached(_ lsn: LSN?) -> Bool {
            guard let position else { return false }
            return lsn.map { $0 <= position } ?? true
        }

        /// Whether what is offered can be taken: rows at a position that shows them, and an end when a checkpoint shows the rows before it.
        var canTake: Bool {
            guard let waiting, hasReached(waiting.high) else { return false }
            if case .rows = waiting.offer { return true }
            return !hasHiddenRows
        }
    }

    /// The number of the newest config of the stream.
    let number: Int64
    /// The tables that are to be read.
    let tables: [SourceTable]
    /// The parts of the next config that are new; `nil` when there is none.
    private let added: SyncPlan?
    /// Whether the next config has everything afterwards; `false` also when there is none.
    let isWhole: Bool
    private let state = NIOLockedValueBox(State())
    /// Advanced when the follower has reached a position, or has taken what was offered: the reader waits for it.
    private let saved = ChangeSignal()
    /// Advanced when something is offered, or changes have come: the follower waits for it.
    private let offered = ChangeSignal()
    private let maximumKeys: Int

    /// The most keys that are noted: then the rest of the table is begun again.
    static let maximumKeys = 100_000

    /// Creates the exchange for some tables.
    ///
    /// - Parameters:
    ///   - number: The number of the newest config of the stream.
    ///   - tables: The tables that are to be read.
    ///   - added: The parts of the next config that are new; `nil` when there is none.
    ///   - isWhole: Whether the next config has everything afterwards.
    ///   - maximumKeys: The most keys that are noted.
    init(
        number: Int64,
        tables: [SourceTable],
        added: SyncPlan?,
        isWhole: Bool,
        maximumKeys: Int = TableFill.maximumKeys
    ) {
        self.number = number
        self.tables = tables
        self.added = added
        self.isWhole = isWhole
        self.maximumKeys = maximumKeys
    }

    /// The parts of configs that rows of a table are read for; `nil` for all, because they have other values than those that are stored.
    func parts(of table: SourceTable) -> SyncPlan? { table.isOutdated ? nil : added }

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
        try await wait(for: saved) { $0.hasReached(lsn) }
    }

    /// Whether everything up to a position has been saved.
    func hasReached(_ lsn: LSN) -> Bool { state.withLockedValue { $0.hasReached(lsn) } }

    /// Offers something.
    ///
    /// - Parameters:
    ///   - offer: Rows, or an end.
    ///   - high: A position that shows all that the rows show; `nil` when nothing was read.
    func offer(_ offer: Offer, at high: LSN?) {
        state.withLockedValue { $0.waiting = Waiting(offer: offer, high: high) }
        offered.advance()
    }

    /// Waits until what was offered has been taken.
    ///
    /// - Returns: Whether it was saved: otherwise the rows must be read again, after another ``begin(_:)``.
    /// - Throws: `CancellationError`.
    func waitUntilTaken() async throws -> Bool {
        try await wait(for: saved) { $0.waiting == nil }
        return state.withLockedValue(\.isAccepted)
    }

    /// Whether nothing that was offered waits for the follower.
    var isTaken: Bool { state.withLockedValue { $0.waiting == nil } }

    /// Nothing more is read: the follower has to fail with this error.
    func fail(_ error: any Error) {
        state.withLockedValue { $0.failure = error }
        offered.advance()
    }

    private func wait(for signal: ChangeSignal, until condition: (State) -> Bool) async throws {
        while true {
            let seen = signal.version
            if state.withLockedValue({ condition($0) }) { return }
            try await signal.wait(after: seen)
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
                    state.changedKeys.insert(ReplicaID(names: names, values: row.key(of: names)))
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
            state.hasHiddenRows = false
            return state.failure
        }
        if let failure { throw failure }
        saved.advance()
    }

    /// The follower has looked at all changes that have come, and waits for others.
    func awaitChanges() { state.withLockedValue { $0.hasChanges = false } }

    /// Changes have come, or an error.
    func changesHaveCome() {
        state.withLockedValue { $0.hasChanges = true }
        offered.advance()
    }

    /// Waits until there is something to take, or an error of the reader, or changes have come, which are saved first.
    ///
    /// - Returns: Whether no changes have come.
    /// - Throws: `CancellationError`.
    func waitForOffer() async throws -> Bool {
        try await wait(for: offered) { state in
            state.hasChanges || state.failure != nil || state.canTake
        }
        return state.withLockedValue { !$0.hasChanges }
    }

    /// Takes what is offered, if it is as everything is that has been saved.
    ///
    /// - Returns: The rows to save, or an end; `nil` when there is nothing yet.
    /// - Throws: What the reader has failed with.
    func take() throws -> Taken? {
        try state.withLockedValue { state in
            if let failure = state.failure { throw failure }
            guard state.canTake, let waiting = state.waiting else { return nil }
            guard let table = state.table else { return .everything }
            switch waiting.offer {
            case .everything: return .everything
            case .table: return .table(table)
            case .rows(let rows, let key):
                state.hasHiddenRows = true
                if state.isOutdated { return .rows([], upTo: nil, table) }
                guard !state.changedKeys.isEmpty else { return .rows(rows, upTo: key, table) }
                return .rows(rows.filter { !state.changedKeys.contains($0.beforeKey) }, upTo: key, table)
            }
        }
    }

    /// What was taken has been saved, and the reader goes on.
    func didTake() {
        state.withLockedValue { state in
            state.isAccepted = !state.isOutdated
            state.waiting = nil
        }
        saved.advance()
    }
}
