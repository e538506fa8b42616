package import PowerSyncSyncConfig

/// A source that can tell operators what it has.
package protocol DescribedSource: ReplicationSource {
    /// All tables that could be replicated, by schema and name.
    ///
    /// - Throws: An error of the source.
    func describeTables() async throws -> [DescribedTable]

    /// About how many rows tables of the source have: what the database guesses itself, or can count quickly.
    ///
    /// - Parameter isWanted: Tells of the name of a table whether it is asked about.
    /// - Returns: Counts by schema and name; a table of which nothing is known is not there.
    /// - Throws: An error of the source.
    func estimatedRows(
        where isWanted: @escaping @Sendable (SourceTableName) -> Bool
    ) async throws -> [SourceTableName: Int64]

    /// The size of the log between two positions.
    ///
    /// - Returns: Bytes; `nil` for a source whose positions do not tell.
    func logSize(from earlier: LSN, to later: LSN) -> Int64?

    /// What keeps rows that a plan reads from being synced, or may do so one day.
    ///
    /// - Throws: An error of the source.
    func findings(for plan: SyncPlan) async throws -> [Finding]

    /// What the source keeps of its log for a stream.
    ///
    /// - Parameter handle: What the source keeps the stream under.
    /// - Returns: `nil` for a source that keeps no log for its readers, and when it does not know the handle.
    /// - Throws: An error of the source.
    func logRetention(for handle: String) async throws -> LogRetention?
}

extension DescribedSource {
    package func findings(for plan: SyncPlan) async throws -> [Finding] { [] }

    package func logRetention(for handle: String) async throws -> LogRetention? { nil }
}

extension ReplicationSource {
    /// About how many rows tables of the source have, for people: of a source that cannot tell, or not now, nothing is known.
    ///
    /// - Parameter isWanted: Tells of the name of a table whether it is asked about.
    /// - Returns: Counts by schema and name; a table of which nothing is known is not there.
    /// - Throws: `CancellationError`.
    package func knownRows(
        where isWanted: @escaping @Sendable (SourceTableName) -> Bool
    ) async throws -> [SourceTableName: Int64] {
        do {
            return try await described?.estimatedRows(where: isWanted) ?? [:]
        } catch {
            if error is CancellationError || Task.isCancelled { throw CancellationError() }
            return [:]
        }
    }
}

/// What a source keeps of its log for a stream that has not read all of it.
package struct LogRetention: Sendable, Hashable {
    /// The state of the kept log in the words of the server; `nil` when the server has none.
    package var status: String?
    /// The bytes that may still be written before the log of the stream is thrown away; `nil` when that never happens.
    package var safeBytes: Int64?
    /// The most bytes that are kept; `nil` without a limit.
    package var maximumBytes: Int64?
    /// The setting of the server that says so.
    package var setting: String?

    /// Creates a description.
    package init(status: String?, safeBytes: Int64?, maximumBytes: Int64?, setting: String? = nil) {
        self.status = status
        self.safeBytes = safeBytes
        self.maximumBytes = maximumBytes
        self.setting = setting
    }

    /// Whether half of what may be kept is used up.
    package var isRunningOut: Bool {
        guard let safeBytes, let maximumBytes else { return false }
        return safeBytes <= maximumBytes / 2
    }
}

/// A table of a source, with the types of its columns.
package struct DescribedTable: Sendable, Hashable {
    /// A column.
    package struct Column: Sendable, Hashable {
        /// The name.
        package var name: String
        /// The type in the source's own words.
        package var type: String
        /// What clients get: `text`, `integer`, `real`, `blob` or `numeric`.
        package var clientType: String
        /// What rows have besides `NULL`; `nil` for a column that holds anything.
        package var values: SourceSchema.ColumnType.Values?

        /// Creates a column.
        package init(name: String, type: String, clientType: String, values: SourceSchema.ColumnType.Values?) {
            self.name = name
            self.type = type
            self.clientType = clientType
            self.values = values
        }
    }

    /// Schema and name.
    package var name: SourceTableName
    /// The columns, as declared.
    package var columns: [Column]

    /// Creates a table.
    package init(name: SourceTableName, columns: [Column]) {
        self.name = name
        self.columns = columns
    }
}

extension SourceSchema {
    /// What sync configs are checked against.
    package init(_ tables: [DescribedTable], defaultSchema: String) {
        self.init(
            tables: tables.map { table in
                Table(
                    name: table.name,
                    columns: table.columns.map(\.name),
                    types: Dictionary(
                        table.columns.map { column in
                            (column.name, column.values.map { ColumnType(declaration: column.type, values: $0) })
                        }
                    ) { first, _ in first }.compactMapValues(\.self)
                )
            },
            defaultSchema: defaultSchema
        )
    }
}
