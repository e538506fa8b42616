import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// A change of a row of a ``FakeService``.
enum RowChange: Sendable {
    /// Inserts a row, or replaces the one with the same id.
    case put(String, FakeService.Row)
    /// Changes some columns of a row.
    case update(String, String, FakeService.Row)
    /// Deletes a row.
    case delete(String, String)
    /// Inserts a row, or changes some columns of the one with this id.
    case upsert(String, String, FakeService.Row)
}

/// The rows of a ``FakeService``, and the buckets that clients see of them.
///
/// What is changed is in the buckets at once, and a checkpoint has it, unless checkpoints are held back.
final class ServiceRows: Sendable {
    /// Write checkpoints of all services of this process: a database that knows a number of one is not told the same by another.
    private static let lastCheckpoint = NIOLockedValueBox<Int64>(0)
    /// The streams of all services of this process: a database that moves from one to another finds other buckets there.
    private static let lastStream = NIOLockedValueBox<Int64>(0)
    /// All positions are of one log.
    private static let history = SourceHistory(rawValue: "fake")

    private struct Table {
        /// `nil` for a table that no stream reads.
        var record: SourceTable?
        var rows: [String: FakeService.Row] = [:]
    }

    private struct State {
        var tables: [String: Table] = [:]
        var lastPosition: UInt64 = 0
        /// How many faults hold checkpoints back.
        var holds = 0
        /// Whether there is something that no checkpoint has.
        var isWithheld = false
    }

    /// The buckets.
    let storage = InMemoryBucketStorage(firstID: lastStream.next())
    let plan: SyncPlan
    private let streamID: ReplicationStreamID
    private let state = NIOLockedValueBox(State())

    /// Creates a service without rows.
    ///
    /// - Parameters:
    ///   - config: The text of the sync config.
    ///   - plan: What it compiles to.
    /// - Throws: ``BucketStorageError``.
    init(_ config: String, plan: SyncPlan) throws {
        self.plan = plan
        streamID = try storage.deploy(config, versionLabel: nil, plan: plan, mode: .ifChanged).id
        try storage.write(to: streamID) { transaction in
            try transaction.setResumePosition(SourcePosition(Self.lsn(0), of: Self.history))
            transaction.setSnapshotDone(noCheckpointBefore: Self.lsn(0))
            _ = try transaction.publish(Self.lsn(0), createsEmptyCheckpoints: true)
        }
    }

    private static func lsn(_ position: UInt64) -> LSN {
        let digits = String(position, radix: 16)
        return LSN(String(repeating: "0", count: 16 - digits.count) + digits)
    }

    // MARK: Rows

    /// The row with an id.
    func row(_ table: String, _ id: String) -> FakeService.Row? {
        state.withLockedValue { $0.tables[key(of: table)]?.rows[id] }
    }

    /// All rows of a table, ordered by id.
    func all(_ table: String) -> [FakeService.Row] {
        let rows = state.withLockedValue { $0.tables[key(of: table)]?.rows ?? [:] }
        return rows.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Makes changes, all or none.
    ///
    /// - Parameters:
    ///   - changes: The changes, in order.
    ///   - isFromClient: Whether they are an upload: then tables that no stream reads are fine, as they are for a backend, and so are
    ///     updates of rows that are gone.
    /// - Throws: ``FakeServiceError``, for the first change that cannot be made.
    func apply(_ changes: [RowChange], isFromClient: Bool) throws {
        guard !changes.isEmpty else { return }
        try state.withLockedValue { state in
            var undo: [(table: String, id: String, row: FakeService.Row?)] = []
            var batches: [(table: SourceTable, changes: [SourceChange])] = []
            do {
                for change in changes {
                    guard let new = try rowAfter(change, &state, isFromClient: isFromClient) else { continue }
                    let old = state.tables[new.table]?.rows.updateOptional(new.row, forKey: new.id)
                    undo.append((new.table, new.id, old))
                    guard let record = state.tables[new.table]?.record else { continue }
                    if batches.last?.table.id != record.id { batches.append((record, [])) }
                    batches[batches.count - 1].changes += Self.sourceChanges(from: old, to: new.row)
                }
            } catch {
                for (table, id, row) in undo.reversed() { state.tables[table]?.rows[id] = row }
                throw error
            }
            for batch in batches { try save(batch.changes, of: batch.table) }
            try advance(&state)
        }
    }

    /// Puts changes of a table into buckets.
    private func save(_ changes: [SourceChange], of table: SourceTable) throws {
        var evaluator = RecordBuilder(
            plan: plan,
            bucketPrefix: streamID.bucketPrefix,
            hashKey: [],
            table: table,
            mode: .stream
        )
        let records = changes.flatMap { change in
            let record = evaluator.evaluate(change)
            return [record] + record.releases.map { PendingRecord($0) }
        }
        let batch = PendingChanges.Batch(records: records)
        try storage.write(to: streamID) { try $0.store(batch) }
    }

    /// What a change leaves of a row; `nil` when it changes nothing.
    private func rowAfter(
        _ change: RowChange,
        _ state: inout State,
        isFromClient: Bool
    ) throws -> (table: String, id: String, row: FakeService.Row?)? {
        switch change {
        case .put(let name, let row):
            let table = try resolve(name, &state, isFromClient: isFromClient)
            return (table, try Self.id(of: row, in: name), row)
        case .update(let name, let id, let values):
            let table = try resolve(name, &state, isFromClient: isFromClient)
            guard let row = state.tables[table]?.rows[id] else {
                if isFromClient { return nil }
                throw FakeServiceError(.missingRow, "There is no row \"\(id)\" in the table \(name) to update.")
            }
            return (table, id, row.merging(values, of: id))
        case .upsert(let name, let id, let values):
            let table = try resolve(name, &state, isFromClient: isFromClient)
            let row = state.tables[table]?.rows[id] ?? ["id": .text(id)]
            return (table, id, row.merging(values, of: id))
        case .delete(let name, let id):
            let table = try resolve(name, &state, isFromClient: isFromClient)
            return state.tables[table]?.rows[id] == nil ? nil : (table, id, nil)
        }
    }

    private static func sourceChanges(from old: FakeService.Row?, to new: FakeService.Row?) -> [SourceChange] {
        let (oldID, newID) = (old?["id"]?.sqliteValue, new?["id"]?.sqliteValue)
        guard let new else { return oldID.map { [.delete(key: [$0])] } ?? [] }
        let isOtherKey = oldID != nil && oldID != newID
        return [.update(new.sourceRow, oldKey: isOtherKey ? oldID.map { [$0] } : nil)]
    }

    // MARK: Tables

    /// Makes a record of a table.
    ///
    /// - Returns: What it is found by.
    private func resolve(_ name: String, _ state: inout State, isFromClient: Bool) throws -> String {
        let key = key(of: name)
        if let table = state.tables[key], table.record != nil || isFromClient { return key }
        if let source = sourceName(of: name) {
            let descriptor = SourceTableDescriptor(
                name: source,
                relationID: source.description,
                identity: [.init(name: "id", type: "TEXT")]
            )
            let table = SourceTable(id: "table\(state.tables.count)", descriptor: descriptor)
            try storage.write(to: streamID) { $0.insert(table) }
            state.tables[key] = Table(record: table)
        } else if isFromClient {
            state.tables[key] = Table(record: nil)
        } else {
            let known = plan.tablePatterns.map { ($0.schema.map { "\($0)." } ?? "") + $0.table }.sorted()
            throw FakeServiceError(
                .unknownTable,
                "No stream of the sync config reads a table \"\(name)\"; it reads: \(known.joined(separator: ", "))."
            )
        }
        return key
    }

    /// What a table is found by, whichever of its names is used.
    private func key(of name: String) -> String { sourceName(of: name)?.description ?? name }

    /// The table of the sync config that a name stands for: `todos`, or `app.todos`.
    private func sourceName(of name: String) -> SourceTableName? {
        let plain = SourceTableName(schema: plan.defaultSchema, name: name)
        if plan.readsTable(plain) { return plain }
        if let dot = name.firstIndex(of: ".") {
            let qualified = SourceTableName(schema: String(name[..<dot]), name: String(name[name.index(after: dot)...]))
            if plan.readsTable(qualified) { return qualified }
        }
        // What clients upload has no schema.
        return plan.tablePatterns.compactMap(\.schema).map { SourceTableName(schema: $0, name: name) }
            .first { plan.readsTable($0) }
    }

    private static func id(of row: FakeService.Row, in table: String) throws -> String {
        switch row["id"] {
        case .text(let id) where !id.isEmpty: return id
        case .integer(let id): return "\(id)"
        case nil, .null:
            throw FakeServiceError(.missingID, "A row for the table \(table) has no id: \(row).")
        case .text, .real, .blob:
            throw FakeServiceError(
                .invalidID,
                "The id of a row for the table \(table) must be a text or an integer, and not empty: \(row)."
            )
        }
    }

    // MARK: Checkpoints

    /// Makes a checkpoint of everything so far, or remembers that there has to be one.
    private func advance(_ state: inout State) throws {
        state.lastPosition += 1
        guard state.holds == 0 else {
            state.isWithheld = true
            return
        }
        let position = Self.lsn(state.lastPosition)
        _ = try storage.write(to: streamID) { try $0.publish(position, createsEmptyCheckpoints: true) }
    }

    /// Whether something is held back.
    var isWithheld: Bool { state.withLockedValue { $0.isWithheld } }

    /// Makes no more checkpoints.
    func hold() {
        state.withLockedValue { $0.holds += 1 }
    }

    /// Ends a ``hold()``; the last one publishes what was held back.
    func release() throws {
        try state.withLockedValue { state in
            state.holds -= 1
            guard state.holds == 0, state.isWithheld else { return }
            state.isWithheld = false
            try advance(&state)
        }
    }

    /// Makes a number that a later checkpoint repeats: one that has everything so far.
    ///
    /// - Parameters:
    ///   - requested: A number that the client has chosen.
    ///   - userKey: Whose it is.
    ///   - recorded: Called with its position when it is there, and before a checkpoint has it.
    /// - Returns: The number.
    /// - Throws: ``BucketStorageError``.
    func makeWriteCheckpoint(
        _ requested: WriteCheckpoint? = nil,
        userKey: String,
        recorded: (LSN) -> Void
    ) throws -> WriteCheckpoint {
        if let requested { Self.lastCheckpoint.withLockedValue { $0 = max($0, requested.rawValue) } }
        return try state.withLockedValue { state in
            // No checkpoint has the position yet: while they are held back, the number is, too.
            let head = SourcePosition(Self.lsn(state.lastPosition + 1), of: Self.history)
            func record(_ number: WriteCheckpoint) throws -> WriteCheckpoint {
                try storage.recordCheckpointRequest(number, userKey: userKey, head: head)
            }
            func next() -> WriteCheckpoint {
                WriteCheckpoint(Self.lastCheckpoint.next())
            }
            let wanted = requested ?? next()
            var checkpoint = try record(wanted)
            // There has been a greater one, which the client may have by now.
            if checkpoint != wanted { checkpoint = try record(next()) }
            recorded(head.lsn)
            try advance(&state)
            return checkpoint
        }
    }
}

extension [String: FakeService.Row] {
    /// Sets or removes a row.
    ///
    /// - Returns: What was there.
    fileprivate mutating func updateOptional(_ row: FakeService.Row?, forKey id: String) -> FakeService.Row? {
        guard let row else { return removeValue(forKey: id) }
        return updateValue(row, forKey: id)
    }
}

extension FakeService.Row {
    /// The row with other values for some columns, but the same id.
    fileprivate func merging(_ values: FakeService.Row, of id: String) -> FakeService.Row {
        var merged = merging(values)
        merged["id"] = self["id"] ?? .text(id)
        return merged
    }
}

extension NIOLockedValueBox<Int64> {
    /// The next number of a sequence.
    fileprivate func next() -> Int64 {
        withLockedValue { number in
            number += 1
            return number
        }
    }
}
