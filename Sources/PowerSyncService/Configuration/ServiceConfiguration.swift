public import Logging
import PowerSyncProtocol
public import PowerSyncServiceCore

/// Everything a ``SyncService`` needs to know before it starts.
///
/// Create it in code, or from a YAML file with ``init(contentsOf:environment:)``:
///
/// ```swift
/// var configuration = ServiceConfiguration(
///     source: .embedded(path: "data/source.db", statements: ["CREATE TABLE lists (id TEXT PRIMARY KEY, name TEXT)"]),
///     storage: .sqlite(path: "data/buckets.db"),
///     syncConfig: .content(
///         """
///         config: {edition: 3}
///         streams:
///           lists: {auto_subscribe: true, query: SELECT * FROM lists}
///         """
///     )
/// )
/// configuration.authentication.keys = [.hs256(secret: Array("a secret of at least 32 characters".utf8), id: "dev")]
/// configuration.authentication.audience = ["powersync-dev"]
/// ```
public struct ServiceConfiguration: Sendable {
    /// Where rows come from.
    public var source: Source
    /// Where buckets are kept.
    public var storage: Storage
    /// The sync config.
    public var syncConfig: SyncConfigSource
    /// Whether a start ends when the sync config has errors; otherwise what was deployed before is served, and the errors are shown
    /// to operators.
    public var exitsOnSyncConfigError = true
    /// What operators call this version of the sync config, such as a release or a commit; shown wherever the deployed config is.
    ///
    /// The same text with another label is deployed at once: nothing is copied for it.
    public var syncConfigVersionLabel: String?
    /// What this process does.
    public var role = Role.unified
    /// The address to listen on.
    ///
    /// All interfaces when not set otherwise.
    public var host = "0.0.0.0"
    /// The port to listen on, or 0 for any free port; the system may keep those below 1024 for administrators.
    public var port = defaultPort
    /// The certificate with which the service speaks TLS on its port; `nil` for plain HTTP.
    public var tls: TLSFiles?
    /// Whether a start makes the storage, or brings it to the version of this service.
    ///
    /// Otherwise `powersync migrate` does, and a start is refused until then.
    public var migratesAutomatically = true
    /// How clients' tokens are checked.
    public var authentication = ClientAuthentication()
    /// Limits per process and per connection.
    public var limits = ServiceLimits()
    /// How the service answers health checks.
    public var probes = ProbeOptions()
    /// What the executable sets up as the log output.
    public var logging = LoggingOptions()
    /// The port of `GET /metrics`, which the executable serves; `nil` for none.
    public var metricsPort: Int?
    /// The address that ``metricsPort`` listens on.
    ///
    /// A file that has the key `host` sets it to the same; otherwise only this machine can read metrics.
    public var metricsHost = "127.0.0.1"
    /// The admin API.
    public var admin = AdminOptions()
    /// Endpoints for development.
    public var development = DevelopmentEndpoints()
    /// The formats that sync streams may have.
    public var formats = ResponseFormats.all
    /// Findings in the file that do not prevent a start, such as unknown keys.
    ///
    /// Log them at start.
    public var warnings: [String] = []
    /// The kinds of databases that there are.
    package var modules = Modules.all

    /// Creates a configuration with the default for everything else.
    ///
    /// - Parameters:
    ///   - source: Where rows come from.
    ///   - storage: Where buckets are kept.
    ///   - syncConfig: The sync config.
    public init(source: Source, storage: Storage, syncConfig: SyncConfigSource) {
        self.source = source
        self.storage = storage
        self.syncConfig = syncConfig
    }
}

extension ServiceConfiguration {
    /// The port to listen on when nothing is said of it.
    static let defaultPort = 8080

    /// Where rows come from.
    public typealias Source = SourceConfiguration

    /// Where buckets are kept.
    public typealias Storage = StorageConfiguration

    /// What a process of the service does; several may share a storage in PostgreSQL.
    public struct Role: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String { case unified, api, sync }
        private let value: Value

        /// It replicates, when no other process does, and serves clients.
        public static let unified = Role(value: .unified)
        /// It serves clients.
        public static let api = Role(value: .api)
        /// It replicates, when no other process does, and answers health checks.
        public static let sync = Role(value: .sync)

        /// Creates a role from its name: `unified`, `api` or `sync`; `nil` for another text.
        public init?(_ name: String) {
            guard let value = Value(rawValue: name) else { return nil }
            self.value = value
        }

        private init(value: Value) {
            self.value = value
        }

        /// The name.
        public var description: String { value.rawValue }

        var replicates: Bool { value != .api }
        var servesClients: Bool { value != .sync }
    }

    /// The text of the sync config, or where it comes from.
    public struct SyncConfigSource: Sendable, Equatable {
        enum Kind: Equatable {
            case content(String)
            /// A variable of the environment, with the text that it has.
            case variable(String, String)
            case file(String)
            case deployed
        }

        let kind: Kind

        /// The text itself.
        ///
        /// - Parameter text: YAML.
        /// - Returns: The sync config.
        public static func content(_ text: String) -> SyncConfigSource {
            SyncConfigSource(kind: .content(text))
        }

        /// A file that is read when the service is created.
        ///
        /// - Parameter path: The path of a YAML file.
        /// - Returns: The sync config.
        public static func file(_ path: String) -> SyncConfigSource {
            SyncConfigSource(kind: .file(path))
        }

        /// The text that a variable of the environment has.
        static func variable(_ name: String, _ text: String) -> SyncConfigSource {
            SyncConfigSource(kind: .variable(name, text))
        }

        /// Whether the text stands in the service configuration.
        package var isInline: Bool {
            if case .content = kind { true } else { false }
        }

        /// What was deployed last: through the admin API, or with ``SyncService/deploy(syncConfig:versionLabel:)``.
        ///
        /// It is kept in the storage. A service that has none yet waits for it, and clients get `PSYNC_S2302` meanwhile.
        public static let deployed = SyncConfigSource(kind: .deployed)
    }

    /// The formats that sync streams may have.
    public struct ResponseFormats: Sendable, Equatable {
        let allowsBSON: Bool

        /// NDJSON and BSON, as the client prefers.
        public static let all = ResponseFormats(allowsBSON: true)
        /// NDJSON, whatever the client prefers.
        public static let ndjsonOnly = ResponseFormats(allowsBSON: false)
    }
}

/// Limits per process and per connection.
public struct ServiceLimits: Sendable, Equatable {
    /// Sync streams that may be open at the same time; more are answered with 429.
    ///
    /// Each is an open file. `powersync serve` raises its limit of them (`ulimit -n`) where it may; a process of your own does that itself,
    /// before it creates the service.
    public var maxConcurrentConnections = 200
    /// Sync streams that one user may have open at the same time, over all devices; more are answered with 429.
    public var maxStreamsPerUser = 100
    /// Sync streams that may read bucket data at the same time; others wait.
    public var maxDataFetchConcurrency = 10
    /// Bytes that may have been read for clients and not sent to them yet, over all streams: 256 MiB.
    ///
    /// Others wait with reading; clients that take nothing for 30 s meanwhile are disconnected. What several clients want is in
    /// memory once; 32 MiB of it are kept for later clients and come on top, as do the reads that have begun.
    public var maxReadAheadBytes = 256 * 1024 * 1024
    /// Buckets that one stream may have.
    public var maxBucketsPerConnection = 1000
    /// Rows that the parameter queries of one stream may return.
    public var maxParameterQueryResults = 1000

    /// Creates the default limits.
    public init() {}
}

/// How the service answers health checks.
public struct ProbeOptions: Sendable, Equatable {
    /// Whether `/probes/startup`, `/probes/liveness` and `/probes/readiness` exist.
    public var useHTTP = true

    /// Creates the default options.
    public init() {}
}

/// What the executable sets up as the log output.
public struct LoggingOptions: Sendable, Equatable {
    /// The forms of log entries.
    public struct Format: Sendable, Hashable {
        private enum Value { case text, json }
        private let value: Value

        /// Lines for people.
        public static let text = Format(value: .text)
        /// One JSON object a line.
        public static let json = Format(value: .json)
    }

    /// The lowest level that is written.
    public var level = Logger.Level.info
    /// The form of log entries.
    public var format = Format.text

    /// Creates the default options.
    public init() {}
}

/// The access to the admin API: `/api/admin/v1/…` and `/api/sync-rules/v1/…`.
public struct AdminOptions: Sendable, Equatable {
    /// The tokens that are accepted; without any, every request is answered with 401.
    ///
    /// A client with a token can read all rows of the source by deploying another sync config: draw tokens at random.
    public var tokens: [String] = []

    /// Creates options that switch the admin API off.
    public init() {}
}

extension AdminOptions: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// How many tokens there are.
    public var description: String { tokens.count.counted("admin token") }

    /// As ``description``: nothing that is secret.
    public var debugDescription: String { description }

    /// Nothing, so that `dump` shows no tokens.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Endpoints that make a back end unnecessary while developing.
///
/// Those for rows and tokens need the embedded source. They answer programs, and web pages of this machine, `http://localhost:5173` for
/// example; pages of other places get 403, and so do requests with a host name that is neither `localhost`, below it, nor
/// ``ServiceConfiguration/host``. All are off unless they are switched on.
public struct DevelopmentEndpoints: Sendable, Equatable {
    /// Whether `POST /dev/write` exists: any holder of a valid token may write any row of the embedded source.
    public var writeEndpoint = false
    /// Whether a column that is written there and that the table lacks is added to the table; otherwise the log says the statement.
    public var addsColumns = false
    /// Whether `POST /dev/token` exists: every client may get a token for any user.
    public var tokenEndpoint = false
    /// Whether there is a dashboard, for browsers with the key that the process draws at its start:
    /// ``SyncService/dashboardURL(at:)``.
    ///
    /// With a token of ``AdminOptions``, there is a dashboard in any case.
    public var dashboard = false

    /// Creates the default options.
    public init() {}
}
