// swift-tools-version: 6.2
import PackageDescription

// From the top: the package with its products, traits and dependencies; how each kind of target is built; the products of other
// packages; and the targets, room by room. It is longer than other files are: SwiftPM reads one.

// MARK: - Traits and platforms

// An app that uses only the client resolves nothing of the rest.
let service: TargetDependencyCondition? = .when(traits: ["Service"])
let serviceOrTesting: TargetDependencyCondition? = .when(traits: ["Service", "Testing"])
let serviceOrGenerate: TargetDependencyCondition? = .when(traits: ["Service", "Generate"])
let anyTrait: TargetDependencyCondition? = .when(traits: ["Service", "Testing", "Generate"])

/// Hummingbird needs macOS 14, and SwiftPM has one floor for all targets: who builds the service on macOS sets this variable,
/// as the Makefile does.
let macOS: SupportedPlatform = Context.environment["POWERSYNC_SERVICE"] == nil ? .macOS(.v13) : .macOS(.v14)

// MARK: - The package

let package = Package(
    name: "powersync-swift",
    platforms: [macOS, .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        .library(name: "PowerSync", targets: ["PowerSync"]),
        .library(name: "PowerSyncUpload", targets: ["PowerSyncUpload"]),
        .library(name: "PowerSyncURLSession", targets: ["PowerSyncURLSession"]),
        .library(name: "PowerSyncNIO", targets: ["PowerSyncNIO"]),
        .library(name: "PowerSyncGRDB", targets: ["PowerSyncGRDB"]),
        .library(name: "PowerSyncLogging", targets: ["PowerSyncLogging"]),
        .library(name: "PowerSyncS3", targets: ["PowerSyncS3"]),
        .library(name: "PowerSyncSupabase", targets: ["PowerSyncSupabase"]),
        .library(name: "PowerSyncTesting", targets: ["PowerSyncTesting"]),
        .library(name: "PowerSyncService", targets: ["PowerSyncService"]),
        .library(name: "PowerSyncBackend", targets: ["PowerSyncBackend"]),
        .library(name: "PowerSyncBackendPostgres", targets: ["PowerSyncBackendPostgres"]),
        .library(name: "PowerSyncBackendMySQL", targets: ["PowerSyncBackendMySQL"]),
        .library(name: "PowerSyncBackendHummingbird", targets: ["PowerSyncBackendHummingbird"]),
        .executable(name: "powersync", targets: ["PowerSyncCLI"]),
        .plugin(name: "GenerateSwift", targets: ["GenerateSwift"]),
        // What the plugin builds and runs.
        .executable(name: "PowerSyncGenerate", targets: ["PowerSyncGenerate"]),
        // For the package in Benchmarks/ only.
        .library(
            name: "_PowerSyncEngine",
            targets: ["PowerSyncCore", "PowerSyncProtocol", "PowerSyncSyncConfig", "PowerSyncAuth"]
        ),
    ],
    traits: [
        .trait(
            name: "Service",
            description: "PowerSyncService, PowerSyncBackend with what begins so, and the powersync command"
        ),
        .trait(name: "Testing", description: "PowerSyncTesting"),
        .trait(name: "Generate", description: "The command plugin: swift package generate-powersync"),
    ],
    // The lowest versions that are known to build and to pass all tests; an app that pins an older one cannot use this
    // package. Newer ones work, too. The three that are high say why.
    dependencies: [
        // The first that links against the SQLite of Linux distributions, which has no snapshots.
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        // Typed upgrades to WebSocket need its limits on header fields; older ones were not tried.
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.34.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.10.1"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.3.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.33.1"),
        .package(url: "https://github.com/swift-server/swift-prometheus", from: "2.3.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.11.0"),
        // Up to 2.26, its watch for the end of a connection spins there; versions between were not tried.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.3.0"),
        .package(url: "https://github.com/vapor/mysql-nio", from: "1.9.1"),
        .package(url: "https://github.com/vapor/postgres-nio", from: "1.33.1"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
    ],
    targets: []
)

#if os(macOS)
// Xcode shows previews of an app only with dynamic libraries. Elsewhere nobody needs one, and each build would link it.
package.products.append(.library(name: "PowerSyncDynamic", type: .dynamic, targets: ["PowerSync"]))
#endif

// MARK: - Kinds of targets

/// What every target is built with.
let settings: [SwiftSetting] = [
    // `any P` is spelled out, so that the cost of an existential is visible.
    .enableUpcomingFeature("ExistentialAny"),
    // A member is found only if its module is imported in the same file.
    .enableUpcomingFeature("MemberImportVisibility"),
    // `import` is internal unless it says `package` or `public`.
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// A nonisolated async function runs where its caller runs.
///
/// Not in the SDK: apps conform `@MainActor` types to its protocols, and Swift 6.3 takes the methods of such a type off the
/// main actor when the protocol's module is built with this feature.
let nonsending: SwiftSetting = .enableUpcomingFeature("NonisolatedNonsendingByDefault")

/// In `Sources`, an expression that uses memory as the compiler cannot check it says `unsafe`.
let memory: SwiftSetting = .strictMemorySafety()

/// The SDK, as apps import it.
func sdk(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings + [memory])
}

/// A library in `Sources`.
func module(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .target(
        name: name,
        dependencies: dependencies,
        resources: resources,
        swiftSettings: settings + [nonsending, memory]
    )
}

/// A command in `Sources`.
func executable(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, swiftSettings: settings + [nonsending, memory])
}

/// The tests of one module, in `Tests`.
func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: settings + [nonsending])
}

/// Tests that take long, in `Tests/Heavy`; scripts/run-tests begins with them.
func heavyTests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(
        name: name,
        dependencies: dependencies,
        path: "Tests/Heavy/\(name)",
        swiftSettings: settings + [nonsending]
    )
}

/// What several targets of tests share, in `Tests`.
func testSupport(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, path: "Tests/\(name)", swiftSettings: settings + [nonsending])
}

/// A command that tests start and may kill, in `Tests`.
func testWorker(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(
        name: name,
        dependencies: dependencies,
        path: "Tests/\(name)",
        swiftSettings: settings + [nonsending]
    )
}

// MARK: - Products of other packages

extension Target.Dependency {
    static let asyncHTTPClient = product(name: "AsyncHTTPClient", package: "async-http-client")
    static let grdb = product(name: "GRDB", package: "GRDB.swift")
    static let grdbSQLite = product(name: "GRDBSQLite", package: "GRDB.swift")
    static let hummingbird = product(name: "Hummingbird", package: "hummingbird", condition: service)
    static let hummingbirdCore = product(name: "HummingbirdCore", package: "hummingbird", condition: service)
    static let hummingbirdTesting = product(name: "HummingbirdTesting", package: "hummingbird", condition: service)
    static let jwtKit = product(name: "JWTKit", package: "jwt-kit", condition: serviceOrTesting)
    static let argumentParser = product(
        name: "ArgumentParser",
        package: "swift-argument-parser",
        condition: serviceOrGenerate
    )
    static let crypto = product(name: "Crypto", package: "swift-crypto")
    static let cryptoExtras = product(name: "_CryptoExtras", package: "swift-crypto", condition: service)
    static let inMemoryTracing = product(
        name: "InMemoryTracing",
        package: "swift-distributed-tracing",
        condition: service
    )
    static let tracing = product(name: "Tracing", package: "swift-distributed-tracing", condition: serviceOrTesting)
    static let httpTypes = product(name: "HTTPTypes", package: "swift-http-types", condition: service)
    static let inMemoryLogging = product(name: "InMemoryLogging", package: "swift-log")
    static let logging = product(name: "Logging", package: "swift-log")
    static let metrics = product(name: "Metrics", package: "swift-metrics", condition: serviceOrTesting)
    static let mysqlNIO = product(name: "MySQLNIO", package: "mysql-nio", condition: service)
    static let postgresNIO = product(name: "PostgresNIO", package: "postgres-nio", condition: service)
    static let nioConcurrencyHelpers = product(name: "NIOConcurrencyHelpers", package: "swift-nio")
    static let nioCore = product(name: "NIOCore", package: "swift-nio")
    static let nioEmbedded = product(name: "NIOEmbedded", package: "swift-nio")
    static let nioHTTP1 = product(name: "NIOHTTP1", package: "swift-nio")
    static let nioPosix = product(name: "NIOPosix", package: "swift-nio")
    static let nioWebSocket = product(name: "NIOWebSocket", package: "swift-nio")
    static let nioHTTPCompression = product(name: "NIOHTTPCompression", package: "swift-nio-extras")
    static let nioHTTPTypes = product(name: "NIOHTTPTypes", package: "swift-nio-extras")
    static let nioHTTPTypesHTTP1 = product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras")
    static let nioSSL = product(name: "NIOSSL", package: "swift-nio-ssl")
    static let nioTLS = product(name: "NIOTLS", package: "swift-nio")
    static let prometheus = product(name: "Prometheus", package: "swift-prometheus", condition: service)
    static let serviceLifecycle = product(
        name: "ServiceLifecycle",
        package: "swift-service-lifecycle",
        condition: serviceOrTesting
    )
    static let unixSignals = product(name: "UnixSignals", package: "swift-service-lifecycle", condition: service)
    static let yams = product(name: "Yams", package: "Yams", condition: anyTrait)
}

// MARK: - Both ends

package.targets += [
    // What goes over the wire, as values and as bytes.
    module("PowerSyncProtocol", [.nioCore]),

    // What apps upload and backends answer, for the public interface of both.
    module("PowerSyncUpload", ["PowerSyncProtocol", .nioCore]),

    // Checking tokens, for the service and for backends.
    module("PowerSyncAuth", ["PowerSyncProtocol", .crypto, .jwtKit, .nioConcurrencyHelpers]),

    // zlib comes with every system, and NIO's HTTP compression links it already.
    .systemLibrary(name: "CZlib"),
    // RSocket over WebSocket: frames, connections, compressed messages.
    module("RSocket", ["CZlib", .nioConcurrencyHelpers, .nioCore, .nioWebSocket]),

    // SQLite's statements, names, accesses and virtual tables.
    module("PowerSyncSQLite", [.grdb, .grdbSQLite, .nioConcurrencyHelpers]),
]

// MARK: - The client

/// Where `URLSession` is a part of the system.
let applePlatforms: [Platform] = [.macOS, .macCatalyst, .iOS, .tvOS, .watchOS, .visionOS]

/// Where it is not.
let otherPlatforms: [Platform] = [.linux, .android, .windows, .wasi, .openbsd, .custom("freebsd")]

package.targets += [
    // The engine over one connection: local writes, checkpoints, views. It waits for nothing.
    module(
        "PowerSyncCore",
        ["PowerSyncProtocol", "PowerSyncSQLite", .grdb, .grdbSQLite, .nioConcurrencyHelpers, .nioCore]
    ),
    // One HTTP request: what the client's transports are made on, and what URLSession does for them.
    module("PowerSyncHTTP", ["CZlib", .nioCore, .nioHTTP1, .nioPosix, .nioSSL]),
    // That request by URLSession.
    module("PowerSyncURLSession", ["PowerSyncHTTP", .nioConcurrencyHelpers, .nioCore, .nioHTTP1]),
    // That request by AsyncHTTPClient, which imports much, and who imports a module sees the members of all that it imports. So
    // PowerSync links this target without importing it, and reaches it by one C function.
    module(
        "PowerSyncNIO",
        [
            "PowerSyncHTTP", .asyncHTTPClient, .nioConcurrencyHelpers, .nioCore, .nioHTTP1, .nioHTTPCompression,
            .nioSSL,
        ]
    ),
    .target(name: "CPowerSyncNIO"),
    // Everything of the SDK but attachments.
    sdk(
        "PowerSyncClient",
        [
            "PowerSyncCore", "PowerSyncHTTP", "PowerSyncProtocol", "PowerSyncSQLite", "PowerSyncUpload", "RSocket",
            // Elsewhere it would bring FoundationNetworking, and with that libcurl.
            .target(name: "PowerSyncURLSession", condition: .when(platforms: applePlatforms)),
            // On Apple platforms `URLSession` does it; there `PowerSyncNIO` is for apps that ask for it.
            .target(name: "PowerSyncNIO", condition: .when(platforms: otherPlatforms)),
            .target(name: "CPowerSyncNIO", condition: .when(platforms: otherPlatforms)),
            .crypto, .grdb, .grdbSQLite, .nioConcurrencyHelpers, .nioCore, .nioHTTP1, .nioPosix, .nioSSL,
            .nioWebSocket,
        ]
    ),
    // Files beside rows: metadata in a table, contents in any storage.
    sdk(
        "PowerSyncAttachments",
        [
            "PowerSyncClient", "PowerSyncCore", "PowerSyncHTTP", "PowerSyncProtocol", "PowerSyncSQLite", .crypto,
            .grdb, .nioConcurrencyHelpers, .nioCore, .nioHTTP1,
        ]
    ),
    // The product: both, and the pages.
    sdk("PowerSync", ["PowerSyncAttachments", "PowerSyncClient"]),
    // The SDK over a DatabasePool of the app.
    module("PowerSyncGRDB", ["PowerSync", "PowerSyncCore", .grdb]),
    // What the SDK says, for swift-log: apps that do without have no logger of another package in their interface.
    module("PowerSyncLogging", ["PowerSync", .logging]),
    // Attachments in S3, for servers and development: it signs with the storage's own keys.
    module("PowerSyncS3", ["PowerSync", .crypto, .nioConcurrencyHelpers]),
    // Sign-in, uploads and attachments with a project of Supabase.
    module("PowerSyncSupabase", ["PowerSync", "PowerSyncUpload"]),
    // For tests of apps: a database in memory, a service that follows a script.
    module(
        "PowerSyncTesting",
        [
            "PowerSync", "PowerSyncAuth", "PowerSyncBackend", "PowerSyncProtocol", "PowerSyncServiceCore",
            "PowerSyncSyncConfig", .logging, .nioConcurrencyHelpers, .nioCore,
        ]
    ),
]

// MARK: - Backends of apps

package.targets += [
    // The other end of uploads, and tokens. It knows neither the client nor the service.
    module(
        "PowerSyncBackend",
        [
            "PowerSyncAuth", "PowerSyncProtocol", "PowerSyncSQLite", "PowerSyncUpload", .crypto, .grdb, .grdbSQLite,
            .nioConcurrencyHelpers,
        ]
    ),
    // The same over PostgreSQL and MySQL servers.
    module(
        "PowerSyncBackendPostgres",
        ["PowerSyncBackend", "PowerSyncProtocol", "PowerSyncUpload", .logging, .nioCore, .postgresNIO]
    ),
    module(
        "PowerSyncBackendMySQL",
        [
            "PowerSyncBackend", "PowerSyncMySQLConnection", "PowerSyncProtocol", "PowerSyncUpload", .logging, .nioCore,
        ]
    ),
    // Its routes on Hummingbird.
    module(
        "PowerSyncBackendHummingbird",
        ["PowerSyncBackend", "PowerSyncUpload", .grdb, .httpTypes, .hummingbird, .nioCore]
    ),
]

// MARK: - The service

package.targets += [
    // YAML and SQL to a plan, and evaluating that. It reads no file and asks no server.
    module("PowerSyncSyncConfig", ["PowerSyncProtocol", .yams]),
    // What every source and every storage shares; knows none of them, and no HTTP.
    module(
        "PowerSyncServiceCore",
        [
            "PowerSyncAuth", "PowerSyncProtocol", "PowerSyncSyncConfig", "PowerSyncUpload", .crypto, .logging,
            .metrics, .nioConcurrencyHelpers, .nioCore, .serviceLifecycle, .tracing, .yams,
        ]
    ),
    // A source and a storage in SQLite files.
    module(
        "PowerSyncServiceSQLite",
        [
            "CZlib", "PowerSyncBackend", "PowerSyncProtocol", "PowerSyncServiceCore", "PowerSyncSQLite",
            "PowerSyncSyncConfig", "PowerSyncUpload", .grdb, .logging, .nioConcurrencyHelpers, .nioCore,
        ]
    ),
    // PostgreSQL's own client library: libpq-dev on Debian, libpq of Homebrew.
    .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    // A source and a storage in PostgreSQL servers.
    module(
        "PowerSyncServicePostgres",
        [
            "CLibPQ", "PowerSyncProtocol", "PowerSyncServiceCore", "PowerSyncSyncConfig", .crypto, .logging,
            .nioConcurrencyHelpers, .nioCore,
        ]
    ),
    // What compressed transactions in MySQL's log need: libzstd-dev on Debian, zstd of Homebrew.
    .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]),
    // The binary log of MySQL and MariaDB: bytes to events, rows and cells. No task, no socket, not a word of PowerSync.
    module("MySQLBinlog", ["CZlib", "CZstd", .nioCore]),
    // Connections to MySQL and MariaDB: handshake, TLS, rows, the log. Not a word of PowerSync.
    module(
        "PowerSyncMySQLConnection",
        [
            .crypto, .cryptoExtras, .logging, .mysqlNIO, .nioConcurrencyHelpers, .nioCore, .nioPosix, .nioSSL, .nioTLS,
        ]
    ),
    // A source in MySQL and MariaDB servers.
    module(
        "PowerSyncServiceMySQL",
        [
            "MySQLBinlog", "PowerSyncMySQLConnection", "PowerSyncProtocol", "PowerSyncServiceCore",
            "PowerSyncSyncConfig", .crypto, .logging, .nioConcurrencyHelpers, .nioCore, .nioPosix, .nioSSL,
        ]
    ),
    // Connections of a server on Hummingbird: time-outs, limits, the WebSocket handshake, gzip. It knows nothing of PowerSync.
    module(
        "HTTPConnections",
        [
            .crypto, .hummingbirdCore, .logging, .nioConcurrencyHelpers, .nioCore, .nioHTTP1, .nioHTTPCompression,
            .nioHTTPTypes, .nioHTTPTypesHTTP1, .nioSSL,
        ]
    ),
    // The page that shows what a service does: files, of which the build makes a part of the program.
    module("PowerSyncDashboard", [], resources: [.embedInCode("Page")]),
    // The service: HTTP, WebSocket, configuration. It puts the modules above together.
    module(
        "PowerSyncService",
        [
            "HTTPConnections", "PowerSyncAuth", "PowerSyncBackend", "PowerSyncDashboard", "PowerSyncHTTP",
            "PowerSyncProtocol", "PowerSyncServiceCore", "PowerSyncServiceMySQL", "PowerSyncServicePostgres",
            "PowerSyncServiceSQLite", "PowerSyncSQLite", "PowerSyncSyncConfig", "PowerSyncUpload", "RSocket",
            .asyncHTTPClient, .crypto, .httpTypes, .hummingbird, .hummingbirdCore, .logging, .nioConcurrencyHelpers,
            .nioCore, .nioHTTP1, .nioHTTPCompression, .nioPosix, .nioSSL, .nioWebSocket, .prometheus,
            .serviceLifecycle,
        ]
    ),
]

// MARK: - The command

package.targets += [
    // What operators do beside a running service: doctor, test-connection, status, slots, migrate, teardown.
    module(
        "PowerSyncOperations",
        [
            "PowerSyncAuth", "PowerSyncHTTP", "PowerSyncProtocol", "PowerSyncService", "PowerSyncServiceCore",
            "PowerSyncSyncConfig", "PowerSyncTerminal", .asyncHTTPClient, .logging, .nioCore, .nioHTTP1, .nioPosix,
            .nioSSL,
        ]
    ),
    // What commands print, on terminals and in logs: texts of others are escaped.
    module("PowerSyncTerminal", [.argumentParser, .logging, .nioConcurrencyHelpers]),
    // Code of apps from sync configs: for the command, and for a plugin, which asks for the build of PowerSyncGenerate when it runs.
    module(
        "PowerSyncGenerator",
        ["PowerSyncProtocol", "PowerSyncSyncConfig", "PowerSyncTerminal", .argumentParser, .grdbSQLite]
    ),
    executable("PowerSyncGenerate", ["PowerSyncGenerator", .argumentParser]),
    .plugin(
        name: "GenerateSwift",
        capability: .command(
            intent: .custom(
                verb: "generate-powersync",
                description: "Generate the schema, the rows and the streams of a sync config as Swift code."
            ),
            permissions: [.writeToPackageDirectory(reason: "It writes the file that --output names.")]
        )
    ),
    // The whole loop in one process, over real connections: a command of its own.
    module(
        "PowerSyncDemo",
        [
            "PowerSync", "PowerSyncBackend", "PowerSyncMySQLConnection", "PowerSyncOperations", "PowerSyncProtocol",
            "PowerSyncS3", "PowerSyncService", "PowerSyncServiceCore", "PowerSyncServiceMySQL",
            "PowerSyncServicePostgres", "PowerSyncSQLite", "PowerSyncTerminal", .argumentParser, .asyncHTTPClient,
            .crypto, .grdb, .httpTypes, .hummingbird, .logging, .nioConcurrencyHelpers, .nioCore, .nioHTTP1, .nioPosix,
            .unixSignals,
        ]
    ),
    // The database file of a client, of any version, whatever is in it, and a look into a running app: a command of its own.
    module(
        "PowerSyncInspection",
        [
            "PowerSyncClient", "PowerSyncCore", "PowerSyncProtocol", "PowerSyncSQLite", "PowerSyncTerminal",
            .argumentParser, .grdb, .grdbSQLite, .nioCore, .nioPosix,
        ]
    ),
    executable(
        "PowerSyncCLI",
        [
            "PowerSyncBackend", "PowerSyncClient", "PowerSyncDemo", "PowerSyncGenerator", "PowerSyncInspection",
            "PowerSyncOperations", "PowerSyncProtocol", "PowerSyncService", "PowerSyncServiceCore",
            "PowerSyncSyncConfig", "PowerSyncTerminal", .argumentParser, .logging, .metrics, .nioConcurrencyHelpers,
            .prometheus,
            .serviceLifecycle, .unixSignals, .yams,
        ]
    ),
]

// MARK: - What tests share

package.targets += [
    // Databases of their own for tests of the PostgreSQL source.
    testSupport(
        "PostgresTestSupport",
        [
            "CLibPQ", "PowerSyncServiceCore", "PowerSyncServicePostgres", "ServiceTestSupport", "TestSupport",
            .logging, .nioConcurrencyHelpers,
        ]
    ),
    // Databases of their own for tests of the MySQL source, in the server of scripts/with-mysql.
    testSupport(
        "MySQLTestSupport",
        [
            "PowerSyncMySQLConnection", "PowerSyncServiceCore", "PowerSyncServiceMySQL", "PowerSyncServiceSQLite",
            "PowerSyncSyncConfig", "ServiceTestSupport", "TestSupport", .logging, .nioConcurrencyHelpers, .nioCore,
            .nioPosix,
        ]
    ),
    // Sources and storages for tests of the service, without HTTP and without a server.
    testSupport(
        "ServiceTestSupport",
        [
            "PowerSyncAuth", "PowerSyncProtocol", "PowerSyncServiceCore", "PowerSyncServiceSQLite",
            "PowerSyncSyncConfig", "PowerSyncTesting", "PowerSyncUpload", "TestSupport", .crypto, .grdb, .jwtKit,
            .logging, .nioConcurrencyHelpers, .nioCore,
        ]
    ),

    // A whole service on a loopback port, proxies before it, and configurations that are refused.
    testSupport(
        "RunningServiceTestSupport",
        [
            "HTTPConnections", "PowerSyncProtocol", "PowerSyncService", "PowerSyncServiceCore",
            "ServiceTestSupport", "TestSupport", .asyncHTTPClient, .logging, .nioCore, .nioHTTP1,
        ]
    ),

    // What holds for the ids of uploads with every applier.
    testSupport("BackendTestSupport", ["PowerSyncProtocol", "PowerSyncSQLite", "PowerSyncUpload", .grdb]),

    // What several targets of tests share.
    testSupport(
        "TestSupport",
        [
            "PowerSyncProtocol", "RSocket", .crypto, .nioConcurrencyHelpers, .nioCore, .nioHTTP1, .nioPosix,
            .nioSSL, .nioWebSocket,
        ]
    ),
    testSupport("PowerSyncCoreTestSupport", ["PowerSyncCore", "PowerSyncProtocol", .grdb]),
    testSupport(
        "HTTPStackTestSupport",
        ["PowerSync", "PowerSyncHTTP", "PowerSyncNIO", "PowerSyncURLSession", .asyncHTTPClient, .nioCore]
    ),
    testSupport(
        "IntegrationTestSupport",
        ["PowerSync", "PowerSyncService", .grdb, .logging, .nioConcurrencyHelpers]
    ),
    // Uses a database file in a process of its own, which tests may kill.
    testWorker("LocalDatabaseWorker", ["PowerSync", "PowerSyncClient", "PowerSyncGRDB", .grdb]),
    // A client or the backend of scripts/soak-faults.
    testWorker(
        "FaultsWorker",
        [
            "PowerSync", "PowerSyncBackend", "PowerSyncBackendHummingbird", "PowerSyncBackendMySQL",
            "PowerSyncBackendPostgres", "TestSupport", .hummingbird, .logging, .postgresNIO,
        ]
    ),
]

// MARK: - The simulation

#if os(Linux)
package.targets += [
    // Takes the place of the system in a process: tasks, queues, clocks, random bytes, files of SQLite. It defines symbols of libraries.
    .target(name: "CSimulation", path: "Tests/CSimulation", linkerSettings: [.linkedLibrary("sqlite3")]),
    // Clients, the service and a backend in one process, without sockets and without waiting, as a seed says.
    testSupport(
        "Simulation",
        [
            "CSimulation", "PowerSync", "PowerSyncAuth", "PowerSyncBackend", "PowerSyncHTTP", "PowerSyncProtocol",
            "PowerSyncServiceCore", "PowerSyncServiceSQLite", "PowerSyncSyncConfig", "PowerSyncUpload", "TestSupport",
            .grdb, .logging, .nioCore, .nioHTTP1,
        ]
    ),
    // swift run simulate SEED. Tests start it as a process: they are not to be simulated themselves.
    testWorker("simulate", ["CSimulation", "Simulation"]),
]
#endif

// MARK: - Tests: a process for each target, several at the same time

package.targets += [
    tests("PowerSyncProtocolTests", ["PowerSyncProtocol", "TestSupport", .nioCore]),
    tests(
        "RSocketTests",
        ["CZlib", "RSocket", "TestSupport", .nioConcurrencyHelpers, .nioCore, .nioEmbedded, .nioWebSocket]
    ),
    tests("PowerSyncSQLiteTests", ["PowerSyncSQLite", .grdb, .grdbSQLite, .nioConcurrencyHelpers]),
    tests(
        "PowerSyncCoreTests",
        [
            "PowerSyncCore", "PowerSyncCoreTestSupport", "PowerSyncProtocol", "PowerSyncSQLite", "TestSupport",
            .grdb, .nioConcurrencyHelpers, .nioCore,
        ]
    ),
    tests(
        "PowerSyncTests",
        [
            "HTTPStackTestSupport", "LocalDatabaseWorker", "PowerSync", "PowerSyncAttachments", "PowerSyncClient",
            "PowerSyncCore", "PowerSyncCoreTestSupport", "PowerSyncHTTP", "PowerSyncNIO", "PowerSyncProtocol",
            "PowerSyncSQLite", "PowerSyncTesting", "PowerSyncUpload", "PowerSyncURLSession", "RSocket",
            "TestSupport", .asyncHTTPClient, .grdb, .grdbSQLite, .nioConcurrencyHelpers, .nioCore, .nioHTTP1,
            .nioPosix,
        ]
    ),
    tests(
        "PowerSyncAttachmentsTests",
        [
            "HTTPStackTestSupport", "LocalDatabaseWorker", "PowerSync", "PowerSyncAttachments", "PowerSyncClient",
            "PowerSyncNIO", "PowerSyncS3", "PowerSyncTesting", "TestSupport", .asyncHTTPClient, .crypto, .grdb,
            .nioConcurrencyHelpers, .nioCore, .nioHTTP1, .nioPosix,
        ]
    ),
    // Uses the products as apps do, by what is public.
    tests(
        "PowerSyncSupabaseTests",
        ["PowerSync", "PowerSyncClient", "PowerSyncSupabase", "TestSupport", .nioConcurrencyHelpers, .nioHTTP1]
    ),
    tests("PowerSyncTestingTests", ["PowerSync", "PowerSyncTesting"]),
    tests("PowerSyncLoggingTests", ["PowerSync", "PowerSyncLogging", .inMemoryLogging, .logging]),
    // What the pages show: Swift by what is public, the rest by what reads it.
    tests(
        "DocumentationTests",
        [
            "PostgresTestSupport", "PowerSync", "PowerSyncBackend", "PowerSyncBackendHummingbird", "PowerSyncCLI",
            "PowerSyncGRDB", "PowerSyncLogging", "PowerSyncService", "PowerSyncSupabase", "PowerSyncSyncConfig",
            "PowerSyncTesting", "PowerSyncURLSession", "ServiceTestSupport", "TestSupport", .argumentParser, .grdb,
            .hummingbird, .inMemoryTracing, .logging, .tracing,
        ]
    ),
    tests(
        "PowerSyncGRDBTests",
        [
            "PowerSync", "PowerSyncCoreTestSupport", "PowerSyncGRDB", "PowerSyncProtocol", "PowerSyncTesting", .grdb,
            .nioConcurrencyHelpers,
        ]
    ),
    tests(
        "PowerSyncBackendTests",
        [
            "BackendTestSupport", "PowerSync", "PowerSyncAuth", "PowerSyncBackend", "PowerSyncBackendHummingbird",
            "PowerSyncProtocol", "PowerSyncService", "PowerSyncSQLite", "PowerSyncUpload", "TestSupport", .grdb,
            .httpTypes, .hummingbird, .hummingbirdTesting, .logging, .nioConcurrencyHelpers, .nioCore,
        ]
    ),
    // What every applier of uploads does, over servers and in files.
    tests(
        "UploadApplierConformanceTests",
        [
            "BackendTestSupport", "MySQLTestSupport", "PostgresTestSupport", "PowerSyncBackend",
            "PowerSyncBackendMySQL", "PowerSyncBackendPostgres", "TestSupport", .grdb, .nioConcurrencyHelpers, .nioCore,
            .nioPosix, .postgresNIO,
        ]
    ),
    tests("PowerSyncSyncConfigTests", ["PowerSyncProtocol", "PowerSyncSyncConfig", "TestSupport", .grdb]),
    tests(
        "PowerSyncAuthTests",
        [
            "PowerSyncAuth", "PowerSyncProtocol", "ServiceTestSupport", .jwtKit, .nioConcurrencyHelpers,
        ]
    ),
    tests(
        "PowerSyncServiceCoreTests",
        [
            "PowerSyncAuth", "PowerSyncProtocol", "PowerSyncServiceCore", "PowerSyncServiceSQLite",
            "PowerSyncSyncConfig", "PowerSyncTesting", "PowerSyncUpload", "ServiceTestSupport", "TestSupport",
            .grdb, .logging, .metrics, .nioConcurrencyHelpers, .nioCore, .prometheus, .serviceLifecycle,
        ]
    ),
    tests(
        "PowerSyncServiceSQLiteTests",
        [
            "BackendTestSupport", "PowerSyncProtocol", "PowerSyncServiceCore", "PowerSyncServiceSQLite",
            "PowerSyncSQLite", "PowerSyncSyncConfig", "PowerSyncTesting", "PowerSyncUpload", "ServiceTestSupport",
            "TestSupport", .grdb, .logging, .nioConcurrencyHelpers,
        ]
    ),
    tests(
        "PowerSyncServicePostgresTests",
        [
            "CLibPQ", "PostgresTestSupport", "PowerSyncProtocol", "PowerSyncServiceCore",
            "PowerSyncServicePostgres", "PowerSyncServiceSQLite", "PowerSyncSyncConfig", "PowerSyncTesting",
            "ServiceTestSupport", "TestSupport", .grdb, .logging, .nioConcurrencyHelpers, .nioCore, .nioPosix,
        ]
    ),
    tests("MySQLBinlogTests", ["MySQLBinlog", "TestSupport", .nioCore]),
    tests(
        "PowerSyncMySQLConnectionTests",
        [
            "MySQLTestSupport", "PowerSyncMySQLConnection", "TestSupport", .logging, .mysqlNIO,
            .nioConcurrencyHelpers, .nioCore, .nioPosix, .nioSSL,
        ]
    ),
    tests(
        "PowerSyncServiceMySQLTests",
        [
            "MySQLBinlog", "MySQLTestSupport", "PowerSyncMySQLConnection", "PowerSyncProtocol",
            "PowerSyncServiceCore", "PowerSyncServiceMySQL", "PowerSyncServiceSQLite", "PowerSyncSyncConfig",
            "PowerSyncTesting", "ServiceTestSupport", "TestSupport", .grdb, .logging, .nioConcurrencyHelpers, .nioCore,
            .nioPosix,
        ]
    ),
    // What every storage does, and what sessions, replication and deployment do over each of them.
    tests(
        "StorageConformanceTests",
        [
            "PostgresTestSupport", "PowerSyncAuth", "PowerSyncProtocol", "PowerSyncServiceCore",
            "PowerSyncServicePostgres", "PowerSyncServiceSQLite", "PowerSyncSyncConfig", "PowerSyncTesting",
            "ServiceTestSupport", "TestSupport", .grdb, .logging, .nioConcurrencyHelpers, .nioCore,
        ]
    ),
    // What every source does.
    tests(
        "SourceConformanceTests",
        [
            "MySQLTestSupport", "PostgresTestSupport", "PowerSyncServiceCore", "PowerSyncServiceMySQL",
            "PowerSyncServicePostgres", "PowerSyncServiceSQLite", "PowerSyncSyncConfig", "ServiceTestSupport",
            "TestSupport", .grdb, .logging,
        ]
    ),
    // What goes through the service: its configuration, HTTP and WebSocket.
    tests(
        "PowerSyncServiceTests",
        [
            "HTTPConnections", "MySQLTestSupport", "PostgresTestSupport", "PowerSyncAuth", "PowerSyncMySQLConnection",
            "PowerSyncProtocol", "PowerSyncService", "PowerSyncServiceCore", "PowerSyncServicePostgres",
            "PowerSyncServiceSQLite", "PowerSyncSyncConfig", "PowerSyncTesting", "PowerSyncUpload", "RSocket",
            "RunningServiceTestSupport", "ServiceTestSupport", "TestSupport", .asyncHTTPClient, .grdb, .httpTypes,
            .hummingbird, .hummingbirdCore, .hummingbirdTesting,
            .logging, .metrics, .nioConcurrencyHelpers, .nioCore, .nioEmbedded, .nioHTTP1, .nioHTTPCompression,
            .nioPosix, .nioSSL, .prometheus,
        ]
    ),
    // What operators do, over services that run, do not start, or are gone.
    tests(
        "PowerSyncOperationsTests",
        [
            "PostgresTestSupport", "PowerSyncAuth", "PowerSyncOperations", "PowerSyncProtocol", "PowerSyncService",
            "PowerSyncServiceCore", "PowerSyncServicePostgres", "PowerSyncServiceSQLite", "PowerSyncSyncConfig",
            "RunningServiceTestSupport", "ServiceTestSupport", "TestSupport", .grdb, .httpTypes, .hummingbird,
            .hummingbirdTesting, .logging, .nioConcurrencyHelpers,
        ]
    ),
    tests(
        "HTTPConnectionsTests",
        [
            "HTTPConnections", "TestSupport", .hummingbird, .hummingbirdCore, .inMemoryLogging, .logging, .nioCore,
            .nioEmbedded, .nioHTTP1, .nioPosix, .nioSSL,
        ]
    ),
    tests(
        "PowerSyncTerminalTests",
        [
            "PowerSyncGenerator", "PowerSyncProtocol", "PowerSyncSyncConfig", "PowerSyncTerminal", .logging,
            .nioConcurrencyHelpers,
        ]
    ),
    tests(
        "PowerSyncInspectionTests",
        [
            "PowerSync", "PowerSyncClient", "PowerSyncCoreTestSupport", "PowerSyncInspection", "PowerSyncProtocol",
            "PowerSyncTerminal", "PowerSyncTesting", "TestSupport", .argumentParser, .grdb, .nioConcurrencyHelpers,
            .nioCore,
        ]
    ),
    // The commands that need no service, without a process.
    tests(
        "PowerSyncCLITests",
        [
            "PowerSync", "PowerSyncBackend", "PowerSyncCLI", "PowerSyncGenerator", "PowerSyncInspection",
            "PowerSyncProtocol", "PowerSyncService", "PowerSyncServiceCore", "PowerSyncServiceMySQL",
            "PowerSyncServicePostgres", "PowerSyncServiceSQLite",
            "PowerSyncSyncConfig", "PowerSyncTerminal", "PowerSyncTesting", "ServiceTestSupport", "TestSupport",
            .argumentParser, .grdb, .logging, .nioConcurrencyHelpers,
        ]
    ),
    tests(
        "IntegrationTests",
        [
            "IntegrationTestSupport", "PostgresTestSupport", "PowerSync", "PowerSyncProtocol", "PowerSyncService",
            "PowerSyncSyncConfig", "PowerSyncTesting", "TestSupport", .asyncHTTPClient, .grdb, .logging,
            .nioConcurrencyHelpers, .nioCore, .serviceLifecycle,
        ]
    ),
]

// MARK: - Tests that take long

package.targets += [
    heavyTests(
        "PowerSyncProcessTests",
        [
            "IntegrationTestSupport", "LocalDatabaseWorker", "MySQLTestSupport", "PostgresTestSupport", "PowerSync",
            "PowerSyncProtocol", "PowerSyncService", "PowerSyncTesting", "TestSupport", .grdb,
            .nioConcurrencyHelpers, .nioCore, .nioHTTP1, .nioPosix,
        ]
    ),
    heavyTests(
        "PowerSyncLoadTests",
        [
            "PowerSync", "PowerSyncClient", "PowerSyncProtocol", "PowerSyncTesting", "TestSupport", .crypto,
            .nioConcurrencyHelpers, .nioCore,
        ]
    ),
    heavyTests(
        "PowerSyncQueryTests",
        ["PowerSyncProtocol", "PowerSyncSyncConfig", "ServiceTestSupport", "TestSupport"]
    ),
    heavyTests(
        "PowerSyncSplitTests",
        ["PowerSyncCore", "PowerSyncCoreTestSupport", "PowerSyncProtocol", "TestSupport", .grdb, .nioCore]
    ),
]

#if os(Linux)
// Starts `simulate`, without which it does nothing; but it is not linked: it defines symbols of libraries.
package.targets.append(heavyTests("SimulationTests", []))
#endif
