package import PowerSyncSyncConfig

/// What a writer has evaluated and not written yet, in order.
package struct PendingChanges {
    /// What is written in one storage transaction.
    package struct Batch: Sendable {
        /// What becomes of rows.
        package var records: [PendingRecord]
        /// Records of tables, by id, that are true once the other records are written: they say how far copies and fills have come.
        package var progress: [String: SourceTable] = [:]

        /// Creates a batch of records.
        package init(records: [PendingRecord] = []) {
            self.records = records
        }

        /// Whether there is nothing to write.
        package var isEmpty: Bool { records.isEmpty && progress.isEmpty }
    }

    /// How much is written in one storage transaction.
    struct Limits {
        /// The most records.
        var records: Int
        /// The estimated bytes of operations after which it is written.
        var bytes: Int

        /// Those of changes.
        static let changes = Limits(records: 8000, bytes: 5 << 20)
        /// Those of tables that are copied, or read beside the change stream: the states of rows lie everywhere in their table, so the more
        /// there are, the more of them share a page that is written.
        ///
        /// SQLite has one writer: for as long as that takes, a fraction of a second, other streams and write checkpoints wait.
        static let tables = Limits(records: 50_000, bytes: 24 << 20)
    }

    private let plan: SyncPlan
    private let bucketPrefix: String
    private let hashKey: [UInt8]
    /// What evaluates changes of a table, by table id; kept, so that columns are looked up once.
    private var evaluators: [SaveMode: [String: RecordBuilder]] = [:]
    private var batch = Batch()
    private var bytes = 0
    /// The limits of the kind that was added last.
    private var limits = Limits.changes

    /// Creates an empty collection for the changes of one stream.
    package init(plan: SyncPlan, bucketPrefix: String, hashKey: [UInt8]) {
        self.plan = plan
        self.bucketPrefix = bucketPrefix
        self.hashKey = hashKey
    }

    /// Whether there is nothing to write.
    package var isEmpty: Bool { batch.isEmpty }

    /// Whether what is collected is to be written before more is added.
    package var isFull: Bool { batch.records.count >= limits.records || bytes >= limits.bytes }

    /// Evaluates and adds changes.
    ///
    /// When there are enough, they are written while the next ones are evaluated.
    ///
    /// - Parameters:
    ///   - changes: The changes.
    ///   - table: Their table.
    ///   - mode: Whether rows that are already stored are left alone.
    ///   - write: Writes what was collected.
    /// - Returns: Rows that are not synced as the config says.
    /// - Throws: What `write` throws.
    package mutating func add(
        _ changes: [SourceChange],
        of table: SourceTable,
        mode: SaveMode,
        writing write: @Sendable (Batch) async throws -> Void
    ) async throws -> [RejectedRow] {
        var rejected: [RejectedRow] = []
        var rest = changes[...]
        while !rest.isEmpty {
            guard isFull else {
                rejected += add(&rest, of: table, mode: mode)
                continue
            }
            let batch = take()
            async let written: Void = write(batch)
            rejected += add(&rest, of: table, mode: mode)
            try await written
        }
        return rejected
    }

    /// What evaluates changes of a table as ``add(_:of:mode:writing:)`` does.
    ///
    /// - Parameters:
    ///   - table: The table.
    ///   - mode: Whether rows that are already stored are left alone.
    ///   - parts: Parts of the config, if what is stored of rows for other ones stays; `nil` for the whole config.
    /// - Returns: A builder, which knows the table as it is now.
    package func recordBuilder(of table: SourceTable, mode: SaveMode, addingTo parts: SyncPlan? = nil) -> RecordBuilder
    {
        RecordBuilder(
            plan: parts ?? plan,
            bucketPrefix: bucketPrefix,
            hashKey: hashKey,
            table: table,
            mode: mode,
            isAddition: parts != nil
        )
    }

    /// Adds what was evaluated; when there is enough, it is written.
    ///
    /// - Parameters:
    ///   - records: Rows that were read beside the change stream.
    ///   - write: Writes what was collected.
    /// - Returns: Rows that are not synced as the config says.
    /// - Throws: What `write` throws.
    package mutating func add(
        _ records: [PendingRecord],
        writing write: (Batch) async throws -> Void
    ) async throws -> [RejectedRow] {
        limits = .tables
        if batch.isEmpty, records.allSatisfy(\.releases.isEmpty) {
            // Nothing is copied.
            batch.records = records
            bytes = records.reduce(0) { $0 + $1.size }
        } else {
            for record in records {
                if isFull { try await write(take()) }
                add(record)
            }
        }
        return records.flatMap(\.rejections)
    }

    private mutating func add(_ record: PendingRecord) {
        bytes += record.size
        batch.records.append(record)
        for release in record.releases {
            let record = PendingRecord(release)
            bytes += record.size
            batch.records.append(record)
        }
    }

    /// Evaluates and adds changes until there are enough; those that were added are taken away.
    private mutating func add(
        _ changes: inout ArraySlice<SourceChange>,
        of table: SourceTable,
        mode: SaveMode
    ) -> [RejectedRow] {
        var rejected: [RejectedRow] = []
        limits = mode == .snapshot ? .tables : .changes
        // Taken out while it is used, so that nothing of it is copied.
        var evaluator =
            evaluators[mode]?.removeValue(forKey: table.id)
            ?? recordBuilder(of: table, mode: mode)
        defer { evaluators[mode, default: [:]][table.id] = evaluator }
        while !isFull, let change = changes.popFirst() {
            let record = evaluator.evaluate(change)
            rejected += record.rejections
            add(record)
        }
        return rejected
    }

    /// Adds how far the copy of a table has come, or its fill.
    package mutating func addProgress(_ table: SourceTable) {
        batch.progress[table.id] = table
    }

    /// Forgets what is known of a table.
    package mutating func forget(_ table: SourceTable) {
        for mode in evaluators.keys { evaluators[mode]?[table.id] = nil }
        batch.progress[table.id] = nil
    }

    /// Takes everything that is collected.
    package mutating func take() -> Batch {
        defer {
            batch = Batch()
            bytes = 0
        }
        return batch
    }
}
