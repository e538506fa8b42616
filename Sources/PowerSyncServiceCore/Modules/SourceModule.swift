package import PowerSyncSyncConfig

/// What a project over a database server begins with: tables `lists` and `todos`, rows, and an account for the service.
package struct ServerStarter: Sendable {
    /// The keys of a connection: lines of YAML.
    package var keys: [String]
    /// Statements that an administrator of the server runs once: `setup.sql`.
    package var setUp: String
    /// What to enter in a shell before the service runs.
    package var steps: [String]

    /// Creates a description.
    package init(keys: [String], setUp: String, steps: [String]) {
        self.keys = keys
        self.setUp = setUp
        self.steps = steps
    }
}

/// A kind of database that can be replicated, with the settings of one such database: all that a service knows of it.
///
/// Each kind has one type that conforms, in the target of the database, and is listed once, in ``Modules``. The configuration, checks,
/// reports and commands ask the module; none of them names a database.
package protocol SourceModule: Sendable, Equatable, CustomStringConvertible {
    /// The value of `type` in `replication.connections[0]`.
    static var type: String { get }

    /// The kind of database in words, such as `a SQLite file`; `nil` when the name of the type says it.
    static var summary: String? { get }

    /// A connection as one line of YAML, for messages that say what to write: `{type: …, uri: …}`.
    static var example: String { get }

    /// The keys of a connection with which a project begins: what `powersync init` writes, and `powersync dev` runs.
    ///
    /// - Parameter tables: `CREATE TABLE` statements for the tables of the project.
    /// - Returns: Lines of YAML; `nil` for a source that needs a server.
    static func starter(tables: [String]) -> [String]?

    /// The type of PowerSyncBackend that applies uploads to the file with which a project begins (`powersync init --backend`).
    ///
    /// - Returns: `nil` for a source that needs a server.
    static var starterApplier: String? { get }

    /// What a project over a server begins with (`powersync init --source`).
    ///
    /// - Parameter password: The password of the account that it makes: letters, digits, `-` and `_`.
    /// - Returns: `nil` for a source without a server, and one for which there is no such project.
    static func serverStarter(password: String) -> ServerStarter?

    /// The keys that the source reads besides `type`, for editors.
    static var schemaKeys: [SchemaObject.Key] { get }

    /// Which processes may use one source at the same time.
    static var sharing: ModuleSharing { get }

    /// Reads the keys of a connection other than `type`, `id` and `tag`.
    ///
    /// `nil` when there is no source with these keys; the findings of the document say why.
    ///
    /// - Parameter section: The connection. The module calls ``YAMLSection/finish(isOpen:)``.
    init?(_ section: inout YAMLSection)

    /// The source without secrets, such as a path, or server and database.
    var description: String { get }

    /// The schema of tables that a sync config names without one.
    var defaultSchema: String { get }

    /// What the handles of streams begin with (``ReplicationStream/sourceHandle``): it tells them from those of other services.
    var handlePrefix: String { get }

    /// The database files on this machine; empty for a server.
    var files: [DatabaseFile] { get }

    /// The secrets of the source, in each spelling that may stand in a configuration file.
    var secrets: [String] { get }

    /// The name or the address of the server; `nil` for a file.
    var host: String? { get }

    /// The code of an error about how the source is set up.
    var configurationErrorCode: ServiceError.Code { get }

    /// Whether there is something to open: a file that is missing would be made.
    var isThere: Bool { get }

    /// Opens the source; it may keep its thread waiting, as for a file.
    ///
    /// - Parameter context: What the source needs of the service.
    /// - Returns: The source; the caller closes it.
    /// - Throws: ``ServiceError``, or an error of the source.
    func open(_ context: ModuleContext) throws -> any ReplicationSource

    /// Finds what would refuse a start after it has made files, and makes none.
    ///
    /// - Parameter context: What the source needs of the service.
    /// - Throws: ``ServiceError``, or an error of the source, as ``open(_:)`` would throw it.
    func checkOpening(_ context: ModuleContext) async throws

    /// Finds out whether the source can be replicated, and changes nothing.
    ///
    /// - Parameters:
    ///   - plan: What the source is read for; empty when that is not known.
    ///   - text: The sync config, for the places of findings; `nil` when there is none.
    ///   - context: What the source needs of the service.
    /// - Returns: What is missing, or why there is no connection.
    /// - Throws: ``ServiceError``, an error of the source, or `CancellationError`.
    func check(
        _ plan: SyncPlan,
        text: (content: String, file: String)?,
        _ context: ModuleContext
    ) async throws -> SourceReport

    /// What `powersync dev` does with the rows of the source; `nil` for a source that is for no development.
    var development: (any DevelopmentDatabase)? { get }

    /// Why the source cannot replicate the tables of a pattern: because of a wildcard in the position of the schema or of the table,
    /// or of the schema that is named. The start, the admin API and `powersync validate` say it with the code `PSYNC_R2201`.
    ///
    /// - Parameter pattern: What a query of a sync config reads.
    /// - Returns: One sentence; `nil` when the source can.
    func refusal(of pattern: TablePattern) -> String?

    /// What the source keeps at its server for streams, with names that begin with ``handlePrefix``.
    ///
    /// - Returns: The slots in the order of their names; `nil` for a source that keeps nothing at a server.
    /// - Throws: ``SourceUnreachable``, or ``ServiceError``.
    func slots() async throws -> [SourceSlot]?

    // MARK: Commands that read a source once

    /// How `--source` of a command names a source of this kind.
    static var argumentForm: SourceArgumentForm { get }

    /// Reads what `--source` of a command names; `nil` for an argument of another kind of source.
    ///
    /// The module with the scheme of an address is asked first (``SourceArgumentForm/schemes``), and then all in the order of
    /// ``Modules/sources``; the first that knows the argument has it.
    ///
    /// - Parameters:
    ///   - argument: The path of a file, or an address, which may have a password.
    ///   - configured: The source of a service configuration, whose settings count that are no part of an address; `nil` without one.
    /// - Throws: ``ServiceError`` with the key `--source`, which does not show the argument.
    init?(argument: String, like configured: (any SourceModule)?) throws

    /// Whether the settings have a password, which other users of this machine see in the arguments of a command.
    var hasPassword: Bool { get }

    /// Reads the tables from the catalogue of the source, and changes nothing.
    ///
    /// - Parameter plan: What a service would read, for ``SourceTables/findings``; `nil` when no service is meant.
    /// - Returns: All tables that could be replicated, also those that the next start of a service makes.
    /// - Throws: ``SourceUnreadable``, ``ServiceError``, or `CancellationError`.
    func readTables(for plan: SyncPlan?) async throws -> SourceTables

    /// Reads all rows of the tables that a plan reads, and changes nothing.
    ///
    /// - Parameters:
    ///   - plan: The plan, with the default schema of the source.
    ///   - body: Gets one row after the other, with its table.
    /// - Throws: ``SourceUnreadable``, ``ServiceError``, or `CancellationError`.
    func forEachRow(
        readBy plan: SyncPlan,
        _ body: @escaping @Sendable (SourceRow, SourceTableName) -> Void
    ) async throws
}

/// The source does not answer.
package struct SourceUnreachable: Error, CustomStringConvertible {
    /// The error of the source.
    package let underlyingError: any Error

    /// Creates an error.
    package init(_ underlyingError: any Error) {
        self.underlyingError = underlyingError
    }

    package var description: String { "\(underlyingError)" }
}

/// Which processes of a service may use one database at the same time.
package enum ModuleSharing: Sendable, Hashable {
    /// Any number.
    case anyNumber
    /// One; the sentence without its end says why: `one process uses a SQLite file`.
    case oneProcess(String)
}

extension SourceModule {
    /// None: most sources need a server.
    package static var starterApplier: String? { nil }

    /// None.
    package static func serverStarter(password: String) -> ServerStarter? { nil }
}
