package import GRDB
import PowerSyncProtocol

/// What the file of a seed says of itself: what was synced for one user, up to a complete checkpoint, for databases that begin with it
/// (docs/database.md "Seeds").
///
/// ```
///              make(…)             open(_:)                    claim(_:)
///  synced file ───────▶ seed ────────────────▶ unclaimed ───────────────▶ an ordinary file
///                     no client id         its own client id    │  the token is the seed's user's
///                                                               │ discard(_:)
///                                                               └────────▶ an ordinary file without rows
///                                                                  the token is another user's
/// ```
package struct Seed: Sendable, Hashable {
    /// The version of the format that this library makes, and the newest that it reads.
    package static let currentVersion: Int64 = 1

    /// The version of the format.
    package var version = Seed.currentVersion
    /// A random text that ``user`` is made with.
    package var salt: String
    /// A hash of the user whose rows these are, which the client makes.
    package var user: String
    /// The service that has sent them, as a URL.
    package var service: String

    /// Creates the description of a seed.
    package init(salt: String, user: String, service: String) {
        self.salt = salt
        self.user = user
        self.service = service
    }

    private init(json: JSONObject) {
        func text(_ name: String) -> String { if case .string(let text)? = json[name] { text } else { "" } }
        version = if case .integer(let version)? = json["version"] { version } else { .max }
        (salt, user, service) = (text("salt"), text("user"), text("service"))
    }

    private var json: JSONObject {
        [
            "version": .integer(version), "salt": .string(salt), "user": .string(user),
            "service": .string(service),
        ]
    }

    /// What a file is.
    package enum FileState: Sendable, Hashable {
        /// No seed, or one that has a user.
        case ordinary
        /// A seed that nobody has opened: it has no client id.
        case unopened(Seed)
        /// The file of a database that has begun with a seed, whose user has not connected yet.
        case unclaimed(Seed)
    }

    /// What a file is.
    ///
    /// A description that cannot be read is that of a seed of a newer version, of a user that nobody is.
    ///
    /// - Throws: `DatabaseError` of SQLite.
    package static func file(_ db: Database) throws -> FileState {
        guard let text = try KeyValueStore.text(db, .seed) else { return .ordinary }
        let json: JSONObject = if case .object(let object)? = try? ExactJSON(parsing: text) { object } else { [:] }
        let seed = Seed(json: json)
        return try KeyValueStore.text(db, .clientID) == nil ? .unopened(seed) : .unclaimed(seed)
    }

    // MARK: - Making

    /// Makes a synced file the file of a seed.
    ///
    /// What was synced stays. Everything that belongs to one device goes: the client id, the upload queue with its numbers, write
    /// checkpoints, subscriptions, rows of local-only tables. Synced rows without a table get one, so that a database that begins with
    /// the seed has nothing to move.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - schema: The tables of the app, if they are known; those that it does not have are added.
    /// - Returns: How many rows the seed has.
    /// - Throws: ``LocalDatabaseError`` when the file has local writes, or no complete checkpoint.
    package func make(_ db: Database, schema: ClientSchema = ClientSchema()) throws -> Int {
        guard try UploadQueue.count(db) == 0 else {
            throw LocalDatabaseError.invalidState("The file has local writes")
        }
        guard try Seed.isComplete(db) else { throw LocalDatabaseError.invalidState("The file was never synced") }
        try schema.adding(tablesOf: Seed.untypedTables(db)).apply(to: db)
        try LocalData.removeDeviceState(db)
        try KeyValueStore.set(db, .seed, to: json.text)
        return try Int.fetchOne(db, sql: "SELECT count(*) FROM ps_oplog") ?? 0
    }

    /// Whether the file has a complete checkpoint.
    package static func isComplete(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT count(*) FROM ps_sync_state WHERE priority = 2147483647") ?? false
    }

    /// The tables of rows that have none.
    private static func untypedTables(_ db: Database) throws -> [String] {
        try String.fetchAll(db, sql: "SELECT DISTINCT type FROM ps_untyped ORDER BY type")
    }

    // MARK: - Using

    /// Gives a seed that is opened a client id of its own.
    ///
    /// - Parameter db: The writer, inside a transaction, on a migrated database.
    /// - Throws: `DatabaseError` of SQLite.
    package static func open(_ db: Database) throws {
        guard case .unopened = try file(db) else { return }
        try db.execute(
            sql: "INSERT INTO ps_kv(key, value) VALUES (?, uuid())",
            arguments: [KeyValueStore.Key.clientID.rawValue]
        )
    }

    /// Makes the file an ordinary one: its user has connected.
    package static func claim(_ db: Database) throws {
        try KeyValueStore.remove(db, .seed)
    }

    /// Removes what the seed has brought: another user has connected.
    ///
    /// Rows of local-only tables, subscriptions and the account that the app has connected with are of this device, and stay. Call it only
    /// when no local writes wait.
    ///
    /// - Parameter db: The writer, inside a transaction.
    /// - Throws: As ``LocalData/clear(_:_:)``.
    package static func discard(_ db: Database) throws {
        let account = try KeyValueStore.text(db, .account)
        try LocalData.clear(db, [.keepingRejectedWrites, .keepingSubscriptions])
        if let account { try KeyValueStore.set(db, .account, to: account) }
    }
}

extension ClientSchema {
    /// This schema, with views without columns for the tables that it does not have.
    ///
    /// Rows stay without a table when its name is that of another one to SQLite, or of tables that are not the app's.
    fileprivate func adding(tablesOf names: [String]) -> ClientSchema {
        var known = Set((tables.flatMap { [$0.name, $0.viewName] } + rawTables.map(\.name)).map { $0.lowercased() })
        var schema = self
        for name in names where !name.isEmpty && !name.utf8.contains(0) {
            let spelling = name.lowercased()
            guard !["ps_", "sqlite_", "powersync_"].contains(where: spelling.hasPrefix) else { continue }
            if known.insert(spelling).inserted { schema.tables.append(ClientTable(name: name, columns: [])) }
        }
        return schema
    }
}
