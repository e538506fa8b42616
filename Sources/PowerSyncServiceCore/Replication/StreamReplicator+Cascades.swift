import PowerSyncProtocol
import PowerSyncSyncConfig

/// Rows that have changed with others, without a change in the stream (``Cascade``).
extension StreamReplicator {
    /// The most rows that are looked for because of one message.
    private static let maximumCascadedRows = 1_000_000
    /// How many lookups are read at once.
    private static let lookupsAtOnce = 1000

    /// Finds the rows, also those that have changed with them, and saves them as they are now.
    ///
    /// All are found before any is saved, and those that were found last are saved first: what a row was found by is still there when
    /// the process dies in between, and this begins anew.
    ///
    /// - Throws: ``ReplicationSourceError`` with code `historyLost` when they cannot be found, or an error of the source or the storage.
    func save(
        _ cascade: Cascade,
        among tables: [String: SourceTable],
        with writer: inout any BucketStorageWriter,
        progress: inout Progress
    ) async throws {
        // Entries of rows that were saved before are read.
        try await writer.flush()
        var search = CascadeSearch(cascade, among: tables)
        let newest = StorageCheckpoint(streamID: stream.id, opID: OpID(rawValue: .max), lsn: progress.position.lsn)
        while let (table, lookups) = search.next() {
            do {
                var keys: Set<[SQLValue]> = []
                for start in stride(from: 0, to: lookups.count, by: Self.lookupsAtOnce) {
                    let part = lookups[start..<min(start + Self.lookupsAtOnce, lookups.count)]
                    let found = try await storage.parameterRows(
                        Array(part),
                        at: newest,
                        limit: Self.maximumCascadedRows
                    )
                    for row in found.values.joined() { keys.insert(row.values) }
                    touch()
                }
                if search.found(keys, of: table) > Self.maximumCascadedRows { search.giveUp(table) }
            } catch is BucketLimitError {
                search.giveUp(table)
            }
        }
        let unknown = search.unknownTables
        guard unknown.isEmpty else {
            throw ReplicationSourceError(
                .historyLost,
                """
                Rows of \(unknown.map { "\($0.descriptor.name)" }.sorted().joined(separator: ", ")) have changed with those that they refer \
                to, and are too many to be looked for, or refer to values that the storage cannot compare: all tables are copied again.
                """
            )
        }
        var ahead = RowsAhead()
        for (table, keys) in search.rows.reversed() {
            let updates = keys.map { key in
                PartialUpdate(SourceRow(layout: RowLayout([]), values: [], key: key), moment: cascade.moment)
            }
            progress.fill?.note(.partialUpdates(updates, relationID: table.descriptor.relationID))
            try await save(updates, of: table, &ahead, with: &writer, progress: &progress)
        }
    }
}

/// What is found of a ``Cascade``, one foreign key after the other.
struct CascadeSearch {
    /// The rows by their keys, in the order in which they were found.
    private(set) var rows: [(table: SourceTable, keys: [[SQLValue]])] = []
    private let references: [Cascade.Reference]
    private let tables: [String: SourceTable]
    /// What is to be looked for, of the tables by their relation ids.
    private var waiting: [(relationID: String, columns: [String], values: [[SQLValue]])]
    private var seen: [String: Set<[SQLValue]>] = [:]
    private var count = 0
    private var givenUp: Set<String> = []

    /// Begins a search.
    init(_ cascade: Cascade, among tables: [String: SourceTable]) {
        self.tables = tables
        references = cascade.references
        waiting = [(cascade.relationID, cascade.columns, cascade.values)]
    }

    /// What to look for next; `nil` at the end.
    mutating func next() -> (table: SourceTable, lookups: [ParameterLookup])? {
        while !waiting.isEmpty {
            let (relationID, columns, values) = waiting.removeFirst()
            guard let table = tables[relationID], !givenUp.contains(relationID) else { continue }
            var lookups: Set<ParameterLookup> = []
            var isAll = false
            for value in values {
                guard let some = ReferenceLookup.lookups(value, in: columns, ofTable: table.id) else {
                    isAll = true
                    break
                }
                lookups.formUnion(some)
            }
            if isAll {
                giveUp(table)
            } else if !lookups.isEmpty {
                return (table, lookups.sorted { $0.rawValue < $1.rawValue })
            }
        }
        return nil
    }

    /// Notes rows by their keys: what refers to them is looked for, too.
    ///
    /// - Returns: How many rows have been found.
    mutating func found(_ keys: Set<[SQLValue]>, of table: SourceTable) -> Int {
        let relationID = table.descriptor.relationID
        let new = keys.subtracting(seen[relationID, default: []])
        guard !new.isEmpty else { return count }
        seen[relationID, default: []].formUnion(new)
        count += new.count
        rows.append((table, Array(new)))
        for reference in references where reference.parentID == relationID {
            let values = new.map { key in reference.keyPlaces.map { $0 < key.count ? key[$0] : .null } }
            waiting.append((reference.relationID, reference.columns, values))
        }
        return count
    }

    /// Gives up looking for rows of a table, and for those that may have changed with them.
    mutating func giveUp(_ table: SourceTable) {
        var next = [table.descriptor.relationID]
        while let relationID = next.popLast() {
            guard givenUp.insert(relationID).inserted else { continue }
            next += references.filter { $0.parentID == relationID }.map(\.relationID)
        }
    }

    /// The tables whose rows cannot be found.
    var unknownTables: [SourceTable] {
        givenUp.sorted().compactMap { tables[$0] }
    }
}
