import PowerSyncClient

// What the cache of archived files keeps (docs/attachments.md "Cache").
extension AttachmentStore {
    /// The most rows of one round of expiry.
    static let expiryRoundSize = 1000

    /// The archived rows that the cache has no room for, newest first, at most ``expiryRoundSize``.
    ///
    /// The cache keeps the newest rows: `limit` of them, and no more than `byteLimit` bytes of files. The ids in `skipped` are
    /// left out.
    func expiredRows(
        limit: Int64,
        byteLimit: Int64?,
        besides skipped: Set<String>,
        in context: any ConnectionContext
    ) throws -> [StoredRow] {
        let rows = try context.getAll(
            sql: """
                SELECT \(Self.columns) FROM (
                    SELECT \(Self.columns), row_number() OVER newest AS cached_rows, sum(
                        CASE WHEN local_uri IS NULL THEN 0 ELSE max(0, ifnull(size, 0)) END
                    ) OVER newest AS cached_bytes
                    FROM \(table) WHERE state = 4
                    WINDOW newest AS (ORDER BY timestamp DESC, id ROWS UNBOUNDED PRECEDING)
                )
                WHERE cached_rows > ? OR cached_bytes > ? ORDER BY timestamp DESC, id LIMIT ?
                """,
            parameters: [max(0, limit), byteLimit ?? Int64.max, Self.expiryRoundSize + skipped.count],
            mapper: StoredRow.init
        )
        return Array(rows.lazy.filter { !skipped.contains($0.id) }.prefix(Self.expiryRoundSize))
    }

    /// How many rows refer to a path, for the paths that several refer to.
    ///
    /// - Parameters:
    ///   - others: The tables of other queues: a path that one of them refers to counts once more.
    ///   - context: The connection.
    /// - Returns: The counts by path.
    /// - Throws: An error of the database.
    func sharedPaths(with others: [AttachmentStore], in context: any ConnectionContext) throws -> [String: Int] {
        let counts = try context.getAll(
            sql: """
                SELECT local_uri, count(*) AS row_count FROM \(table) WHERE local_uri IS NOT NULL
                GROUP BY local_uri HAVING count(*) > 1
                """,
            parameters: []
        ) { cursor in
            (path: try cursor.getString(name: "local_uri"), count: try cursor.getInt(name: "row_count"))
        }
        var shared = Dictionary(counts.map { ($0.path, $0.count) }) { $0 + $1 }
        for location in try others.flatMap({ try $0.locationsIfThere(in: context) }) {
            if let path = location.localUri { shared[path, default: 1] += 1 }
        }
        return shared
    }

    /// Whether a row is still archived, with this path.
    func isStillArchived(_ attachment: Attachment, in context: any ConnectionContext) throws -> Bool {
        try context.getOptional(
            sql: "SELECT 1 FROM \(table) WHERE id = ? AND state = 4 AND local_uri IS ?",
            parameters: [attachment.id, attachment.localUri]
        ) { _ in true } ?? false
    }
}

extension AttachmentStore.StoredRow {
    /// The id of the row.
    var id: String {
        switch self {
        case .attachment(let attachment): attachment.id
        case .unreadable(let id, _): id
        }
    }
}
