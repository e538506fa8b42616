import PowerSyncBackend
import Testing

/// A backend's database with the table `lists`, whose triggers write a log, and `notes` without any.
struct ApplierScenario: Sendable {
    let kind: Kind
    let database: any AppDatabase

    init(
        _ kind: Kind,
        adding statements: [String] = [],
        options: UploadApplierOptions = UploadApplierOptions(),
        rule: Rule = .everything
    ) async throws {
        self.kind = kind
        database = try await kind.database(Self.schema(kind) + statements, options, rule)
    }

    /// The statements that make the tables.
    static func schema(_ kind: Kind) -> [String] {
        let text = kind == .mysql ? "VARCHAR(255)" : "TEXT"
        let number =
            switch kind {
            case .sqlite: "INTEGER PRIMARY KEY"
            case .postgres: "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
            case .mysql: "BIGINT AUTO_INCREMENT PRIMARY KEY"
            }
        let tables = [
            "CREATE TABLE lists (id \(text) PRIMARY KEY, owner_id \(text), name \(text))",
            "CREATE TABLE notes (id \(text) PRIMARY KEY, owner_id \(text), name \(text))",
            "CREATE TABLE log (number \(number), what \(text))",
        ]
        let events = [("INSERT", "+", "NEW"), ("UPDATE", "=", "NEW"), ("DELETE", "-", "OLD")]
        return tables
            + events.flatMap { event, sign, row in
                let name = "lists_\(event.lowercased())"
                return switch kind {
                case .sqlite:
                    [
                        """
                        CREATE TRIGGER \(name) AFTER \(event) ON lists BEGIN
                          INSERT INTO log(what) VALUES ('\(sign)' || \(row).id);
                        END
                        """
                    ]
                case .postgres:
                    [
                        """
                        CREATE FUNCTION \(name)() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                          INSERT INTO log(what) VALUES ('\(sign)' || \(row).id); RETURN \(row);
                        END $$
                        """,
                        "CREATE TRIGGER \(name) AFTER \(event) ON lists FOR EACH ROW EXECUTE FUNCTION \(name)()",
                    ]
                case .mysql:
                    [
                        """
                        CREATE TRIGGER \(name) AFTER \(event) ON lists FOR EACH ROW
                          INSERT INTO log(what) VALUES (CONCAT('\(sign)', \(row).id))
                        """
                    ]
                }
            }
    }

    /// A write of a row, in a transaction of its own unless it says otherwise.
    static func put(
        _ number: Int64,
        _ id: String,
        transaction: Int64? = nil,
        name: String = "n",
        table: String = "lists"
    ) -> UploadEntry {
        UploadEntry(
            operationID: number,
            op: .put,
            table: table,
            id: id,
            transactionID: transaction,
            data: ["name": .string(name)]
        )
    }

    /// Applies writes of the client `c1` of the user `u1`.
    @discardableResult
    func apply(
        _ entries: [UploadEntry],
        client: String? = "c1",
        user: String = "u1"
    ) async throws -> UploadResponse {
        try await database.applier.apply(UploadRequest(clientID: client, entries: entries), for: BackendUser(id: user))
    }

    /// What was written to `lists`, in order: `+` for an inserted row, `=` for an updated one, `-` for a deleted one.
    func log() async throws -> [String] {
        try await database.run("SELECT what FROM log ORDER BY number").map { $0[0] ?? "NULL" }
    }

    /// The rows of a table, each as `id owner_id name`.
    func rows(_ table: String) async throws -> [String] {
        try await database.run("SELECT id, owner_id, name FROM \(table) ORDER BY id").map { row in
            row.map { $0 ?? "NULL" }.joined(separator: " ")
        }
    }

    /// How many writes are remembered.
    func rememberedWrites() async throws -> Int {
        try await database.run("SELECT count(*) FROM _ps_upload_writes").first?.first?.flatMap { Int($0) } ?? -1
    }
}
