import MySQLBinlog
import PowerSyncServiceCore
import PowerSyncSyncConfig

/// Turns events of the log into messages of a source: no tasks, no connection.
///
/// ```
/// GTID           begin of a group; without GTID, any QUERY
/// QUERY BEGIN    a group that has an end of its own: XID, COMMIT or ROLLBACK; MariaDB: a GTID that is not standalone
/// TABLE_MAP      what the rows that follow are of
/// rows           delivered at once, in a prepared transaction (XA) remembered
/// QUERY          savepoints, DDL, changes without rows
/// XID, COMMIT    a boundary; also the one QUERY of a group without BEGIN
/// XA_PREPARE     a boundary; the rows take effect with the group of XA COMMIT
/// ```
///
/// A row is delivered as an update, never as an insert: it may have been copied, or delivered before. One that the log does not have as
/// a whole is delivered as a partial update. What cannot be assigned to rows makes tables be copied again (``tablesToCopy``), and nothing
/// of its group is delivered with a boundary. Neither is a group that has asked for a look, before ``confirmTables()``: a boundary behind
/// a statement says that all of its effect is stored.
struct ChangeAssembly {
    /// What is the same for all of the log.
    struct Context: Sendable {
        /// Whether names of tables differ by case (`lower_case_table_names` 0).
        var comparesExactly: Bool
        /// Whether an ALTER that may have changed values has its table copied.
        var copiesAfterAlter = true
        /// The charset of a collation.
        var charsets: [UInt32: MySQLCharset] = [:]
        /// How values are written.
        var form = MySQLValueForm(SourceValueOptions())
        /// Foreign keys whose rules change rows that the log does not tell of; none if they are ignored.
        var cascades: [MySQLForeignKey] = []
        /// Tables that others refer to with rules, and that are not followed.
        var ancestors: [MySQLTable] = []
        /// When the file was made from which the log is read; `nil` when that is not known.
        var fileMadeAt: UInt32?
        /// Whether the plan reads a table.
        var reads: @Sendable (SourceTableName) -> Bool

        /// A name as it is compared.
        func folded(_ name: SourceTableName) -> SourceTableName {
            comparesExactly ? name : SourceTableName(schema: name.schema.lowercased(), name: name.name.lowercased())
        }
    }

    /// What the reader has to find out before the next event is added.
    enum Look: Sendable {
        /// What tables there are: the log has one that is not followed, and that the plan reads.
        case unknownTable
        /// What tables there are after a statement, in the schema of a session.
        case statement(TableStatement, schema: String, start: LogPosition)
        /// The same after a table has been emptied.
        case truncation

        /// Whether the catalogue may have something else than before a statement.
        var isAfterStatement: Bool {
            switch self {
            case .unknownTable: false
            case .statement, .truncation: true
            }
        }
    }

    /// A group that has begun and not ended.
    struct Group {
        /// Where it begins.
        var start: LogPosition
        /// In seconds since 1970.
        var committedAt: Double
        /// Whether it has an end of its own.
        var hasBegun = false
        /// Whether a table is altered in two groups, and this is the first.
        var isAlterStart = false
        /// Whether its rows take effect later, if at all.
        var isPrepared = false
        /// The rows of a prepared group.
        var held = ChangedRows()
        /// The savepoints, with what was delivered after each.
        var savepoints = Savepoints()
        /// The tables of which something was delivered.
        var touched: Set<Int> = []
        /// Whether anything of it was delivered.
        var isAnnounced = false
        /// Whether the boundary before it was delivered.
        var hasBoundaryBefore = false
        /// Whether it has had an event besides its begin.
        var isEmpty = true
    }

    let context: Context
    /// The tables whose changes are delivered.
    var tables: [FollowedTable]
    /// Where they are in ``tables``, by their folded names.
    let places: [SourceTableName: Int]
    /// Transactions that are prepared.
    var prepared: PreparedTransactions
    /// What is known of tables that were announced, by their numbers.
    var relations: [UInt64: (map: TableMap, relation: Relation)] = [:]
    /// The rules of foreign keys by the folded name of the table that is referred to.
    let rules: [SourceTableName: [CascadeRule]]
    /// Tables that are not followed, and were noticed.
    var noticed: Set<SourceTableName> = []

    /// The number of the file, and its stamp, which is not known before its second event.
    private var file: UInt32
    private var stamp: UInt32?
    private var fileStamp: FileStamp?
    var group: Group?
    /// Where the last group has ended.
    private(set) var passed: LogPosition
    /// Where ``group`` has ended, if it has asked for a look or for copies: it is over with ``confirmTables()``.
    private var heldEnd: LogPosition?
    /// The last boundary that was delivered.
    private(set) var delivered: LogPosition

    /// What has been assembled.
    private var messages: [SourceMessage] = []
    /// Changes of one table, in their order.
    private var changes: [SourceChange] = []
    private var partialUpdates: [PartialUpdate] = []
    private var relationID = ""
    /// How many rows have been assembled since the last ones were taken, and about how many bytes their values have.
    private var count = 0
    private var bytes = 0

    /// The rows, and the bytes of their values, from which on what was assembled is handed on.
    static let maximumRows = 24_000
    static let maximumBytes = 16 << 20

    /// Whether enough was assembled to be taken.
    var isFull: Bool { count >= Self.maximumRows || bytes >= Self.maximumBytes }

    /// What is to be found out before the next event is added: set by events.
    ///
    /// ``confirmTables()`` follows when the tables are the same; otherwise nothing may be added any more.
    var look: Look?
    /// Values of keys that the server has to convert: nothing of the event that has them was assembled, and it is added again.
    var unconverted: Set<DeferredCell> = []
    /// What the server has made of values of keys.
    var conversions = KeyConversions()
    /// What it could not convert.
    var unconvertible: Set<DeferredCell> = []
    /// Why tables have to be copied again: set by events, and nothing may be added after them.
    private(set) var tablesToCopy: [Int: CopyReason] = [:]
    /// The tables whose rows keep what they had before a statement, although it may have changed values: the reader says so.
    var keptRows: [KeptRows] = []
    /// Whether the log has something else than it had: the reader looks for what it has read.
    private(set) var isContradicted = false

    /// Creates an assembly.
    ///
    /// - Parameters:
    ///   - tables: The tables whose changes are delivered.
    ///   - position: The boundary that the log is read from.
    ///   - prepared: Transactions that are prepared.
    ///   - context: What is the same for all of the log.
    init(
        _ tables: [FollowedTable],
        after position: LogPosition,
        prepared: PreparedTransactions = PreparedTransactions(),
        context: Context
    ) {
        self.tables = tables
        self.context = context
        self.prepared = prepared
        places = Dictionary(tables.enumerated().map { (context.folded($1.table.name), $0) }) { first, _ in first }
        rules = CascadeRule.all(context.cascades, tables: tables, places: places, context: context)
        file = position.file
        stamp = position.stamp
        passed = position
        delivered = position
    }

    // MARK: Taking

    /// What has been assembled: whole groups with one boundary at their end, and then the part of one that goes on.
    mutating func take() -> [SourceMessage] {
        endRun()
        count = 0
        bytes = 0
        guard !messages.isEmpty else { return [] }
        insertBoundary(at: group?.isAnnounced == true ? placeOfBegin : nil)
        defer { messages = [] }
        return messages
    }

    /// What has been assembled of whole groups, with one boundary at their end; what was assembled of one that goes on is left out.
    mutating func takeWhole() -> [SourceMessage] {
        endRun()
        if group?.isAnnounced == true {
            // Without its begin, all of it is of the group.
            messages.removeSubrange((placeOfBegin ?? 0)...)
        }
        if !messages.isEmpty { insertBoundary(at: nil) }
        defer { messages = [] }
        return messages
    }

    /// The boundary of the last group, if it was not delivered: of groups with nothing for the tables.
    mutating func takeBoundary() -> [SourceMessage] {
        guard passed > delivered, messages.isEmpty, changes.isEmpty, partialUpdates.isEmpty else { return [] }
        delivered = passed
        return [.commit(passed.lsn)]
    }

    /// The boundary of the last group, although it was delivered.
    mutating func takeLastBoundary() -> [SourceMessage] {
        delivered = max(delivered, passed)
        return [.commit(delivered.lsn)]
    }

    /// How far the log was read, when nothing was assembled.
    ///
    /// - Returns: The boundary of the last group, and the begin of one that goes on, which says how old what comes is; nothing when both
    ///   were delivered.
    mutating func takeProgress() -> [SourceMessage] {
        guard group != nil else { return takeBoundary() }
        announce()
        return take()
    }

    private var placeOfBegin: Int? {
        messages.lastIndex { if case .begin = $0 { true } else { false } }
    }

    /// Inserts the boundary of the last group before the begin of the one that goes on; `nil` for the end.
    private mutating func insertBoundary(at place: Int?) {
        guard passed > delivered else { return }
        delivered = passed
        messages.insert(.commit(passed.lsn), at: place ?? messages.count)
    }

    // MARK: Events

    /// Takes an event.
    ///
    /// - Throws: `BinlogError` for rows that cannot be read, and ``LogOrderError`` for an event that cannot follow the ones before.
    mutating func add(_ event: BinlogEvent) throws {
        if event.type != .heartbeat, event.type != .heartbeatV2 { learnStamp(event) }
        switch event.body {
        case .rotate(let name, let offset): try goOn(in: name, at: offset, event)
        case .heartbeat(let name, let position):
            // It says that nothing is after its position.
            guard let number = LogFileName(name)?.number else { break }
            let isBefore = number == file && position < passed.offset && passed.offset <= UInt32.max
            if number < file || isBefore { isContradicted = true }
        case .gtid(let gtid):
            let time = gtid.committedAt.map { Double($0) / 1e6 }
            try begin(event, at: time)
        case .mariaDBGTID(let gtid):
            try begin(event, at: nil)
            group?.hasBegun = !gtid.isStandalone
            group?.isPrepared = gtid.isXAPrepare
            group?.isAlterStart = gtid.isAlterStart
        case .query(let query):
            if group == nil { try begin(event, at: nil) }
            group?.isEmpty = false
            add(query, event)
        case .xid:
            endGroup(event)
        case .xaPrepare(let prepare):
            endPreparedGroup(prepare, event)
        case .rows(let rows):
            guard group != nil else { throw LogOrderError(event) }
            group?.isEmpty = false
            try add(rows)
        case .incident(let message): throw LogIncident(message: message)
        case .tableMap: group?.isEmpty = false
        case .formatDescription where fileStamp == nil && event.timestamp != context.fileMadeAt ?? event.timestamp:
            // The file has been replaced by another one since it was looked at.
            isContradicted = true
        case .formatDescription, .executed, .stop, .skipped:
            guard group == nil, !event.isArtificial else { break }
            pass(event)
        }
    }

    private mutating func begin(_ event: BinlogEvent, at time: Double?) throws {
        if let group, !group.isEmpty { throw LogOrderError(event) }
        guard let stamp else { throw LogOrderError(event) }
        group = Group(
            start: LogPosition(file: file, offset: event.place.start, stamp: stamp),
            committedAt: time ?? Double(event.timestamp)
        )
    }

    /// Ends a group: everything before the end of an event has been delivered.
    mutating func endGroup(_ event: BinlogEvent) {
        guard look == nil, tablesToCopy.isEmpty else {
            heldEnd = end(of: event)
            return
        }
        group = nil
        endRun()
        pass(event)
    }

    /// Goes on after a ``look``: the tables are what they were, and none of them is to be copied again.
    mutating func confirmTables() {
        look = nil
        guard let end = heldEnd, tablesToCopy.isEmpty else { return }
        heldEnd = nil
        group = nil
        endRun()
        passed = max(passed, end)
    }

    private mutating func pass(_ event: BinlogEvent) {
        guard let stamp else { return }
        passed = max(passed, LogPosition(file: file, offset: event.place.end, stamp: stamp))
    }

    /// Goes on in a file; the server has closed the one before, or says which one it sends.
    private mutating func goOn(in name: String, at offset: UInt64, _ event: BinlogEvent) throws {
        guard let number = LogFileName(name)?.number else { throw LogOrderError(event) }
        guard number != file else {
            // The file that was asked for, from where it was asked for; an offset of more than 32 bits cannot be.
            let isElsewhere = passed.file == file && passed.offset <= UInt32.max && offset != passed.offset
            if isElsewhere { isContradicted = true }
            return
        }
        guard number > file else {
            isContradicted = true
            return
        }
        if let group {
            // The server went down while it wrote the group: none of it took effect.
            for place in group.touched { copyAgain(place, .unfinishedGroup) }
            messages.removeSubrange((group.isAnnounced ? placeOfBegin ?? 0 : messages.count)...)
            changes = []
            partialUpdates = []
            self.group = nil
        }
        file = number
        stamp = nil
        fileStamp = FileStamp()
        relations = [:]
    }

    private mutating func learnStamp(_ event: BinlogEvent) {
        guard fileStamp != nil else { return }
        fileStamp?.add(event)
        guard let found = fileStamp?.stamp else { return }
        stamp = found
        fileStamp = nil
    }

    /// The end of an event.
    func end(of event: BinlogEvent) -> LogPosition {
        LogPosition(file: file, offset: event.place.end, stamp: stamp ?? 0)
    }

    // MARK: Copying again

    /// Has a table copied again, as the row or the statement that was added last is not to be assigned to its rows.
    mutating func copyAgain(_ place: Int, _ reason: CopyReason) {
        if tablesToCopy[place] == nil { tablesToCopy[place] = reason }
    }

    /// The same, when the group takes effect: a copy that is made before would not have what a prepared one did.
    mutating func copyAgainWithGroup(_ place: Int, _ reason: CopyReason) {
        guard group?.isPrepared == true else { return copyAgain(place, reason) }
        group?.held.add(nil, of: tables[place].descriptor)
    }

    /// Whether the copy of a table has all that the group did to it; never for a prepared group, which takes effect later.
    func isCopied(_ place: Int) -> Bool {
        guard let group, !group.isPrepared, let copied = tables[place].copied else { return false }
        return (group.start.file, group.start.offset) < (copied.file, copied.offset)
    }

    // MARK: Messages

    mutating func append(_ change: SourceChange, of place: Int) {
        beginRun(place, isPartial: false)
        count += 1
        bytes += change.row?.byteCount ?? 0
        changes.append(change)
    }

    mutating func append(_ row: SourceRow, oldKey: [SQLValue]? = nil, of place: Int) {
        beginRun(place, isPartial: true)
        count += 1
        bytes += row.byteCount
        precedeWithBoundary()
        let moment = group.map { LogMoment(file: $0.start.file, start: $0.start.offset).moment }
        let isFoundByScan = tables[place].table.key == .none
        partialUpdates.append(PartialUpdate(row, oldKey: oldKey, moment: moment, isFoundByScan: isFoundByScan))
    }

    /// Delivers that rows may have changed that refer to others by a foreign key.
    mutating func append(_ search: CascadeRule.Search, _ values: [[SQLValue]]) {
        guard !isCopied(search.place) else { return }
        for place in [search.place] + search.references.map(\.place) { group?.touched.insert(place) }
        announce()
        endRun()
        precedeWithBoundary()
        count += values.count
        func id(_ place: Int) -> String { tables[place].descriptor.relationID }
        messages.append(
            .cascade(
                Cascade(
                    relationID: id(search.place),
                    columns: search.columns,
                    values: values,
                    references: search.references.map {
                        .init(
                            relationID: id($0.place),
                            columns: $0.columns,
                            parentID: id($0.parent),
                            keyPlaces: $0.keyPlaces
                        )
                    },
                    moment: group.map { LogMoment(file: $0.start.file, start: $0.start.offset).moment }
                )
            )
        )
    }

    /// Delivers that all rows of a table are gone.
    mutating func appendTruncation(of place: Int) {
        group?.touched.insert(place)
        announce()
        endRun()
        messages.append(.truncate(relationID: tables[place].descriptor.relationID))
    }

    /// Delivers the keys of rows, which are read as they are now; where keys are not known, the table is copied again.
    mutating func appendKeys(_ rows: ChangedRows, _ reason: CopyReason) {
        for place in rows.unfollowed.compactMap({ places[$0] }) where !isCopied(place) { copyAgain(place, reason) }
        for (table, keys) in rows.keys.sorted(by: { $0.key.relationID < $1.key.relationID }) {
            guard let place = places[context.folded(table.name)], !isCopied(place) else { continue }
            guard let keys, tables[place].descriptor.identity == table.identity else {
                copyAgain(place, reason)
                continue
            }
            for key in keys { append(tables[place].rows.row(key: key, of: table), of: place) }
        }
    }

    /// Delivers a boundary before the group, of which rows will be read: when those that were read before are of a state before it, a
    /// checkpoint can be made there.
    private mutating func precedeWithBoundary() {
        guard let begun = group, !begun.hasBoundaryBefore else { return }
        group?.hasBoundaryBefore = true
        // If its begin has been taken, it is in the middle.
        guard let place = placeOfBegin, begun.start > delivered else { return }
        delivered = begun.start
        messages.insert(.commit(begun.start.lsn), at: place)
    }

    private mutating func beginRun(_ place: Int, isPartial: Bool) {
        group?.touched.insert(place)
        announce()
        let relationID = tables[place].descriptor.relationID
        if relationID != self.relationID || (isPartial ? !changes.isEmpty : !partialUpdates.isEmpty) {
            endRun()
            self.relationID = relationID
        }
    }

    /// Says that the group has begun, before its first change.
    private mutating func announce() {
        guard let begun = group, !begun.isAnnounced else { return }
        endRun()
        group?.isAnnounced = true
        var position = begun.start
        position.offset += 1
        messages.append(.begin(position.lsn, committedAt: begun.committedAt))
    }

    private mutating func endRun() {
        if !changes.isEmpty { messages.append(.changes(changes, relationID: relationID)) }
        if !partialUpdates.isEmpty { messages.append(.partialUpdates(partialUpdates, relationID: relationID)) }
        changes = []
        partialUpdates = []
    }
}

extension SourceRow {
    /// About how many bytes the row takes.
    fileprivate var byteCount: Int {
        values.reduce(0) { count, value in
            switch value {
            case .text(let text): count + MemoryLayout<SQLValue>.stride + text.utf8.count
            case .blob(let bytes): count + MemoryLayout<SQLValue>.stride + bytes.count
            default: count + MemoryLayout<SQLValue>.stride
            }
        }
    }
}

/// Why a table has to be copied again.
enum CopyReason: String, Sendable, Hashable {
    case statement = "a statement changed rows without an event for each (binlog_format is STATEMENT)"
    case alteration = "it was altered, and the catalogue does not tell what became of its rows"
    case layout = "the log has rows of it with other columns than the table has now"
    case incompleteRow = "the log has a row of it without its key"
    case undone = "rows of it were undone, more than are remembered"
    case prepared =
        "a transaction took effect that was prepared before the log was read, or has changed more rows than are remembered"
    case unfinishedGroup = "the server went down while it wrote a transaction to its log"
    case cascade = "rules of foreign keys have changed rows of it, which the log does not tell of"
}

/// An event that cannot follow the ones before.
struct LogOrderError: Error, Hashable, CustomStringConvertible {
    var event: BinlogEventType
    var place: BinlogPlace

    init(_ event: BinlogEvent) {
        self.event = event.type
        place = event.place
    }

    var description: String { "\(event) in \(place.file) at \(place.start) cannot follow the events before" }
}

/// The server says that its log lacks events.
struct LogIncident: Error, Hashable {
    var message: String
}
