import GRDB
import PowerSyncBackend
import PowerSyncUpload
import TestSupport
import Testing

/// What comments and pages show as a decision lets nobody write what is not theirs.
@Suite(.timeLimit(.minutes(1))) struct UploadSampleTests {
    /// A decision that is shown, with how it is applied.
    struct Sample: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let apply: @Sendable (UploadEntry, BackendUser, DatabaseQueue) async throws -> UploadResponse

        /// A sample that is a decision; the tables are named as the comment of the options names them.
        init(_ name: String, _ decide: @escaping SQLiteUploadApplier.Authorization) {
            self.init(name) { entry, user, database in
                let applier = SQLiteUploadApplier(database, options: optionsOfTheComment(), authorize: decide)
                return try await applier.apply(UploadRequest(clientID: nil, entries: [entry]), for: user)
            }
        }

        init(
            _ name: String,
            apply: @escaping @Sendable (UploadEntry, BackendUser, DatabaseQueue) async throws -> UploadResponse
        ) {
            testDescription = name
            self.apply = apply
        }

        static let all: [Sample] = [
            Sample("SQLiteUploadApplier") { entry, user, database in
                let json = UploadRequest(clientID: nil, entries: [entry]).json
                return try await applyAsTheCommentShows(json, to: database, for: user)
            },
            Sample("UploadedWrite", decideAsTheCommentShows), Sample("WriteDecision", decideByOwner),
            Sample("belongsToUser", decideWithAnOwner), Sample("Writing a backend", mayWrite),
        ]
    }

    /// Rows of owners, in a column of a type.
    private func database(_ type: String) async throws -> DatabaseQueue {
        let database = try DatabaseQueue()
        try await database.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE lists (id TEXT PRIMARY KEY, owner_id \(type), name TEXT);
                    CREATE TABLE todos (id TEXT PRIMARY KEY, list_id TEXT, title TEXT);
                    CREATE TABLE secrets (id TEXT PRIMARY KEY, owner_id TEXT);
                    INSERT INTO lists VALUES ('theirs', '7', 'Work'), ('nobodys', NULL, 'Lost'), ('kevins', 'Kevin', 'K');
                    """
            )
        }
        return database
    }

    private static func entry(_ op: UpdateType, _ table: String, _ id: String, _ data: JsonParam? = nil) -> UploadEntry
    {
        UploadEntry(operationID: 1, op: op, table: table, id: id, data: data)
    }

    /// Writes that nobody but the owners may make.
    private static func attacks(_ user: String) -> [UploadEntry] {
        let own: JsonParam = ["owner_id": .string(user), "name": .string("taken")]
        let existing = ["theirs", "nobodys", "kevins"].flatMap { id in
            [
                entry(.put, "lists", id, own), entry(.patch, "lists", id, own), entry(.delete, "lists", id),
                entry(.patch, "lists", id, ["name": .string("taken")]),
                entry(.put, "lists", id, ["name": .string("taken")]),
                entry(.delete, "lists", id, own), entry(.put, "lists", id),
            ]
        }
        let given = [
            JsonValue.string("7"), .int(7), .double(7), .string("Kevin"), .string("\u{212a}evin"), .null, .bool(true),
        ]
        let gifts = given.flatMap { owner in
            [
                entry(.put, "lists", "gift", ["owner_id": owner]), entry(.patch, "lists", "mine", ["owner_id": owner]),
                entry(.put, "lists", "mine", ["owner_id": owner]),
            ]
        }
        let others = [entry(.put, "secrets", "s", ["owner_id": .string(user)]), entry(.delete, "secrets", "s")]
        return existing + gifts + others + [
            entry(.put, "lists", "gift"), entry(.put, "lists", "gift", ["name": .string("x")]),
        ]
    }

    /// Types of the column with the owner, and users who may pass for others in it; half of the pairs, unless all are wanted.
    private static let owners = ["TEXT", "INTEGER", "REAL", "", "TEXT COLLATE NOCASE"].flatMap { type in
        ["mallory", "\u{212a}evin", "007", "7.0", "kevin", "7 "].map { (type: type, user: $0) }
    }.one(in: 2)

    @Test(arguments: Sample.all, owners)
    func rowsOfOthersStay(_ sample: Sample, _ owner: (type: String, user: String)) async throws {
        let user = owner.user
        let database = try await database(owner.type)
        try await database.write { db in
            // Not through the sample: a column may take some users for others.
            try db.execute(sql: "INSERT INTO lists VALUES ('mine', ?, 'Mine')", arguments: [user])
        }
        /// Owners as the sync service sends them; numbers are whole here.
        func rows() async throws -> [String: String] {
            try await database.read { db in
                let rows = try Row.fetchAll(
                    db,
                    sql: """
                        SELECT id, name, CASE typeof(owner_id)
                            WHEN 'real' THEN CAST(CAST(owner_id AS INTEGER) AS TEXT)
                            ELSE ifnull(CAST(owner_id AS TEXT), 'nobody') END AS owner
                        FROM lists
                        """
                )
                return Dictionary(
                    uniqueKeysWithValues: rows.map { ($0["id"], "\($0["owner"] as String) \($0["name"] ?? "")") }
                )
            }
        }
        let before = try await rows()
        for attack in Self.attacks(user) {
            _ = try await sample.apply(attack, BackendUser(id: user), database)
            let after = try await rows()
            for id in ["theirs", "nobodys", "kevins"] {
                #expect(
                    after[id].map { Array($0.utf8) } == before[id].map { Array($0.utf8) },
                    "\(user.debugDescription): \(attack)"
                )
            }
            // Whatever the column makes of the user: no write gave the row to anybody else.
            for id in ["mine", "gift"] {
                guard let row = after[id], Array(row.utf8) != before[id].map({ Array($0.utf8) }) else { continue }
                #expect(row.utf8.starts(with: "\(user) ".utf8), "\(user.debugDescription): \(attack) made \(row)")
            }
            let secrets = try await database.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM secrets")
            }
            #expect(secrets == 0, "\(attack)")
        }
    }

    @Test(arguments: Sample.all)
    func ownersWriteWhatIsTheirs(_ sample: Sample) async throws {
        for (type, user) in [("TEXT", "anna"), ("INTEGER", "12"), ("", "é"), ("TEXT", "caf\u{e9}")] {
            let database = try await database(type)
            let own = JsonValue.string(user)
            for entry in [
                Self.entry(.put, "lists", "mine", ["owner_id": own, "name": .string("Mine")]),
                Self.entry(.patch, "lists", "mine", ["name": .string("Other")]),
                Self.entry(.put, "lists", "mine", ["owner_id": own]), Self.entry(.delete, "lists", "mine"),
            ] {
                let response = try await sample.apply(entry, BackendUser(id: user), database)
                #expect(response.rejections.isEmpty, "\(user): \(entry)")
            }
        }
    }
}
