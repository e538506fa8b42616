import Logging
import NIOConcurrencyHelpers
package import PowerSyncSyncConfig
package import PowerSyncServiceCore

/// The source as the replicator sees it.
extension PostgresSource: ReplicationSource {
    package var writable: (any WritableSource)? { nil }
    package var fileBacked: (any FileBacked)? { nil }

    package func checkConfiguration() async throws {
        let check = PostgresCheck(publication: settings.publication, slotNamePrefix: "")
        try await refuse(pool.withConnection { try await check.settingErrors(on: $0) })
        try await checkPath()
    }

    /// Checks that there is no pooler on the way to the server that keeps it from being replicated.
    func checkPath() async throws {
        let check = PostgresCheck(publication: settings.publication, slotNamePrefix: "")
        try await refuse(check.pathErrors(to: settings.connection))
    }

    private func refuse(_ findings: [Finding]) throws {
        guard !findings.isEmpty else { return }
        throw ReplicationSourceError(.configuration, findings.map(\.sentence).joined(separator: " "))
    }

    func publicationExists(_ connection: PostgresConnection) async throws -> Bool {
        try await !connection.query(
            "SELECT 1 FROM pg_publication WHERE pubname = $1",
            [settings.publication],
            activity: "reading the publication"
        ).isEmpty
    }

    func checkPublication() async throws {
        let check = PostgresCheck(publication: settings.publication, slotNamePrefix: "")
        try await refuse(pool.withConnection { try await check.publicationErrors(on: $0) })
    }

    package func tables(for plan: SyncPlan) async throws -> [SourceTableDescriptor] {
        try await describedTables(for: plan).map(\.descriptor)
    }

    /// The tables that a plan reads, with all that is known of them.
    func describedTables(
        for plan: SyncPlan
    ) async throws -> [(descriptor: SourceTableDescriptor, table: PostgresTable)] {
        var plan = plan
        plan.defaultSchema = Self.defaultSchema
        let found = try await pool.withConnection { connection in
            // A publication that is gone, or publishes other things, is not one without tables: rows would be removed everywhere.
            try await connection.inReadTransaction("reading the catalogue") {
                let check = PostgresCheck(publication: settings.publication, slotNamePrefix: "")
                try await refuse(check.publicationErrors(on: connection))
                return try await catalogue(
                    .init(of: plan),
                    where: { plan.readsTable($0) },
                    reading: { plan.readColumns(of: $0) },
                    connection
                )
            }
        }
        let tables = found.filter { plan.readsTable($0.syncedName) }
        let described = tables.filter(\.unreplicatedKey.isEmpty).map {
            (descriptor: $0.descriptor(plan.valueOptions), table: $0)
        }
        note(described, of: plan)
        return described
    }

    package func snapshot(
        of table: SourceTableDescriptor,
        after key: SnapshotKey?
    ) async throws -> any SnapshotReader {
        let connection = try await PostgresConnection.open(
            settings.connection,
            settings: [("lock_timeout", Self.lockTimeout)]
        )
        return PostgresSnapshotReader(
            source: self,
            table: try await check(table, connection),
            descriptor: table,
            connection: connection,
            position: key.flatMap { CopyPosition($0) }
        )
    }

    package func withChanges<Result>(
        of slotName: String,
        after position: SourcePosition,
        tables: [SourceTable],
        plan: SyncPlan,
        _ body: (inout any ChangeReader) async throws -> Result
    ) async throws -> Result {
        guard let start = WALPosition(position.lsn) else {
            throw ReplicationSourceError(.historyLost, "“\(position)” is not a position of a PostgreSQL server.")
        }
        let described = try await describedTables(for: plan)
        let (head, nextTransaction) = try await pool.withConnection { connection in
            let head = try await self.position(connection, knowing: position.history)
            return (head, try await self.nextTransaction(connection))
        }
        guard head.history == position.history else {
            throw ReplicationSourceError(
                .historyLost,
                "The database is no longer what was replicated up to \(position). The tables are copied again."
            )
        }
        var followed: [FollowedTable] = []
        for table in tables {
            guard let found = described.first(where: { $0.descriptor == table.descriptor }) else { continue }
            let decoder = try await pool.withConnection { connection in
                try await self.decoder(found.table, found.descriptor, connection)
            }
            let copy = table.lastSnapshotKey.flatMap { CopyPosition($0) }
            followed.append(
                FollowedTable(
                    descriptor: found.descriptor,
                    table: found.table,
                    decoder: decoder,
                    copied: copy.flatMap { TransactionSnapshot($0.snapshot) },
                    readColumns: relation(found.descriptor).readColumns
                )
            )
        }
        let required = try await required(before: position, of: slotName)
        let stream = try await openStream(slotName)
        if required.isEmpty { beginAcknowledging(on: stream, of: slotName) }
        defer {
            slots.withLockedValue { $0[slotName]?.stream = nil }
            rowView.end()
        }
        var reader: any ChangeReader = PostgresChangeReader(
            source: self,
            stream: stream,
            slotName: slotName,
            position: position,
            start: start,
            required: required,
            plan: plan,
            followed: Set(tables.map(\.descriptor)),
            described: Set(described.map(\.descriptor)),
            tables: followed,
            nextTransaction: nextTransaction
        )
        do {
            // So that the stream passes every position that was read before.
            try await emitMarker()
            let result = try await body(&reader)
            await stream.finish(clock)
            return result
        } catch {
            await stream.finish(clock)
            throw error
        }
    }

    /// The time for which the server waits for a message on a change stream, before it frees the slot.
    ///
    /// It hears one every 10 s (``WALStream/statusInterval``). Its own 60 s would keep the slot for longer than the lease of the
    /// storage is kept for a process whose network was cut.
    static let senderTimeout = "25s"

    /// Opens a connection for a change stream.
    func openReplication() async throws -> PostgresConnection {
        try await PostgresConnection.open(
            settings.connection,
            for: .replication,
            settings: [("wal_sender_timeout", Self.senderTimeout)]
        )
    }

    /// What the stream of a slot must have for its log to be the one that was read up to a position.
    ///
    /// Nothing up to the position that the server has confirmed: it keeps that with the rest of its files.
    private func required(before position: SourcePosition, of slotName: String) async throws -> [MarkedPosition] {
        guard let confirmed = try await currentSlot(slotName)?.confirmed else { return [] }
        let stored = slots.withLockedValue { slots in
            defer { slots[slotName]?.stored = nil }
            return slots[slotName]?.stored
        }
        return [MarkedPosition(position.lsn), stored].compactMap(\.self).filter { $0.position > confirmed }
    }

    /// Begins to read the changes of a slot, from the position on that the server has confirmed.
    private func openStream(_ slotName: String) async throws -> WALStream {
        try await whileInUse(slotName) {
            let connection = try await openReplication()
            // Logical messages exist since version 14; before it, an empty transaction is news, too.
            let messages = connection.serverVersion >= 140_000 ? ", messages 'true'" : ""
            let publication = PostgresText.literal(PostgresText.identifier(settings.publication))
            return try await WALStream.start(
                connection,
                """
                START_REPLICATION SLOT \(PostgresText.identifier(slotName)) LOGICAL 0/0 \
                (proto_version '1', publication_names \(publication)\(messages))
                """
            )
        }
    }

    /// From now on, the server is told on a stream what it may forget.
    ///
    /// Only when the log is known to be the one that was read: where it has something else, it would be forgotten that this has to be looked for.
    func beginAcknowledging(on stream: WALStream, of slotName: String) {
        let acknowledged = slots.withLockedValue { slots in
            slots[slotName, default: SlotState()].stream = stream
            return slots[slotName]?.acknowledged
        }
        if let acknowledged { stream.acknowledge(acknowledged) }
    }
}
