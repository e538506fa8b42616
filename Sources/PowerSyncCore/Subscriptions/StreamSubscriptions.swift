package import GRDB
package import PowerSyncProtocol

/// The table `ps_stream_subscriptions`: which streams the application wants, and which ones the service offers
/// (docs/client-sync.md "Stream subscriptions").
package enum StreamSubscriptions {
    /// The lifetime of a subscription that does not state one: a day, in seconds.
    package static let defaultTimeToLive: Int64 = 86_400

    /// The longest lifetime: 100 years, in seconds.
    ///
    /// Also stands for "for ever"; keeps microseconds within 64 bits.
    package static let maximumTimeToLive: Int64 = 3_153_600_000

    /// Subscribes to a stream, or renews the subscription.
    ///
    /// An existing subscription gets the new lifetime. Of an old and a new priority the more urgent one stays.
    ///
    /// One that was taken back is not synced any more, since the service has stopped sending it; only a default stream without
    /// parameters comes all the same.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - key: The stream and its parameters.
    ///   - timeToLive: The lifetime in seconds after the last renewal; at most ``maximumTimeToLive`` is used.
    ///   - priority: Replaces the priority of the stream.
    ///   - now: The current time.
    /// - Throws: ``SyncEngineError`` when `timeToLive` is negative.
    package static func subscribe(
        _ db: Database,
        _ key: StreamKey,
        timeToLive: Int64? = nil,
        priority: Priority? = nil,
        now: SyncInstant
    ) throws {
        let timeToLive = timeToLive ?? defaultTimeToLive
        guard timeToLive >= 0 else {
            throw SyncEngineError(.argument, "The lifetime of subscription \(key) is negative: \(timeToLive) s")
        }
        let seconds = min(timeToLive, maximumTimeToLive)
        try db.cachedStatement(
            sql: """
                INSERT INTO ps_stream_subscriptions (stream_name, local_params, local_priority, ttl, expires_at)
                VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (stream_name, local_params) DO UPDATE SET
                    local_priority = min(
                        ifnull(local_priority, excluded.local_priority), ifnull(excluded.local_priority, local_priority)
                    ),
                    ttl = excluded.ttl,
                    expires_at = excluded.expires_at,
                    last_synced_at = CASE
                        WHEN ttl IS NULL AND NOT (is_default AND local_params = 'null') THEN NULL ELSE last_synced_at
                    END
                """
        ).execute(
            arguments: [
                key.name, key.parametersText, priority?.rawValue, seconds, now.adding(seconds: seconds).rawValue,
            ]
        )
    }

    /// What a status tells of a subscription; `nil` when there is none.
    ///
    /// - Complexity: O(log n), where n is the number of subscriptions.
    package static func status(_ db: Database, of key: StreamKey) throws -> StreamStatus? {
        try StreamSubscription.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT \(StreamSubscription.columns) FROM ps_stream_subscriptions
                    WHERE stream_name = ? AND local_params = ?
                    """
            ),
            arguments: [key.name, key.parametersText]
        )?.status
    }

    /// Takes back all explicit subscriptions of a stream with these parameters.
    ///
    /// The row stays while the service lists the stream, because it may be a default one.
    package static func unsubscribeAll(_ db: Database, _ key: StreamKey) throws {
        try db.cachedStatement(
            sql: "UPDATE ps_stream_subscriptions SET ttl = NULL WHERE stream_name = ? AND local_params = ?"
        ).execute(arguments: [key.name, key.parametersText])
    }
}

// MARK: - Used by the engine

extension StreamSubscriptions {
    /// All rows by id.
    static func fetchAll(_ db: Database) throws -> [StreamSubscription] {
        try StreamSubscription.fetchAll(
            db.cachedStatement(
                sql: "SELECT \(StreamSubscription.columns) FROM ps_stream_subscriptions ORDER BY id"
            )
        )
    }

    /// Renews the subscriptions for which the application holds a handle.
    static func renew(_ db: Database, _ live: some Sequence<StreamKey>, now: SyncInstant) throws {
        // Other writers may have stored a lifetime that does not fit in microseconds.
        let statement = try db.cachedStatement(
            sql: """
                UPDATE ps_stream_subscriptions SET expires_at = ? + min(ttl, \(maximumTimeToLive)) * 1000000
                WHERE stream_name = ? AND local_params = ? AND ttl IS NOT NULL
                """
        )
        for key in live {
            try statement.execute(arguments: [now.rawValue, key.name, key.parametersText])
        }
    }

    /// Deletes what expired and what has no subscriber any more, and returns the explicit subscriptions by id.
    static func collect(_ db: Database, now: SyncInstant) throws -> [StreamSubscription] {
        try db.cachedStatement(
            sql: "DELETE FROM ps_stream_subscriptions WHERE expires_at < ? OR (ttl IS NULL AND NOT active)"
        ).execute(arguments: [now.rawValue])
        return try StreamSubscription.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT \(StreamSubscription.columns) FROM ps_stream_subscriptions
                    WHERE ttl IS NOT NULL ORDER BY id
                    """
            )
        )
    }

    /// Makes the rows agree with the streams that the service resolved.
    ///
    /// Streams match rows by name, so that a stream marks the rows of all its parameters. Only changed rows are
    /// written.
    ///
    /// - Returns: The rows that remain, by id.
    static func reconcile(_ db: Database, with streams: [StreamDescription]) throws -> [StreamSubscription] {
        var remaining: [StreamSubscription] = []
        var isMatched = Array(repeating: false, count: streams.count)
        for row in try fetchAll(db) {
            var updated = row
            updated.isActive = false
            updated.isDefault = false
            for (index, stream) in streams.enumerated() where stream.name.utf8.elementsEqual(row.key.name.utf8) {
                isMatched[index] = true
                updated.isActive = true
                updated.isDefault = stream.isDefault
            }
            guard updated.isActive || updated.isExplicit else {
                try db.cachedStatement(sql: "DELETE FROM ps_stream_subscriptions WHERE id = ?")
                    .execute(arguments: [row.id])
                continue
            }
            if updated != row {
                try db.cachedStatement(
                    sql: "UPDATE ps_stream_subscriptions SET active = ?, is_default = ? WHERE id = ?"
                ).execute(arguments: [updated.isActive, updated.isDefault, row.id])
            }
            remaining.append(updated)
        }
        for (stream, isMatched) in zip(streams, isMatched) where stream.isDefault && !isMatched {
            remaining.append(try insertDefault(db, named: stream.name))
        }
        return remaining
    }

    /// Notes when subscriptions were published.
    static func markSynced(_ db: Database, _ ids: [Int64], at now: SyncInstant) throws {
        let statement = try db.cachedStatement(
            sql: "UPDATE ps_stream_subscriptions SET last_synced_at = ? WHERE id = ?"
        )
        for id in ids {
            try statement.execute(arguments: [now.rawValue, id])
        }
    }

    /// Notes that subscriptions are not synced any more.
    static func markNotSynced(_ db: Database, _ ids: [Int64]) throws {
        let statement = try db.cachedStatement(
            sql: "UPDATE ps_stream_subscriptions SET last_synced_at = NULL WHERE id = ?"
        )
        for id in ids {
            try statement.execute(arguments: [id])
        }
    }

    private static func insertDefault(_ db: Database, named name: String) throws -> StreamSubscription {
        let key = StreamKey(name: name)
        try db.cachedStatement(
            sql: """
                INSERT INTO ps_stream_subscriptions (stream_name, local_params, active, is_default)
                VALUES (?, ?, 1, 1)
                """
        ).execute(arguments: [key.name, key.parametersText])
        return StreamSubscription(id: db.lastInsertedRowID, key: key, isActive: true, isDefault: true)
    }
}
