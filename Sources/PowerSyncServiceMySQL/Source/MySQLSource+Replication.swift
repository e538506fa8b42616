import Logging
import MySQLBinlog
import NIOConcurrencyHelpers
import PowerSyncMySQLConnection
package import PowerSyncSyncConfig
package import PowerSyncServiceCore

/// The source as the replicator sees it.
extension MySQLSource: ReplicationSource {
    package var writable: (any WritableSource)? { nil }
    package var fileBacked: (any FileBacked)? { nil }
    package var retainedLog: (any LogRetainingSource)? { nil }
    package var rowReading: (any RowReadingSource)? { self }

    package func database() async throws -> DatabaseID? { nil }

    /// Unless the server is told to (`binlog_row_metadata`), it writes no names of columns: rows would be read by what is in their places
    /// now.
    package func effect(
        ofColumnsOf table: SourceTableDescriptor,
        after earlier: SourceTableDescriptor,
        in handle: String
    ) -> ColumnEffect {
        // Only a sync config that reads other columns makes them others then, and its parts are filled for that.
        guard settings.copiesAfterAlter else { return .none }
        return streams.withLockedValue { $0[handle]?.moves[table]?.earlier == earlier } ? .none : .copyAnew
    }

    package func checkConfiguration() async throws {
        let findings = try await calling {
            try await pool.withConnection { try await MySQLCheck.settingErrors(on: $0) }
        }
        guard !findings.isEmpty else { return }
        throw ReplicationSourceError(.configuration, findings.map(\.sentence).joined(separator: " "))
    }

    // MARK: Positions

    package func head(having known: SourcePosition?) async throws -> SourcePosition {
        try await calling { try await log.head(having: known) }
    }

    /// Has readers deliver the last boundary once more: the log of an idle server ends where its head is, and nothing is written to it.
    package func emitMarker() async throws { markers.advance() }

    package func prepareStream(
        _ handle: String,
        resumingAfter position: SourcePosition?,
        reached: LSN?
    ) async throws -> SourcePosition {
        if position != nil, streams.withLockedValue({ $0[handle]?.isDropped == true }) {
            throw ReplicationSourceError(.historyLost, "The stream \(handle) has been dropped.")
        }
        if let start = position.flatMap({ LogPosition($0.lsn) }) { takeMoves(of: handle, at: start) }
        return try await calling { try await log.prepare(handle, resumingAfter: position, reached: reached) }
    }

    package func checkRetention(for handle: String) async throws {
        try await calling { try await log.checkRetention(for: handle) }
    }

    /// `false`: the server deletes its log by age, whether it was read or not.
    package func wantsAcknowledgement(of lsn: LSN, by handle: String) -> Bool { false }

    package func acknowledge(_ position: DurablePosition, of handle: String) async throws {
        log.advance(handle, to: position.position.lsn)
    }

    package func dropStream(_ handle: String) async throws {
        streams.withLockedValue { $0[handle] = StreamState(isDropped: true) }
    }

    package func uninstall() async throws {}

    package func waitUntilShown(_ table: SourceTableDescriptor) async throws {
        do {
            try await calling { try await log.waitUntilShown() }
        } catch let error as ReplicationSourceError where error.code == .unavailable && error.underlyingError == nil {
            throw ReplicationSourceError(.tableUnavailable, error.message)
        }
    }

    // MARK: Tables

    package func tables(for plan: SyncPlan) async throws -> [SourceTableDescriptor] {
        try await catalogue(for: plan).tables.map { descriptor(of: $0, plan.valueOptions) }
    }

    /// The tables that a plan reads, with all that is known of them.
    func described(for plan: SyncPlan) async throws -> [SourceTableDescriptor: MySQLTable] {
        let tables = try await catalogue(for: plan).tables
        return Dictionary(tables.map { (descriptor(of: $0, plan.valueOptions), $0) }) { first, _ in first }
    }

    /// What the catalogue has for a plan; the tables are noted.
    func catalogue(for plan: SyncPlan) async throws -> MySQLCatalogue {
        var plan = plan
        plan.defaultSchema = defaultSchema
        var catalogue = try await calling { [plan] in
            try await pool.withConnection { try await MySQLCatalogue.read(for: plan, settings, $0) }
        }
        takeUnopened(&catalogue, plan)
        readColumns.withLockedValue { known in
            let read = catalogue.tables.map { (descriptor(of: $0, plan.valueOptions), plan.readColumns(of: $0.name)) }
            // What a table was before it was copied again is not asked for any more.
            let current = Dictionary(read.map { ($0.0.name, $0.0) }) { first, _ in first }
            known = known.filter { known, _ in current[known.name].map { !isEarlier(known, than: $0) } ?? true }
            for (table, columns) in read { known[table] = .some(columns) }
        }
        return catalogue
    }

    /// Adds the tables that the server could not open, as they were: their rows are not gone.
    ///
    /// What is in the way of one, ``obstacle(to:)`` says.
    private func takeUnopened(_ catalogue: inout MySQLCatalogue, _ plan: SyncPlan) {
        let known = openedTables.withLockedValue { known in
            for table in catalogue.tables { known[table.name] = table }
            return known
        }
        for name in catalogue.unopened {
            if var table = known[name] {
                table.read(plan.readColumns(of: name))
                catalogue.tables.append(table)
            } else {
                catalogue.tables.append(MySQLTable(unopened: name))
            }
        }
        if !catalogue.unopened.isEmpty {
            catalogue.tables.sort { ($0.name.schema, $0.name.name) < ($1.name.schema, $1.name.name) }
        }
    }

    // MARK: The log

    package func withChanges<Result>(
        of handle: String,
        after position: SourcePosition,
        tables: [SourceTable],
        plan: SyncPlan,
        _ body: (inout any ChangeReader) async throws -> Result
    ) async throws -> Result {
        guard let start = LogPosition(position.lsn), let base = position.history.logBase else {
            throw ReplicationSourceError(.historyLost, "“\(position)” is not a position in the log of a MySQL server.")
        }
        guard try await calling({ try await log.verify(position) }) else { throw lost(position) }
        takeMoves(of: handle, at: start)
        let catalogue = try await catalogue(for: plan)
        let connection = try await calling { try await connector.open() }
        streams.withLockedValue { $0[handle, default: StreamState()].connection = connection }
        defer {
            connection.close()
            streams.withLockedValue { $0[handle]?.connection = nil }
            rowView.end()
        }
        let (context, checksum) = try await calling { try await self.context(catalogue, plan, start, connection) }
        let described = Dictionary(
            catalogue.tables.map { (descriptor(of: $0, plan.valueOptions), $0) }
        ) { first, _ in first }
        let followed = tables.compactMap { table in
            described[table.descriptor].map { followedTable(table, $0, catalogue, plan, handle) }
        }
        let prepared = streams.withLockedValue { streams in
            streams[handle, default: StreamState()].prepared.forget(before: start)
            return streams[handle]?.prepared ?? PreparedTransactions()
        }
        let file = LogFileName(base: base, number: start.file).description
        let offset = UInt32(exactly: start.offset) ?? UInt32(LogPosition.startOfFile)
        let replica = streams.withLockedValue { streams in
            let taken = Set(
                streams.filter { $0.key != handle && $0.value.connection != nil }.compactMap(\.value.replicaNumber)
            )
            let replica = ReplicaIdentity(handle, firstNumber: settings.serverID, besides: taken)
            streams[handle, default: StreamState()].replicaNumber = replica.number
            return replica
        }
        let request = BinlogRequest(
            file: file,
            position: offset,
            serverID: replica.number,
            uuid: replica.uuid,
            waits: true,
            memoryLimit: settings.binlogQueueMemoryLimit
        )
        let queue = BinlogQueue()
        let reader = MySQLChangeReader(
            source: self,
            queue: queue,
            handle: handle,
            position: position,
            start: start,
            plan: plan,
            followed: Set(tables.map(\.descriptor)),
            described: Set(described.keys),
            decoder: BinlogDecoder(
                file: file,
                offset: UInt64(offset),
                checksum: checksum,
                from: start.offset > UInt64(offset) ? start.offset : nil
            ),
            assembly: ChangeAssembly(followed, after: start, prepared: prepared, context: context)
        )
        // Where the copy of a table looks whether the log is kept, and what is said of it.
        log.advance(handle, to: position.lsn)
        let outcome: Swift.Result<Result, any Error>
        do {
            outcome = try await connection.withBinlog(request) { packets in
                let packets = packets
                return await withTaskGroup(of: Void.self) { group in
                    defer { group.cancelAll() }
                    group.addTask { await queue.fill(from: packets) }
                    var reader: any ChangeReader = reader
                    // Its errors are the caller's: the reader has explained those of the log.
                    do { return .success(try await body(&reader)) } catch { return .failure(error) }
                }
            }
        } catch {
            throw await explain(error, of: handle, after: position)
        }
        return try outcome.get()
    }

    private func followedTable(
        _ table: SourceTable,
        _ found: MySQLTable,
        _ catalogue: MySQLCatalogue,
        _ plan: SyncPlan,
        _ handle: String
    ) -> FollowedTable {
        FollowedTable(
            descriptor: table.descriptor,
            table: found,
            form: MySQLValueForm(plan.valueOptions),
            readColumns: readColumns.withLockedValue { $0[table.descriptor] } ?? nil,
            referencedColumns: Set(catalogue.cascades.filter { $0.parent == found.name }.flatMap(\.parentColumns)),
            copied: table.lastSnapshotKey.flatMap { MySQLCopyPosition($0)?.seen },
            isToldByIncarnation: found.hasIncarnation,
            movedAt: streams.withLockedValue { $0[handle]?.moves[table.descriptor]?.position }
        )
    }

    /// What is the same for all of the log, and what its events end with.
    private func context(
        _ catalogue: MySQLCatalogue,
        _ plan: SyncPlan,
        _ start: LogPosition,
        _ connection: MySQLConnection
    ) async throws -> (ChangeAssembly.Context, BinlogChecksum) {
        let comparesExactly = try await connection.query("SELECT @@global.lower_case_table_names").firstString == "0"
        let schema = defaultSchema
        let reads: @Sendable (SourceTableName) -> Bool = { name in
            var plan = plan
            plan.defaultSchema = schema
            return plan.readsTable(name)
        }
        let context = ChangeAssembly.Context(
            comparesExactly: comparesExactly,
            copiesAfterAlter: settings.copiesAfterAlter,
            charsets: try await connection.charsets(),
            form: MySQLValueForm(plan.valueOptions),
            cascades: catalogue.cascades,
            ancestors: catalogue.ancestors,
            fileMadeAt: log.madeAt(fileOf: start),
            reads: reads
        )
        return (context, try await connection.logChecksum())
    }

    /// Forgets the moves of columns that do not hold for a reader, and has tables copied of which it reads rows again from before them.
    ///
    /// A reader begins before what was delivered when that was not published: commits are blocked for a time, or the process of a stream
    /// begins anew.
    private func takeMoves(of handle: String, at start: LogPosition) {
        let readAgain = streams.withLockedValue { $0[handle]?.moves.begin(at: start) ?? [] }
        for table in readAgain { copyAgain(table, because: .alteration) }
    }

    /// Remembers for the next reader that columns are in other places behind a statement, and that everything before was delivered.
    func keep(_ moves: [SourceTableDescriptor: ColumnMove], of handle: String) {
        streams.withLockedValue { $0[handle]?.moves.merge(moves) { $1 } }
    }

    /// Remembers transactions that are prepared, for the next reader.
    func keep(_ prepared: PreparedTransactions, of handle: String) {
        streams.withLockedValue { $0[handle]?.prepared = prepared }
    }
}

extension MySQLConnection {
    /// The charsets of collations, by their numbers.
    fileprivate func charsets() async throws -> [UInt32: MySQLCharset] {
        let rows = try await query(
            "SELECT ID, CHARACTER_SET_NAME AS name FROM information_schema.COLLATIONS WHERE ID IS NOT NULL"
        ).rows
        var charsets: [UInt32: MySQLCharset] = [:]
        for row in rows {
            guard let id = row.integer("ID").flatMap({ UInt32(exactly: $0) }), let name = row.string("name") else {
                continue
            }
            charsets[id] = MySQLCharset(name: name)
        }
        guard isMariaDB, isAtLeast(10, 10) else { return charsets }
        // Collations of all charsets have a number for each.
        let others = try await query(
            "SELECT ID, CHARACTER_SET_NAME AS name FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY WHERE ID IS NOT NULL"
        ).rows
        for row in others {
            guard let id = row.integer("ID").flatMap({ UInt32(exactly: $0) }), let name = row.string("name") else {
                continue
            }
            charsets[id] = MySQLCharset(name: name)
        }
        return charsets
    }
}

extension SourceHistory {
    /// What the names of the log files of a history have in common (``MySQLLog``).
    var logBase: String? {
        let parts = rawValue.split(separator: ".", maxSplits: 2)
        guard parts.count == 3 else { return nil }
        // Positions of rewinds follow.
        let end = parts[2].firstRange(of: "~0000-")?.lowerBound ?? parts[2].endIndex
        return String(parts[2][..<end])
    }
}
