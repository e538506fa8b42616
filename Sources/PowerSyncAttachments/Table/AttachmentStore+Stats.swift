import PowerSyncClient

extension AttachmentStore {
    /// Counts rows and bytes by state.
    ///
    /// States that are none of ours are left out.
    func stats(in context: any ConnectionContext) throws -> AttachmentQueueStats {
        let sql = "SELECT state, count(*), coalesce(sum(size), 0) FROM \(table) GROUP BY state"
        let shares = try context.getAll(sql: sql, parameters: []) { cursor in
            (
                cursor.getIntOptional(index: 0).flatMap { AttachmentState(rawValue: $0) },
                AttachmentQueueStats.Share(count: try cursor.getInt(index: 1), bytes: try cursor.getInt64(index: 2))
            )
        }
        var known: [AttachmentState: AttachmentQueueStats.Share] = [:]
        for case (let state?, let share) in shares { known[state] = share }
        return AttachmentQueueStats(shares: known)
    }
}
