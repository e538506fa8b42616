import BackendTestSupport
import NIOConcurrencyHelpers
import PowerSyncBackend
import TestSupport
import Testing

/// An id of an upload is its bytes, whatever the column of a server makes of it.
@Suite(.timeLimit(.minutes(5))) struct ApplierIDTests {
    /// The applier of a server over a table with ids of one type.
    private struct Applier: IDApplier {
        let hasRule = true
        private let database: any AppDatabase
        private let kind: Kind
        private let shown: NIOLockedValueBox<String?>

        init(_ kind: Kind, _ type: String, _ statements: [String] = []) async throws {
            let shown = NIOLockedValueBox<String?>(nil)
            let rule = Rule(readsName: true) { entry, user, name in
                shown.withLockedValue { $0 = name }
                return entry.id == user.id ? .apply : .reject("This is another user.")
            }
            var options = UploadApplierOptions()
            options.tables = ["items"]
            let text = kind == .mysql ? "VARCHAR(255)" : "TEXT"
            let table = "CREATE TABLE items (id \(type) PRIMARY KEY, name \(text), note \(text))"
            database = try await kind.database(statements + [table], options, rule)
            self.kind = kind
            self.shown = shown
        }

        func clear() async throws { try await database.run("DELETE FROM items") }

        /// A text in SQL, for sessions with and without backslashes as escapes.
        private func literal(_ text: String) -> String {
            kind == .mysql
                ? "_utf8mb4 X'\(text.utf8.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined())'"
                : "'\(text.replacing("'", with: "''"))'"
        }

        func insert(_ id: String, note: String) async throws -> Bool {
            guard kind == .mysql || !id.utf8.contains(0) else { return false }
            let statement = "INSERT INTO items (id, name) VALUES (\(literal(id)), '\(note)')"
            do {
                try await database.run(statement)
                return true
            } catch {
                return false
            }
        }

        func finds(_ id: String) async throws -> Bool {
            guard kind == .mysql || !id.utf8.contains(0) else { return false }
            do {
                return try await !database.run("SELECT 1 FROM items WHERE id = \(literal(id))").isEmpty
            } catch {
                return false
            }
        }

        func rows() async throws -> [IDRow] {
            let id = kind == .mysql ? "id" : "id::text"
            return try await database.run("SELECT \(id), name FROM items").map { IDRow($0[0] ?? "", $0[1] ?? "") }
        }

        func apply(_ entry: UploadEntry, as user: String) async throws -> (response: UploadResponse, shown: String?) {
            shown.withLockedValue { $0 = nil }
            var entry = entry
            if let note = entry.data?["note"] { entry.data = ["name": note] }
            let request = UploadRequest(clientID: nil, entries: [entry])
            let response = try await database.applier.apply(request, for: BackendUser(id: user))
            return (response, shown.withLockedValue { $0 })
        }
    }

    @Test(arguments: [
        "text", "varchar(40)", "char(40)", "integer", "bigint", "smallint", "numeric", "numeric(20,1)", "uuid",
        "text COLLATE nocase", "text COLLATE \"C\"",
    ])
    func postgres(_ type: String) async throws {
        try await check(
            .postgres,
            type,
            ["CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"]
        )
    }

    @Test(arguments: [
        "VARCHAR(40)", "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "CHAR(40)",
        "VARCHAR(40) CHARACTER SET latin1",
        "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci", "INT", "BIGINT", "BIGINT UNSIGNED",
        "DECIMAL(20,1)",
    ])
    func mysql(_ type: String) async throws { try await check(.mysql, type) }

    private func check(_ kind: Kind, _ type: String, _ statements: [String] = []) async throws {
        var checks = IDChecks(try await Applier(kind, type, statements))
        for spelling in IDSpelling.all.one(in: 16) { try await checks.check(spelling, place: "\(kind) \(type)") }
        #expect(
            checks.failures.isEmpty,
            "\(checks.failures.count): \(checks.failures.prefix(5).joined(separator: "\n"))"
        )
    }
}
