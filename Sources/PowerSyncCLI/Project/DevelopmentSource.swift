import Foundation
import GRDB
import PowerSyncProtocol

/// SQL statements with the rows that development begins with.
struct SeedFile {
    /// The path, for people.
    let path: String

    /// A file that somebody has named.
    init(_ path: String) {
        self.path = path
    }

    /// `seed.sql` beside a service configuration; `nil` if there is none.
    static func beside(_ configuration: String) -> SeedFile? {
        let path = URL(filePath: configuration).deletingLastPathComponent().appending(path: "seed.sql")
            .path(percentEncoded: false)
        return FileManager.default.fileExists(atPath: path) ? SeedFile(path) : nil
    }

    /// Why rows were not inserted; none were.
    struct Refused: Error, CustomStringConvertible {
        let path: String
        let reason: String

        var description: String { "\(path): \(reason). No row of it was inserted." }
    }
}

/// The embedded source of a service that runs, as any program could open it.
struct DevelopmentSource {
    private let database: DatabaseQueue

    init(path: String) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        database = try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Inserts the rows of a seed, all of them in one transaction, unless there are rows already.
    ///
    /// - Returns: Whether rows were inserted.
    /// - Throws: ``SeedFile/Refused``, or an error of SQLite.
    func insert(_ seed: SeedFile) async throws -> Bool {
        let statements: String
        do {
            statements = try String(contentsOfFile: seed.path, encoding: .utf8)
        } catch {
            throw SeedFile.Refused(path: seed.path, reason: "the file cannot be read")
        }
        do {
            return try await database.write { db in
                for table in try Self.tables(db) {
                    let sql = "SELECT EXISTS (SELECT 1 FROM \(table.quotedDatabaseIdentifier))"
                    if try Bool.fetchOne(db, sql: sql) == true { return false }
                }
                try db.execute(sql: statements)
                return true
            }
        } catch let error as DatabaseError {
            throw SeedFile.Refused(
                path: seed.path,
                reason: error.message ?? "SQLite error \(error.resultCode.rawValue)"
            )
        }
    }

    /// The body of an upload of a new row, in the first table that has an `owner_id`, or the first of all.
    ///
    /// - Returns: JSON; `nil` if there is no table.
    func exampleUpload(owner: String) async throws -> String? {
        try await database.read { db in
            let tables = try Self.tables(db).map { (name: $0, columns: try db.columns(in: $0).map(\.name)) }
            guard let table = tables.first(where: { $0.columns.contains("owner_id") }) ?? tables.first else {
                return nil
            }
            var data = JSONObject()
            for column in table.columns where column.lowercased() != "id" {
                data[column] = .string(column == "owner_id" ? owner : "A new \(column)")
            }
            let write: JSONObject = [
                "op": "PUT", "type": .string(table.name), "id": "example", "data": .object(data),
            ]
            let body: JSONObject = ["data": .array([.object(write)])]
            return body.text
        }
    }

    /// The tables of the app: neither SQLite's own nor the service's.
    private static func tables(_ db: Database) throws -> [String] {
        try String.fetchAll(
            db,
            sql: """
                SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
                    AND name NOT LIKE '\\_ps\\_%' ESCAPE '\\' ORDER BY rowid
                """
        )
    }
}
