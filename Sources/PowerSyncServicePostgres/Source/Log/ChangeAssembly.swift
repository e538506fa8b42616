import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// A table whose changes are delivered.
struct FollowedTable: Sendable {
    /// The table as the replicator knows it.
    var descriptor: SourceTableDescriptor
    /// The table as the catalogue describes it.
    var table: PostgresTable
    /// Makes its rows.
    var decoder: RowDecoder
    /// What its copy saw when it began.
    var copied: TransactionSnapshot?
    /// The columns that are read; `nil` for all.
    var readColumns: Set<String>?

    /// Whether the value of a column, by its position, matters to a stream.
    func isRead(_ column: Int) -> Bool { readColumns?.contains(decoder.layout.names[column]) ?? true }
}

/// Turns messages of `pgoutput` into those of a source: no tasks, no connection.
///
/// Every change is delivered as an update, never as an insert: the row may have been copied, or delivered before.
struct ChangeAssembly {
    /// A table as the session has announced it.
    private enum Relation {
        /// No stream wants its changes.
        case ignored
        /// The columns are those that the replicator knows, and perhaps others after them.
        case known(FollowedTable, identity: [Int])
        /// They are not: the table was altered after the changes, or back and forth.
        ///
        /// - `identity`: Where its identity is in new rows, if they have it.
        /// - `oldIdentity`: The same of old rows. The replica identity was perhaps another one: then the columns of this one are
        ///   NULL in them, and nothing tells that an update has changed it.
        case altered(FollowedTable, identity: [Int]?, oldIdentity: [Int]?)
    }

    /// A transaction that has begun and not ended.
    private struct Transaction {
        var id: TransactionID
        var commit: WALPosition
        var committedAt: PostgresInstant
        /// Whether anything of it was delivered.
        var isAnnounced = false
        /// Whether the boundary before it was delivered.
        var hasBoundaryBefore = false
        /// Whether it was delivered before: the server begins earlier.
        var isKnown = false
    }

    private let tables: [PostgresOID: FollowedTable]
    /// What has been delivered before.
    private let position: WALPosition
    private var relations: [PostgresOID: Relation] = [:]
    /// How many columns the rows of a table have that the session has announced.
    private var columnCounts: [PostgresOID: Int] = [:]
    private var transaction: Transaction?

    /// What has been assembled.
    private var messages: [SourceMessage] = []
    /// The end of the last transaction in ``messages``, if its boundary is not there yet.
    private var boundary: MarkedPosition?
    /// Changes of one table, in their order.
    private var changes: [SourceChange] = []
    private var partialUpdates: [PartialUpdate] = []
    private var relationID = ""
    /// Whether a write checkpoint waits for the end of the transaction.
    private var isMarked = false

    /// The transaction that the server gave out next, not long ago.
    var nextTransaction: TransactionID
    /// Whether tables may have become others, or new ones may be there.
    ///
    /// Set by messages, reset by its reader.
    var mayHaveOtherTables = false
    /// The table of a change that cannot be assigned to a row: it is another one now, or was for a while.
    private(set) var tableOfUnassignable: PostgresOID?

    /// Creates an assembly.
    ///
    /// - Parameters:
    ///   - tables: The tables whose changes are delivered.
    ///   - position: Transactions that were committed before are left out.
    ///   - nextTransaction: The transaction that the server gives out next.
    init(
        _ tables: [FollowedTable],
        after position: WALPosition = WALPosition(rawValue: 0),
        nextTransaction: TransactionID
    ) {
        self.position = position
        self.nextTransaction = nextTransaction
        self.tables = Dictionary(tables.map { ($0.table.oid, $0) }) { first, _ in first }
    }

    /// Whether a transaction has begun and not ended.
    var isInTransaction: Bool { transaction != nil }

    /// What has been assembled: whole transactions with one boundary at their end, and then the part of one that goes on.
    mutating func take() -> [SourceMessage] {
        endRun()
        endTransactions()
        defer { messages = [] }
        return messages
    }

    /// Takes a message.
    ///
    /// - Throws: ``PgoutputError`` when it cannot follow the ones before.
    mutating func add(_ message: PgoutputMessage) throws {
        if transaction?.isKnown == true, isLeftOut(message) { return }
        switch message {
        case .begin(let commit, let committedAt, let id):
            transaction = Transaction(
                id: TransactionID(id, near: nextTransaction),
                commit: commit,
                committedAt: committedAt,
                isKnown: commit < position
            )
        case .commit(_, let end, let committedAt):
            transaction = nil
            endRun()
            if isMarked { messages.append(.marker) }
            isMarked = false
            boundary = MarkedPosition(end, of: committedAt)
        case .relation(let relation):
            mayHaveOtherTables = true
            relations[relation.oid] = announced(relation)
            columnCounts[relation.oid] = relation.columns.count
        case .insert(let oid, let new):
            try check(new, of: oid, in: "Insert")
            insert(new, oid)
        case .update(let oid, let old, let new):
            try check(old?.content.tuple, of: oid, in: "Update")
            try check(new, of: oid, in: "Update")
            update(old, new, oid)
        case .delete(let oid, let old):
            try check(old.content.tuple, of: oid, in: "Delete")
            delete(old, oid)
        case .truncate(let oids, _):
            for oid in oids { truncate(oid) }
        case .message(let message):
            if message.prefix == PostgresSource.markerPrefix { isMarked = true }
        case .origin, .type: break
        }
    }

    /// Leaves out a message of a transaction that was delivered before, unless it says something about those that follow.
    private mutating func isLeftOut(_ message: PgoutputMessage) -> Bool {
        switch message {
        case .begin, .relation, .type, .origin: return false
        case .commit:
            transaction = nil
            return true
        case .insert, .update, .delete, .truncate, .message: return true
        }
    }

    // MARK: Tables

    private func announced(_ relation: PgoutputRelation) -> Relation {
        guard let followed = tables[relation.oid] else { return .ignored }
        let wanted = followed.table.identity
        let identity = wanted.compactMap { column in relation.columns.firstIndex { $0.name == column.name } }
        let isComplete = identity.count == wanted.count
        // More columns at the end were added, and dropped since.
        let isKnown =
            relation.schema == followed.table.name.schema && relation.name == followed.table.name.name
            && relation.columns.starts(with: followed.table.columns, by: Self.isSame)
        if isKnown { return .known(followed, identity: identity) }
        let isInOldRows = isComplete && identity.allSatisfy { relation.columns[$0].isInIdentity }
        return .altered(
            followed,
            identity: isComplete ? identity : nil,
            oldIdentity: isInOldRows ? identity : nil
        )
    }

    /// Whether a column is announced as the catalogue describes it.
    ///
    /// Old rows may have more than the identity.
    private static func isSame(_ announced: PgoutputRelation.Column, _ column: PostgresTable.Column) -> Bool {
        announced.name == column.name && announced.type == column.type
            && (announced.isInIdentity || !column.isInIdentity)
    }

    /// Whether the copy of a table has all that the transaction did to it.
    private func isCopied(_ followed: FollowedTable) -> Bool {
        guard let transaction, let copied = followed.copied else { return false }
        return copied.sees(transaction.id)
    }

    // MARK: Changes

    /// Checks that a row has the columns that were announced.
    private func check(_ tuple: PgoutputTuple?, of oid: PostgresOID, in message: String) throws(PgoutputError) {
        guard let tuple, let count = columnCounts[oid], tuple.count != count else { return }
        throw PgoutputError(
            message: message,
            field: "columns of a row",
            offset: 0,
            reason: .columnCount(tuple.count, expected: count)
        )
    }

    private mutating func insert(_ new: PgoutputTuple, _ oid: PostgresOID) {
        guard let relation = relations[oid] else { return }
        switch relation {
        case .ignored: break
        case .known(let followed, _):
            guard !isCopied(followed) else { return }
            let values = Self.values(new, followed.decoder)
            append(
                .update(SourceRow(layout: followed.decoder.layout, values: values.map { $0 ?? .null }), isNew: true),
                of: followed
            )
        case .altered(let followed, let identity, _):
            guard !isCopied(followed) else { return }
            appendKey(new, nil, identity, of: followed, isNew: true)
        }
    }

    private mutating func update(_ old: PgoutputMessage.OldTuple?, _ new: PgoutputTuple, _ oid: PostgresOID) {
        guard let relation = relations[oid] else { return }
        switch relation {
        case .ignored: break
        case .known(let followed, let identity):
            guard !isCopied(followed) else { return }
            update(old, new, of: followed, identity)
        case .altered(let followed, _, let identity):
            guard !isCopied(followed) else { return }
            appendKey(new, old, identity, of: followed)
        }
    }

    private mutating func update(
        _ old: PgoutputMessage.OldTuple?,
        _ new: PgoutputTuple,
        of followed: FollowedTable,
        _ identity: [Int]
    ) {
        let decoder = followed.decoder
        var values = Self.values(new, decoder)
        // No row is read for a large value that no stream has.
        for column in values.indices where values[column] == nil && !identity.contains(column) {
            if !followed.isRead(column) { values[column] = .null }
        }
        var oldKey: [SQLValue]?
        if let old {
            let (tuple, isFull) = old.content
            let oldValues = Self.values(tuple, decoder)
            // A large cell that has not changed is in the old row, if that is there; one of the key is there in any case.
            for column in values.indices where values[column] == nil && (isFull || identity.contains(column)) {
                values[column] = oldValues[column]
            }
            let key = identity.map { oldValues[$0] ?? .null }
            if key != identity.map({ values[$0] ?? .null }) { oldKey = key }
        }
        let complete = values.compactMap { $0 }
        if let old, oldKey != nil, followed.table.isIdentityFull {
            appendWhole(old.content.tuple, identity, of: followed)
            appendWhole(new, filledBy: old, identity, of: followed)
        } else if complete.count == values.count {
            append(.update(SourceRow(layout: decoder.layout, values: complete), oldKey: oldKey), of: followed)
        } else {
            let columns = zip(decoder.layout.names, values).compactMap { name, value in
                value.map { SourceRow.Column(name: name, value: $0) }
            }
            let sourceKey = Self.sourceKey(new, old, identity)
            append(SourceRow(columns: columns), oldKey: oldKey, sourceKey: sourceKey, of: followed)
        }
    }

    private mutating func delete(_ old: PgoutputMessage.OldTuple, _ oid: PostgresOID) {
        guard let relation = relations[oid] else { return }
        switch relation {
        case .ignored: break
        case .known(let followed, let identity):
            guard !isCopied(followed) else { return }
            guard !followed.table.isIdentityFull else {
                appendWhole(old.content.tuple, identity, of: followed)
                return
            }
            let values = Self.values(old.content.tuple, followed.decoder)
            append(.delete(key: identity.map { values[$0] ?? .null }), of: followed)
        case .altered(let followed, _, let identity):
            guard !isCopied(followed) else { return }
            guard !followed.table.isIdentityFull else {
                appendWhole(old.content.tuple, identity, of: followed)
                return
            }
            guard let key = Self.key(old.content.tuple, identity, of: followed) else {
                tableOfUnassignable = oid
                return
            }
            append(.delete(key: key), of: followed)
        }
    }

    private mutating func truncate(_ oid: PostgresOID) {
        guard let followed = tables[oid] else { return }
        // The table has new files, which is how the catalogue says that it may have other rows, too.
        mayHaveOtherTables = true
        guard !isCopied(followed) else { return }
        announce()
        endRun()
        messages.append(.truncate(relationID: followed.descriptor.relationID))
    }

    /// Delivers a row that a change has made or taken away, of a table that may have equal ones, so that it is looked for as it is
    /// now.
    ///
    /// - Parameters:
    ///   - tuple: The row.
    ///   - old: The row before, if `tuple` is a new one: it has the large values that stay.
    ///   - identity: Where the identity is in both; `nil` when they do not have it.
    ///   - followed: The table.
    private mutating func appendWhole(
        _ tuple: PgoutputTuple,
        filledBy old: PgoutputMessage.OldTuple? = nil,
        _ identity: [Int]?,
        of followed: FollowedTable
    ) {
        guard let key = Self.key(tuple, filledBy: old, identity, of: followed) else {
            tableOfUnassignable = followed.table.oid
            return
        }
        append(
            // All columns are the identity.
            SourceRow(layout: followed.decoder.layout, values: key),
            oldKey: nil,
            sourceKey: identity.flatMap { Self.sourceKey(tuple, old, $0) },
            of: followed
        )
    }

    /// Delivers the key of a changed row, so that the row is read as it is now.
    private mutating func appendKey(
        _ new: PgoutputTuple,
        _ old: PgoutputMessage.OldTuple?,
        _ identity: [Int]?,
        of followed: FollowedTable,
        isNew: Bool = false
    ) {
        guard !followed.table.isIdentityFull else {
            if let old { appendWhole(old.content.tuple, identity, of: followed) }
            appendWhole(new, filledBy: old, identity, of: followed)
            return
        }
        let oldKey = old.flatMap { Self.key($0.content.tuple, identity, of: followed) }
        guard let key = Self.key(new, identity, of: followed) ?? oldKey else {
            tableOfUnassignable = followed.table.oid
            return
        }
        let columns = zip(followed.table.identity, key).map { SourceRow.Column(name: $0.name, value: $1) }
        append(
            SourceRow(columns: columns),
            oldKey: oldKey == key ? nil : oldKey,
            sourceKey: identity.flatMap { Self.sourceKey(new, old, $0) },
            of: followed,
            isNew: isNew
        )
    }

    // MARK: Messages

    private mutating func append(_ change: SourceChange, of followed: FollowedTable) {
        beginRun(followed.descriptor.relationID, isPartial: false)
        changes.append(change)
    }

    private mutating func append(
        _ row: SourceRow,
        oldKey: [SQLValue]?,
        sourceKey: [SQLValue]?,
        of followed: FollowedTable,
        isNew: Bool = false
    ) {
        beginRun(followed.descriptor.relationID, isPartial: true)
        precedeWithBoundary()
        partialUpdates.append(
            PartialUpdate(
                row,
                oldKey: oldKey,
                sourceKey: sourceKey,
                moment: transaction?.id.moment,
                isFoundByScan: followed.table.isIdentityFull,
                isNew: isNew
            )
        )
    }

    /// Delivers a boundary before the transaction, of which rows will be read: when those that were read before are of a state
    /// before it, a checkpoint can be made there.
    ///
    /// That everything before its commit record has been delivered says more than the end of the transaction before.
    private mutating func precedeWithBoundary() {
        guard let begun = transaction, !begun.hasBoundaryBefore else { return }
        transaction?.hasBoundaryBefore = true
        // If its begin has been taken, it is in the middle.
        guard let place = messages.lastIndex(where: { if case .begin = $0 { true } else { false } }) else { return }
        let beginning = MarkedPosition(begun.commit, of: begun.committedAt)
        let last = boundary.flatMap { $0.position > begun.commit ? $0 : nil }
        messages.insert(.commit((last ?? beginning).lsn), at: place)
        boundary = nil
    }

    private mutating func beginRun(_ relationID: String, isPartial: Bool) {
        announce()
        if relationID != self.relationID || (isPartial ? !changes.isEmpty : !partialUpdates.isEmpty) {
            endRun()
            self.relationID = relationID
        }
    }

    /// Says that the transaction has begun, before its first change.
    private mutating func announce() {
        guard let begun = transaction, !begun.isAnnounced else { return }
        endRun()
        transaction?.isAnnounced = true
        // Commit records may touch: the end of the transaction before can be the beginning of this one's.
        // It comes from outside: should it be the last one there is, the process goes on.
        let position = MarkedPosition(WALPosition(rawValue: begun.commit.rawValue &+ 1), of: begun.committedAt)
        messages.append(.begin(position.lsn, committedAt: Double(begun.committedAt.unixMicroseconds) / 1e6))
    }

    private mutating func endRun() {
        if !changes.isEmpty { messages.append(.changes(changes, relationID: relationID)) }
        if !partialUpdates.isEmpty { messages.append(.partialUpdates(partialUpdates, relationID: relationID)) }
        changes = []
        partialUpdates = []
    }

    /// Puts the boundary of the last transaction that has ended behind it: before the begin of one that goes on.
    private mutating func endTransactions() {
        guard let boundary else { return }
        self.boundary = nil
        var place = messages.count
        if transaction?.isAnnounced == true {
            place = messages.lastIndex { if case .begin = $0 { true } else { false } } ?? place
        }
        messages.insert(.commit(boundary.lsn), at: place)
    }
}
