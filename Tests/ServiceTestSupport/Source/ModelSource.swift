package import NIOConcurrencyHelpers
package import PowerSyncServiceCore
package import PowerSyncSyncConfig

/// A source in memory that is obviously right: it keeps every transaction for ever, and what its tables were after each.
///
/// Like PostgreSQL, it can leave out large cells that an update has not changed.
package final class ModelSource: ReplicationSource, RowReadingSource {
    package struct Table: Sendable {
        /// Without columns.
        package var descriptor: SourceTableDescriptor
        package var columns: [String]
        /// How often columns were changed.
        package var changes: [String: Int] = [:]
        package var rows: [[SQLValue]: SourceRow] = [:]

        /// The table with the columns that a plan reads.
        fileprivate func described(for plan: SyncPlan) -> SourceTableDescriptor {
            let read = plan.readColumns(of: descriptor.name)
            return described(reading: columns.filter { read?.contains($0) ?? true })
        }

        fileprivate func described(reading columns: some Sequence<String>) -> SourceTableDescriptor {
            var descriptor = descriptor
            for column in columns where self.columns.contains(column) {
                descriptor.columns[column] = "\(changes[column, default: 0])"
            }
            return descriptor
        }

        package func key(of row: SourceRow) -> [SQLValue] { descriptor.identity.map { row[$0.name] ?? .null } }

        /// The rows in the order of their keys, which are texts.
        package var sorted: [SourceRow] { rows.sorted { Self.precedes($0.key, $1.key) }.map(\.value) }

        /// Whether a key comes before another one of the table.
        fileprivate static func precedes(_ key: [SQLValue], _ other: [SQLValue]) -> Bool {
            key.lexicographicallyPrecedes(other) { value, other in
                guard case .text(let text) = value, case .text(let otherText) = other else {
                    return "\(value)" < "\(other)"
                }
                return text < otherText
            }
        }
    }

    package struct Transaction: Sendable {
        package var messages: [SourceMessage]
        /// Tells it apart from others at the same place in another log.
        package var token: UInt64
        /// The tables after it.
        package var tables: [String: Table]
    }

    /// Everything that a backup has.
    package struct Content: Sendable {
        package var history = SourceHistory(rawValue: "history 1")
        package var log: [Transaction] = []
        package var tables: [String: Table] = [:]
        package var acknowledged: [String: Int] = [:]
        package var relationCount = 0

        package var head: SourcePosition { position(log.count) }

        package func position(_ sequence: Int) -> SourcePosition {
            let token = sequence == 0 ? 0 : log[sequence - 1].token
            return SourcePosition(LSN("\(digits(UInt64(sequence)))-\(digits(token))"), of: history)
        }

        /// How many transactions there are up to a position; `nil` when this log does not have it.
        package func count(_ position: SourcePosition) -> Int? {
            guard let count = Int(position.lsn.rawValue.prefix(16), radix: 16), (0...log.count).contains(count),
                self.position(count) == position
            else { return nil }
            return count
        }

        private func digits(_ number: UInt64) -> String {
            let text = String(number, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }
    }

    fileprivate struct State {
        var content = Content()
        /// Transactions and histories that were ever made.
        var made: UInt64 = 0
    }

    private let state = NIOLockedValueBox(State())
    private let changed = ChangeSignal()
    /// Columns whose cells updates leave out when they stay the same.
    private let largeColumns: Set<String>
    /// The rows of a page of a snapshot.
    package let pageLength: Int
    /// The size from which on no more rows are found by their keys.
    private let maximumPresentBytes: Int
    /// How many transactions a reader delivers at once, if there are so many.
    private let transactionsAtOnce: Int
    /// How many transactions a state shows, of which rows are read, besides those that it has to.
    ///
    /// If there are so many; it is kept until it is let go of. `nil` for the newest state each time.
    private let statesAhead: Int?
    /// How many transactions the state shows that rows were read of.
    private let shown = NIOLockedValueBox(0)
    /// How often a state was let go of.
    package let releases = NIOLockedValueBox(0)
    /// Happens each time before rows are read by their keys.
    package let beforeRows = NIOLockedValueBox<(@Sendable () -> Void)?>(nil)
    /// What the next questions whether the history is kept are answered with; afterwards it is.
    package let retentionErrors = NIOLockedValueBox<[any Error]>([])

    package init(
        largeColumns: Set<String> = [],
        pageLength: Int = 3,
        maximumPresentBytes: Int = PresentRows.maximumBytes,
        transactionsAtOnce: Int = 1,
        statesAhead: Int? = nil
    ) {
        self.largeColumns = largeColumns
        self.pageLength = pageLength
        self.maximumPresentBytes = maximumPresentBytes
        self.transactionsAtOnce = transactionsAtOnce
        self.statesAhead = statesAhead
    }

    package var content: Content { state.withLockedValue { $0.content } }

    /// The rows of a table at a position.
    package func rows(of table: String, at position: LSN) -> [SourceRow]? {
        let content = content
        guard let count = content.count(SourcePosition(position, of: content.history)), count > 0 else { return nil }
        return content.log[count - 1].tables[table]?.sorted ?? []
    }

    // MARK: Writing

    /// Writes a transaction.
    package func write(_ writes: [RowWrite]) {
        state.withLockedValue { state in
            var messages: [SourceMessage] = []
            let moment = statesAhead.map { _ in SourceMoment(rawValue: UInt64(state.content.log.count) + 1) }
            for write in writes { apply(write, to: &state.content.tables, &messages, moment) }
            state.append(messages)
        }
        changed.advance()
    }

    /// Writes a transaction that does more than its log tells: rules of foreign keys change other rows.
    ///
    /// - Parameters:
    ///   - writes: What the log has.
    ///   - others: What the rules do.
    ///   - cascade: What the log has of that, made of the tables by their names.
    package func write(
        _ writes: [RowWrite],
        cascading others: [RowWrite],
        _ cascade: ([String: Table]) -> Cascade
    ) {
        state.withLockedValue { state in
            var messages: [SourceMessage] = []
            for write in writes { apply(write, to: &state.content.tables, &messages) }
            var silent: [SourceMessage] = []
            for write in others { apply(write, to: &state.content.tables, &silent) }
            messages.append(.cascade(cascade(state.content.tables)))
            state.append(messages)
        }
        changed.advance()
    }

    /// Has the rows of a table found by columns of foreign keys.
    package func setReferences(_ references: [[String]], of name: String) {
        state.withLockedValue { $0.content.tables[name]?.descriptor.references = references }
    }

    /// Changes the tables.
    package func alter(_ change: TableChange) {
        state.withLockedValue { state in
            switch change {
            case .create(let name, let columns):
                state.content.relationCount += 1
                state.content.tables[name] = Table(
                    descriptor: SourceTableDescriptor(
                        name: SourceTableName(schema: "main", name: name),
                        relationID: "\(state.content.relationCount)",
                        identity: [.init(name: "id", type: "TEXT")]
                    ),
                    columns: columns
                )
            case .drop(let name):
                state.content.tables[name] = nil
            case .addColumn(let column, let name):
                guard var table = state.content.tables[name] else { return }
                state.content.relationCount += 1
                table.descriptor.relationID = "\(state.content.relationCount)"
                table.columns.append(column)
                table.rows = table.rows.mapValues { row in
                    SourceRow(columns: row.columns + [.init(name: column, value: .null)])
                }
                state.content.tables[name] = table
            }
            state.append([])
        }
        changed.advance()
    }

    /// Gives a column another value in all rows, or takes it away, as DDL does: no row is in the log.
    ///
    /// - Parameters:
    ///   - column: The column, which need not be there.
    ///   - name: The table.
    ///   - value: The value; `nil` to drop the column.
    package func setColumn(_ column: String, of name: String, to value: SQLValue?) {
        state.withLockedValue { state in
            guard var table = state.content.tables[name] else { return }
            table.changes[column, default: 0] += 1
            table.columns.removeAll { $0 == column }
            if value != nil { table.columns.append(column) }
            table.rows = table.rows.mapValues { row in
                let added = value.map { [SourceRow.Column(name: column, value: $0)] } ?? []
                return SourceRow(columns: row.columns.filter { $0.name != column } + added)
            }
            state.content.tables[name] = table
            state.append([])
        }
        changed.advance()
    }

    private func apply(
        _ write: RowWrite,
        to tables: inout [String: Table],
        _ messages: inout [SourceMessage],
        _ moment: SourceMoment? = nil
    ) {
        guard var table = tables[write.table] else { return }
        let relation = table.descriptor.relationID
        switch write {
        case .insert(_, let id, let values):
            let row = SourceRow(
                columns: table.columns.map { .init(name: $0, value: $0 == "id" ? .text(id) : values[$0] ?? .null) }
            )
            guard table.rows[[.text(id)]] == nil else { return }
            table.rows[[.text(id)]] = row
            messages.append(.changes([.insert(row)], relationID: relation))
        case .update(_, let id, let values):
            guard let old = table.rows.removeValue(forKey: [.text(id)]) else { return }
            var row = old
            for index in row.columns.indices {
                if let value = values[row.columns[index].name] { row.columns[index].value = value }
            }
            let key = table.key(of: row)
            guard table.rows[key] == nil else { return }
            table.rows[key] = row
            let oldKey: [SQLValue]? = key == [.text(id)] ? nil : [.text(id)]
            let sent = row.columns.filter { !largeColumns.contains($0.name) || old[$0.name] != $0.value }
            messages.append(
                sent.count == row.columns.count
                    ? .changes([.update(row, oldKey: oldKey)], relationID: relation)
                    : .partialUpdates(
                        [PartialUpdate(SourceRow(columns: sent), oldKey: oldKey, moment: moment)],
                        relationID: relation
                    )
            )
        case .delete(_, let id):
            guard table.rows.removeValue(forKey: [.text(id)]) != nil else { return }
            messages.append(.changes([.delete(key: [.text(id)])], relationID: relation))
        case .truncate:
            table.rows = [:]
            messages.append(.truncate(relationID: relation))
        }
        tables[write.table] = table
    }

    /// Becomes what it was, with what was written since lost.
    package func restore(_ backup: Content) {
        state.withLockedValue { state in
            state.made += 1
            state.content = backup
            state.content.history = SourceHistory(rawValue: "history \(state.made + 1)")
        }
        changed.advance()
    }

    // MARK: ReplicationSource

    package func checkConfiguration() async throws {}

    package func head(having known: SourcePosition?) async throws -> SourcePosition { content.head }

    package func emitMarker() async throws {
        state.withLockedValue { $0.append([]) }
        changed.advance()
    }

    package func prepareStream(
        _ handle: String,
        resumingAfter position: SourcePosition?,
        reached: LSN?
    ) async throws -> SourcePosition {
        try state.withLockedValue { state in
            guard let position else {
                state.append([])
                state.content.acknowledged[handle] = state.content.log.count
                return state.content.head
            }
            guard let count = state.content.count(position), let kept = state.content.acknowledged[handle],
                count >= kept
            else { throw Self.historyLost }
            return position
        }
    }

    package func database() -> DatabaseID? { nil }

    package func tables(for plan: SyncPlan) async throws -> [SourceTableDescriptor] {
        content.tables.values.map { $0.described(for: plan) }.filter { plan.readsTable($0.name) }
            .sorted { $0.name.name < $1.name.name }
    }

    package func snapshot(of table: SourceTableDescriptor, after key: SnapshotKey?) async throws -> any SnapshotReader {
        Pages(source: self, table: table, lastKey: try key?.values())
    }

    package func waitUntilShown(_ table: SourceTableDescriptor) async throws {}

    private struct Pages: SnapshotReader {
        let source: ModelSource
        let table: SourceTableDescriptor
        var lastKey: [SQLValue]?

        mutating func next() async throws -> SnapshotChunk? {
            let found = try source.table(table)
            let rest = found.sorted.drop { row in lastKey.map { !Table.precedes($0, found.key(of: row)) } ?? false }
            let rows = Array(rest.prefix(source.pageLength))
            guard let last = rows.last else { return nil }
            lastKey = found.key(of: last)
            return SnapshotChunk(rows: rows, lastKey: SnapshotKey(found.key(of: last)))
        }
    }

    package func checkRetention(for handle: String) async throws {
        let error = retentionErrors.withLockedValue { $0.isEmpty ? nil : $0.removeFirst() }
        if let error { throw error }
    }

    package func rows(
        of table: SourceTableDescriptor,
        keys: [[SQLValue]],
        showing moments: Set<SourceMoment>
    ) async throws -> PresentRows {
        beforeRows.withLockedValue { $0 }?()
        let content = content
        _ = try self.table(table)
        let count = shownCount(moments, content)
        let found = count == 0 ? nil : content.log[count - 1].tables[table.name.name]
        var bytes = 0
        let rows = keys.compactMap { found?.rows[$0] }
        let kept = rows.prefix { row in
            defer { bytes += row.estimatedBytes }
            return bytes < maximumPresentBytes
        }
        return PresentRows(Array(kept), isComplete: kept.count == rows.count, at: content.position(count))
    }

    /// How many transactions the state shows that rows are read of.
    private func shownCount(_ moments: Set<SourceMoment>, _ content: Content) -> Int {
        guard let statesAhead, let last = moments.map(\.rawValue).max() else { return content.log.count }
        return shown.withLockedValue { shown in
            if shown < last { shown = min(Int(last) + statesAhead, content.log.count) }
            return shown
        }
    }

    package func shows(_ moment: SourceMoment) -> Bool { shown.withLockedValue { moment.rawValue <= $0 } }

    package func releaseRows() async throws {
        shown.withLockedValue { $0 = 0 }
        releases.withLockedValue { $0 += 1 }
    }

    private func table(_ descriptor: SourceTableDescriptor) throws -> Table {
        guard let table = content.tables[descriptor.name.name],
            table.described(reading: descriptor.columns.keys) == descriptor
        else {
            throw ReplicationSourceError(.tablesChanged, "another table")
        }
        return table
    }

    package func withChanges<Result>(
        of handle: String,
        after position: SourcePosition,
        tables: [SourceTable],
        plan: SyncPlan,
        _ body: (inout any ChangeReader) async throws -> Result
    ) async throws -> Result {
        var reader: any ChangeReader = Reader(
            source: self,
            tables: tables.map(\.descriptor),
            plan: plan,
            position: position
        )
        return try await body(&reader)
    }

    private struct Reader: ChangeReader {
        let source: ModelSource
        let tables: [SourceTableDescriptor]
        let plan: SyncPlan
        var position: SourcePosition
        var isFirst = true

        /// Changes of a table that was dropped or altered since are left out, as those of any other.
        private func isOfTables(_ message: SourceMessage) -> Bool {
            switch message {
            case .changes(_, let relationID), .partialUpdates(_, let relationID), .truncate(let relationID):
                tables.contains { $0.relationID == relationID }
            case .cascade(let cascade): tables.contains { $0.relationID == cascade.relationID }
            case .begin, .commit, .marker, .tablesChanged: true
            }
        }

        mutating func next() async throws -> [SourceMessage] {
            while true {
                let seen = source.changed.version
                let content = source.content
                guard let count = content.count(position) else { throw ModelSource.historyLost }
                guard tables.allSatisfy({ content.tables[$0.name.name]?.described(for: plan) == $0 }),
                    content.tables.values.count(where: { plan.readsTable($0.descriptor.name) }) == tables.count
                else { return [.tablesChanged] }
                if count < content.log.count {
                    // One transaction after the other.
                    let end = min(count + source.transactionsAtOnce, content.log.count)
                    position = content.position(end)
                    isFirst = false
                    return (count..<end).flatMap { number in
                        content.log[number].messages.filter(isOfTables)
                            + [.commit(content.position(number + 1).lsn)]
                    }
                }
                if isFirst {
                    isFirst = false
                    return [.commit(position.lsn)]
                }
                try await source.changed.wait(after: seen)
            }
        }
    }

    private static let historyLost = ReplicationSourceError(.historyLost, "not of this log")

    package func wantsAcknowledgement(of lsn: LSN, by handle: String) -> Bool { true }

    package func acknowledge(_ position: DurablePosition, of handle: String) async throws {
        state.withLockedValue { state in
            guard let count = state.content.count(position.position) else { return }
            state.content.acknowledged[handle] = max(state.content.acknowledged[handle] ?? 0, count)
        }
    }

    package func dropStream(_ handle: String) async throws {
        state.withLockedValue { $0.content.acknowledged[handle] = nil }
    }

    package func uninstall() async throws {}

    package var described: (any DescribedSource)? { nil }
    package var writable: (any WritableSource)? { nil }
    package var retainedLog: (any LogRetainingSource)? { nil }
    package var rowReading: (any RowReadingSource)? { self }
    package var fileBacked: (any FileBacked)? { nil }

    package func close() throws {}
}

extension ModelSource.State {
    fileprivate mutating func append(_ messages: [SourceMessage]) {
        made += 1
        content.log.append(ModelSource.Transaction(messages: messages, token: made, tables: content.tables))
    }
}
