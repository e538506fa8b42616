package import PowerSyncSyncConfig

/// Turns changes of one table into records: identities, buckets, checksums, parameter entries.
package struct RecordBuilder: Sendable {
    private var evaluator: TableEvaluator
    private let bucketPrefix: String
    private let table: SourceTable
    private let mode: SaveMode
    /// As in ``PendingRecord/Content``.
    private let isAddition: Bool
    private var identity: KeyColumns
    /// The primary key, if rows are known by other columns.
    private var primaryKey: KeyColumns?
    /// The identity in the earlier record of the table.
    private var earlier: KeyColumns?
    /// The columns of the foreign keys by which rows are found.
    private let references: [[String]]
    private let maximumDataBytes: Int
    private var hasher: ContentHasher

    /// The most bytes of a row on clients.
    static let maximumDataBytes = 15 * 1024 * 1024

    /// Creates an evaluator for a table.
    ///
    /// - Parameters:
    ///   - plan: The compiled config.
    ///   - bucketPrefix: What all names of buckets start with.
    ///   - hashKey: The key of the hashes in row states.
    ///   - table: The table.
    ///   - mode: Whether rows that are already stored are left alone.
    ///   - isAddition: Whether the plan has some parts of the config only, and what is stored of rows for other ones stays.
    ///   - maximumDataBytes: The most bytes of a row on clients.
    package init(
        plan: SyncPlan,
        bucketPrefix: String,
        hashKey: [UInt8],
        table: SourceTable,
        mode: SaveMode,
        isAddition: Bool = false,
        maximumDataBytes: Int = Self.maximumDataBytes
    ) {
        evaluator = plan.evaluator(for: table.descriptor.name)
        self.bucketPrefix = bucketPrefix
        self.table = table
        self.mode = mode
        self.isAddition = isAddition
        self.maximumDataBytes = maximumDataBytes
        hasher = ContentHasher(key: hashKey)
        identity = KeyColumns(table.descriptor.identity.map(\.name))
        if !table.descriptor.primaryKey.isEmpty { primaryKey = KeyColumns(table.descriptor.primaryKey.map(\.name)) }
        earlier = table.earlier.map { KeyColumns($0.identity) }
        references = table.descriptor.references
    }

    /// Evaluates a change.
    package mutating func evaluate(_ change: SourceChange) -> PendingRecord {
        // One that the source gives has more digits than the row.
        let newKey = change.row.map { $0.key ?? identity.values(of: $0) }
        let identityNames = identity.names
        let beforeKey = ReplicaID(names: identityNames, values: change.oldKey ?? newKey ?? [])
        var record = PendingRecord(
            kind: change.kind,
            tableID: table.id,
            beforeKey: beforeKey,
            content: nil,
            skipsStoredRow: mode == .snapshot,
            size: 64
        )
        if let place = table.earlier {
            let hasSameKey = place.identity == identityNames
            record.earlier = PendingRecord.Earlier(
                tableID: place.id,
                key: hasSameKey ? beforeKey : change.row.flatMap { earlier?.id(of: $0) },
                isKnown: hasSameKey || change.isNew
            )
        }
        guard let row = change.row, let newKey else { return record }
        let key = change.oldKey == nil ? beforeKey : ReplicaID(names: identityNames, values: newKey)
        var content = PendingRecord.Content(key: key, rows: [], entries: [], withheld: [])
        content.primaryKey = primaryKey?.id(of: row)
        content.isAddition = isAddition
        func reject(_ reason: RejectedRow.Reason) {
            record.rejections.append(
                RejectedRow(
                    table: table.descriptor.name,
                    key: zip(identityNames, newKey).map { SourceRow.Column(name: $0, value: $1) },
                    reason: reason
                )
            )
        }
        var definitionsWithoutID: [String] = []
        let rows = evaluator.evaluate(row, bucketPrefix: bucketPrefix) { error in
            if case (.noID, .buckets(let names)) = (error.underlyingError, error.target) {
                definitionsWithoutID += names
            } else {
                reject(.notEvaluated(error))
            }
        }
        if !definitionsWithoutID.isEmpty { reject(.withoutID(definitions: definitionsWithoutID)) }
        var most = 0
        for var row in rows {
            let bytes = row.data.utf8.count
            if bytes > maximumDataBytes {
                most = max(most, bytes)
                row.data = ""
                content.withheld.append(row)
            } else {
                record.size += 100 + bytes
                content.rows.append((row, hasher.put(table: row.table, id: row.id, data: row.data)))
            }
        }
        if most > 0 {
            reject(.tooLarge(bytes: most, limit: maximumDataBytes, buckets: content.withheld.map(\.bucket)))
        }
        content.entries = evaluator.evaluateParameters(row) { reject(.notEvaluated($0)) }
            .map { ($0, hasher.entry($0.rows)) }
        for columns in references {
            let values = columns.map { row[$0] ?? .null }
            guard let lookup = ReferenceLookup.entry(values, in: columns, ofTable: table.id) else { continue }
            let rows = [ParameterRow(values: newKey)]
            content.entries.append((ParameterEntry(lookup: lookup, rows: rows), hasher.entry(rows)))
        }
        record.size += content.entries.count * 100
        record.releases = evaluator.evaluateWriteCheckpoints(row) { reject(.notEvaluated($0)) }
        record.content = content
        return record
    }
}

/// Columns of a key, found in rows of one layout after the other.
private struct KeyColumns {
    let names: [String]
    /// Where they are in rows of one layout.
    private var found: (layout: RowLayout, positions: [Int?])?

    init(_ names: [String]) {
        self.names = names
    }

    /// The values of a row; `NULL` for a column that the row lacks.
    mutating func values(of row: SourceRow) -> [SQLValue] {
        let positions: [Int?]
        if let found, found.layout == row.layout {
            positions = found.positions
        } else {
            positions = names.map { row.layout.position(of: $0) }
            found = (row.layout, positions)
        }
        return positions.map { position in position.map { row.values[$0] } ?? .null }
    }

    /// The identity that a row has by the columns.
    mutating func id(of row: SourceRow) -> ReplicaID { ReplicaID(names: names, values: values(of: row)) }
}

extension SourceRow {
    /// About how many bytes the row has when it is stored.
    package var estimatedBytes: Int {
        values.reduce(layout.nameBytes) { total, value in
            switch value {
            case .null: total + 4
            case .integer, .real: total + 8
            case .text(let text): total + text.utf8.count
            case .blob(let bytes): total + bytes.count
            }
        }
    }
}
