import Foundation
import GRDB
import MySQLTestSupport
import PostgresNIO
import PostgresTestSupport
import PowerSyncBackend
import PowerSyncBackendMySQL
import PowerSyncBackendPostgres
import TestSupport
import Testing

/// The kinds of databases that have an applier.
enum Kind: String, CaseIterable, Codable, Sendable, CustomTestStringConvertible {
    case sqlite, postgres, mysql

    var testDescription: String { rawValue }
}

/// What an app decides about writes, in terms that all appliers have.
struct Rule: Sendable {
    /// A statement of the app's own, run before it decides.
    var statement: @Sendable (UploadEntry) -> String? = { _ in nil }
    /// The column with the owner, who must be the user.
    var owner: String?
    /// A table, in which the user must own the row with the id `there` by `owner_id`.
    var ownsIn: String?
    /// Whether ``decide`` gets the column `name` of the stored row.
    var readsName = false
    /// Decides; `name` is `nil` for no row, and the text of `NULL` is empty.
    var decide: @Sendable (_ entry: UploadEntry, _ user: BackendUser, _ name: String?) throws -> WriteDecision = {
        _,
        _,
        _ in .apply
    }

    /// Everything is applied.
    static let everything = Rule()

    /// What a closure says about the write alone.
    static func about(_ decide: @escaping @Sendable (UploadEntry) throws -> WriteDecision) -> Rule {
        Rule(decide: { entry, _, _ in try decide(entry) })
    }
}

/// The database of an app with an applier over it.
protocol AppDatabase: AnyObject, Sendable {
    var applier: any UploadApplier { get }
    /// Where another process finds the database: the path of its file, or its name in the server.
    var place: String { get }

    /// Runs a statement outside of the applier.
    ///
    /// - Returns: Its rows as texts.
    @discardableResult
    func run(_ sql: String) async throws -> [[String?]]

    /// Another applier over the same database, with connections of its own.
    func anotherApplier(_ options: UploadApplierOptions, _ rule: Rule) async throws -> any UploadApplier

    func forgetClients(notSeenSince date: Date) async throws -> Int
}

extension Kind {
    /// Makes a database.
    func database(
        _ statements: [String],
        _ options: UploadApplierOptions = UploadApplierOptions(),
        _ rule: Rule = .everything
    ) async throws -> any AppDatabase {
        switch self {
        case .sqlite: try await SQLiteAppDatabase(statements, options, rule)
        case .postgres: try await PostgresAppDatabase(statements, options, rule)
        case .mysql: try await MySQLAppDatabase(statements, options, rule)
        }
    }
}

final class SQLiteAppDatabase: AppDatabase {
    private let folder: TemporaryFolder
    private let database: DatabasePool
    private let sqlite: SQLiteUploadApplier
    var applier: any UploadApplier { sqlite }
    var place: String { folder.path("backend.db") }

    init(_ statements: [String], _ options: UploadApplierOptions, _ rule: Rule) async throws {
        folder = try TemporaryFolder()
        database = try Self.pool(folder.path("backend.db"))
        sqlite = Self.applier(database, options, rule)
        for statement in statements { _ = try await run(statement) }
    }

    static func pool(_ path: String) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.busyMode = .timeout(20)
        return try DatabasePool(path: path, configuration: configuration)
    }

    static func applier(
        _ database: DatabasePool,
        _ options: UploadApplierOptions,
        _ rule: Rule
    ) -> SQLiteUploadApplier {
        SQLiteUploadApplier(database, options: options) { write, db in
            if let statement = rule.statement(write.entry) { try db.execute(sql: statement) }
            if let owner = rule.owner, try !write.belongsToUser(by: owner, db) { return .reject("Not yours.") }
            if let table = rule.ownsIn, try !write.userOwns("there", in: table, by: "owner_id", db) {
                return .reject("Not yours.")
            }
            let name = rule.readsName ? try write.storedRow(db).map { ($0["name"] as String?) ?? "" } : nil
            return try rule.decide(write.entry, write.user, name)
        }
    }

    func run(_ sql: String) async throws -> [[String?]] {
        try await database.write { db in
            guard sql.hasPrefix("SELECT") else {
                try db.execute(sql: sql)
                return []
            }
            return try Row.fetchAll(db, sql: sql).map { row in
                row.map { value in value.1.isNull ? nil : String.fromDatabaseValue(value.1) ?? "\(value.1)" }
            }
        }
    }

    func anotherApplier(_ options: UploadApplierOptions, _ rule: Rule) async throws -> any UploadApplier {
        Self.applier(try Self.pool(place), options, rule)
    }

    func forgetClients(notSeenSince date: Date) async throws -> Int {
        try await sqlite.forgetClients(notSeenSince: date)
    }
}

final class PostgresAppDatabase: AppDatabase {
    let database: TestDatabase
    private let client: PostgresClient
    private let task: Task<Void, Never>
    private let postgres: PostgresUploadApplier
    var applier: any UploadApplier { postgres }
    var place: String { database.uri }

    init(_ statements: [String], _ options: UploadApplierOptions, _ rule: Rule, port: Int? = nil) async throws {
        database = try TestDatabase(statements.joined(separator: ";\n"))
        let client = PostgresClient(configuration: try Self.configuration(database.uri, port: port))
        self.client = client
        task = Task { await client.run() }
        postgres = PostgresUploadApplier(client, options: options, authorize: Self.authorization(rule))
    }

    deinit { task.cancel() }

    static func configuration(_ uri: String, port: Int? = nil) throws -> PostgresClient.Configuration {
        let parts = try #require(URLComponents(string: uri))
        return PostgresClient.Configuration(
            host: parts.host ?? "127.0.0.1",
            port: port ?? parts.port ?? 5432,
            username: parts.user ?? "postgres",
            password: parts.password,
            database: String(parts.path.dropFirst()),
            tls: .disable
        )
    }

    static func authorization(_ rule: Rule) -> PostgresUploadApplier.Authorization {
        { write, transaction in
            if let statement = rule.statement(write.entry) {
                try await transaction.execute(PostgresQuery(unsafeSQL: statement))
            }
            if let owner = rule.owner, try await !write.belongsToUser(by: owner) { return .reject("Not yours.") }
            if let table = rule.ownsIn, try await !write.userOwns("there", in: table, by: "owner_id") {
                return .reject("Not yours.")
            }
            let name = rule.readsName ? try await write.storedRow().map { $0["name"] ?? "" } : nil
            return try rule.decide(write.entry, write.user, name)
        }
    }

    func run(_ sql: String) async throws -> [[String?]] { try database.run(sql) }

    func anotherApplier(_ options: UploadApplierOptions, _ rule: Rule) async throws -> any UploadApplier {
        PostgresUploadApplier(client, options: options, authorize: Self.authorization(rule))
    }

    /// An applier whose rule uses the transaction.
    func applier(_ authorize: @escaping PostgresUploadApplier.Authorization) -> any UploadApplier {
        PostgresUploadApplier(client, authorize: authorize)
    }

    func forgetClients(notSeenSince date: Date) async throws -> Int {
        try await postgres.forgetClients(notSeenSince: date)
    }
}

final class MySQLAppDatabase: AppDatabase {
    let database: TestMySQLDatabase
    private let mysql: MySQLUploadApplier
    var applier: any UploadApplier { mysql }
    var place: String { database.name }

    init(_ statements: [String], _ options: UploadApplierOptions, _ rule: Rule, port: Int? = nil) async throws {
        database = try await TestMySQLDatabase(statements)
        mysql = Self.applier(Self.settings(database.name, in: database.server, port: port), options, rule)
    }

    static func settings(_ name: String, in server: TestMySQL, port: Int? = nil) -> MySQLServerSettings {
        MySQLServerSettings(
            host: server.host,
            port: port ?? server.port,
            username: server.username,
            password: server.password,
            database: name,
            tls: .disabled
        )
    }

    static func applier(
        _ settings: MySQLServerSettings,
        _ options: UploadApplierOptions,
        _ rule: Rule
    ) -> MySQLUploadApplier {
        MySQLUploadApplier(settings, options: options) { write, transaction in
            if let statement = rule.statement(write.entry) { try await transaction.execute(statement) }
            if let owner = rule.owner, try await !write.belongsToUser(by: owner) { return .reject("Not yours.") }
            if let table = rule.ownsIn, try await !write.userOwns("there", in: table, by: "owner_id") {
                return .reject("Not yours.")
            }
            let name = rule.readsName ? try await write.storedRow().map { $0["name"] ?? "" } : nil
            return try rule.decide(write.entry, write.user, name)
        }
    }

    /// An applier whose rule uses the transaction.
    func applier(_ authorize: @escaping MySQLUploadApplier.Authorization) -> any UploadApplier {
        MySQLUploadApplier(Self.settings(database.name, in: database.server), authorize: authorize)
    }

    func run(_ sql: String) async throws -> [[String?]] { try await database.run(sql) }

    func anotherApplier(_ options: UploadApplierOptions, _ rule: Rule) async throws -> any UploadApplier {
        Self.applier(Self.settings(database.name, in: database.server), options, rule)
    }

    func forgetClients(notSeenSince date: Date) async throws -> Int {
        try await mysql.forgetClients(notSeenSince: date)
    }
}
