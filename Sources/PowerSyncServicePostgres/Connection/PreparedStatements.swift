import PowerSyncServiceCore

/// Which statements a session of the server has prepared, by their texts; no I/O.
///
/// A text that comes a second time is prepared: the server parses it and, after a few times, plans it only once. It is prepared anew after
/// a minute, so that no plan is kept that was made for tables when they were empty.
struct PreparedStatements {
    /// How a statement is sent.
    enum Use: Equatable {
        /// As it is.
        case text
        /// By a name that it is given before; what had the name `replaced` is dropped.
        case prepare(name: String, replaced: String?)
        /// By its name.
        case execute(name: String)
    }

    /// What is prepared: a text, for arguments of some types.
    struct Key: Hashable {
        let sql: String
        let types: [UInt32]
    }

    /// For how long a statement is not prepared anew.
    static let lifetime = Duration.seconds(60)
    /// The most statements that a session keeps: each takes some ten kilobytes of the server.
    static let maximumCount = 64
    /// The most bytes of arguments: what writes or looks for more is planned for it.
    static let maximumBytes = 16 * 1024

    /// What has a plan, and is worth keeping.
    private static let kinds = ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH "]

    /// Of this session alone: in another one, to which a pooler may give statements, none has such a name.
    private let prefix = "powersync_\(RandomID.make())_"
    private var lastNumber = 0
    /// Those that were sent as they are.
    private var seen: Set<Key> = []
    private var known: [Key: (name: String, since: ContinuousClock.Instant)] = [:]

    /// How a statement is to be sent now.
    ///
    /// - Parameters:
    ///   - key: Its text and types.
    ///   - byteCount: The bytes of its arguments.
    ///   - now: The time.
    /// - Returns: How; a statement that is to be prepared counts as prepared from now on.
    mutating func use(_ key: Key, byteCount: Int, at now: ContinuousClock.Instant) -> Use {
        guard byteCount <= Self.maximumBytes, Self.kinds.contains(where: { key.sql.hasPrefix($0) }) else {
            return .text
        }
        if let (name, since) = known[key] {
            guard since.duration(to: now) >= Self.lifetime else { return .execute(name: name) }
            return prepare(key, replacing: name, at: now)
        }
        guard !seen.insert(key).inserted else {
            // Texts that are not repeated are not remembered for ever.
            if seen.count > Self.maximumCount { seen = [key] }
            return .text
        }
        return known.count < Self.maximumCount ? prepare(key, replacing: nil, at: now) : .text
    }

    private mutating func prepare(_ key: Key, replacing name: String?, at now: ContinuousClock.Instant) -> Use {
        lastNumber += 1
        known[key] = (prefix + String(lastNumber), now)
        return .prepare(name: prefix + String(lastNumber), replaced: name)
    }

    /// Something went wrong before a statement was prepared.
    mutating func forget(_ key: Key) { known[key] = nil }

    /// The session does not have what was prepared, or it cannot be used any more.
    mutating func forgetAll() { known = [:] }
}
