// swift-tools-version: 6.2
import PackageDescription

/// What the SDK is built with.
let sdkSettings: [SwiftSetting] = [
    // `any P` is spelled out, so that the cost of an existential is visible.
    .enableUpcomingFeature("ExistentialAny"),
    // A member is found only if its module is imported in the same file.
    .enableUpcomingFeature("MemberImportVisibility"),
    // `import` is internal unless it says `package` or `public`.
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// What every other target is built with.
///
/// Not the SDK: apps conform `@MainActor` types to its protocols, and Swift 6.3 takes the methods of such a type off the
/// main actor when the protocol's module is built with this feature.
let settings =
    sdkSettings + [
        // A nonisolated async function runs where its caller runs.
        .enableUpcomingFeature("NonisolatedNonsendingByDefault")
    ]

/// Codecs read bytes from outside: every unsafe use is marked.
let codecSettings = settings + [.strictMemorySafety()]

// An app that uses only the client resolves nothing of the rest.
let service: TargetDependencyCondition? = .when(traits: ["Service"])
let serviceOrTesting: TargetDependencyCondition? = .when(traits: ["Service", "Testing"])
let serviceOrGenerate: TargetDependencyCondition? = .when(traits: ["Service", "Generate"])
let anyTrait: TargetDependencyCondition? = .when(traits: ["Service", "Testing", "Generate"])

/// Hummingbird needs macOS 14, and SwiftPM has one floor for all targets: who builds the service on macOS sets this variable,
/// as the Makefile does.
let macOS: SupportedPlatform = Context.environment["POWERSYNC_SERVICE"] == nil ? .macOS(.v13) : .macOS(.v14)

/// What other packages have.
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
    static let httpTypes = product(name: "HTTPTypes", package: "swift-http-types", condition: service)
    static let inMemoryLogging = product(name: "InMemoryLogging", package: "swift-log")
    static let logging = product(name: "Logging", package: "swift-log")
    static let metrics = product(name: "Metrics", package: "swift-metrics", condition: serviceOrTesting)
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
    static let prometheus = product(name: "Prometheus", package: "swift-prometheus", condition: service)
    static let serviceLifecycle = product(
        name: "ServiceLifecycle",
        package: "swift-service-lifecycle",
        condition: serviceOrTesting
    )
    static let tracing = product(name: "Tracing", package: "swift-distributed-tracing", condition: serviceOrTesting)
    static let inMemoryTracing = product(
        name: "InMemoryTracing",
        package: "swift-distributed-tracing",
        condition: service
    )
    static let yams = product(name: "Yams", package: "Yams", condition: anyTrait)
    static let unixSignals = product(name: "UnixSignals", package: "swift-service-lifecycle", condition: service)
}

/// Where `URLSession` is a part of the system.
let applePlatforms: [Platform] = [.macOS, .macCatalyst, .iOS, .tvOS, .watchOS, .visionOS]

/// Where it is not.
let otherPlatforms: [Platform] = [.linux, .android, .windows, .wasi, .openbsd, .custom("freebsd")]

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
        .library(name: "PowerSyncTesting", targets: ["PowerSyncTesting"]),
        .library(name: "PowerSyncService", targets: ["PowerSyncService"]),
        .library(name: "PowerSyncBackend", targets: ["PowerSyncBackend"]),
        .library(name: "PowerSyncBackendHummingbird", targets: ["PowerSyncBackendHummingbird"]),
        .executable(name: "powersync", targets: ["PowerSyncCLI"]),
        .plugin(name: "GenerateSwift", targets: ["GenerateSwift"]),
        // For the package in Benchmarks/ only.
        .library(
            name: "_PowerSyncEngine",
            targets: ["PowerSyncCore", "PowerSyncProtocol", "PowerSyncSyncConfig", "PowerSyncAuth"]
        ),
    ],
    traits: [
        .trait(
            name: "Service",
            description: "PowerSyncService, PowerSyncBackend, PowerSyncBackendHummingbird and the powersync command"
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
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
    ],
    targets: [
        // Both ends of the wire.
        .target(name: "PowerSyncProtocol", dependencies: [.nioCore], swiftSettings: codecSettings),

        // What apps upload and backends answer, for the public interface of both.
        .target(name: "PowerSyncUpload", dependencies: ["PowerSyncProtocol", .nioCore], swiftSettings: settings),

        // Checking tokens, for the service and for backends.
        .target(
            name: "PowerSyncAuth",
            dependencies: ["PowerSyncProtocol", .crypto, .jwtKit, .nioConcurrencyHelpers],
            swiftSettings: settings
        ),

        // zlib comes with every system, and NIO's HTTP compression links it already.
        .systemLibrary(name: "CZlib"),
        .target(
            name: "RSocket",
            dependencies: ["CZlib", .nioConcurrencyHelpers, .nioCore, .nioWebSocket],
            swiftSettings: codecSettings
        ),

        // SQLite for both ends.
        .target(
            name: "PowerSyncSQLite",
            dependencies: [.grdb, .grdbSQLite, .nioConcurrencyHelpers],
            swiftSettings: settings
        ),

        // The client.
        .target(
            name: "PowerSyncCore",
            dependencies: [
                "PowerSyncProtocol", "PowerSyncSQLite", .grdb, .grdbSQLite, .nioConcurrencyHelpers, .nioCore,
            ],
            swiftSettings: settings
        ),
        // One HTTP request: what the client's transports are made on, and what URLSession does for them.
        .target(name: "PowerSyncHTTP", dependencies: ["CZlib", .nioCore, .nioHTTP1, .nioSSL], swiftSettings: settings),
        .target(
            name: "PowerSyncURLSession",
            dependencies: ["PowerSyncHTTP", .nioConcurrencyHelpers, .nioCore, .nioHTTP1],
            swiftSettings: settings
        ),
        // Whoever imports a module sees the members of all that it imports, and AsyncHTTPClient imports much. So PowerSync links this
        // target without importing it, and reaches it by one C function.
        .target(
            name: "PowerSyncNIO",
            dependencies: [
                "PowerSyncHTTP", .asyncHTTPClient, .nioConcurrencyHelpers, .nioCore, .nioHTTP1, .nioHTTPCompression,
                .nioSSL,
            ],
            swiftSettings: settings
        ),
        .target(name: "CPowerSyncNIO"),
        .target(
            name: "PowerSync",
            dependencies: [
                "PowerSyncCore", "PowerSyncHTTP", "PowerSyncProtocol", "PowerSyncSQLite", "PowerSyncUpload", "RSocket",
                // Elsewhere it would bring FoundationNetworking, and with that libcurl.
                .target(name: "PowerSyncURLSession", condition: .when(platforms: applePlatforms)),
                // On Apple platforms `URLSession` does it; there `PowerSyncNIO` is for apps that ask for it.
                .target(name: "PowerSyncNIO", condition: .when(platforms: otherPlatforms)),
                .target(name: "CPowerSyncNIO", condition: .when(platforms: otherPlatforms)), .grdb,
                .grdbSQLite, .crypto, .nioConcurrencyHelpers, .nioCore, .nioHTTP1,
                .nioPosix, .nioSSL, .nioWebSocket,
            ],
            swiftSettings: sdkSettings
        ),
        .target(
            name: "PowerSyncGRDB",
            dependencies: ["PowerSync", "PowerSyncCore", .grdb],
            swiftSettings: settings
        ),
        // What the SDK says, for swift-log: apps that do without have no logger of another package in their interface.
        .target(
            name: "PowerSyncLogging",
            dependencies: ["PowerSync", .logging],
            swiftSettings: settings
        ),
        // Attachments in S3, for servers and development: it signs with the storage's own keys.
        .target(
            name: "PowerSyncS3",
            dependencies: ["PowerSync", .crypto],
            swiftSettings: settings
        ),
        .target(
            name: "PowerSyncTesting",
            dependencies: [
                "PowerSync", "PowerSyncBackend", "PowerSyncProtocol", "PowerSyncSyncConfig", "PowerSyncServiceCore",
                "PowerSyncAuth", .logging, .nioConcurrencyHelpers, .nioCore,
            ],
            swiftSettings: settings
        ),

        // The app's own backend: the other end of uploads, and tokens. It knows neither the client nor the service.
        .target(
            name: "PowerSyncBackend",
            dependencies: [
                "PowerSyncProtocol", "PowerSyncSQLite", "PowerSyncAuth", "PowerSyncUpload", .crypto, .grdb,
                .grdbSQLite,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "PowerSyncBackendHummingbird",
            dependencies: ["PowerSyncBackend", "PowerSyncUpload", .grdb, .httpTypes, .hummingbird, .nioCore],
            swiftSettings: settings
        ),

        // The service.
        .target(name: "PowerSyncSyncConfig", dependencies: ["PowerSyncProtocol", .yams], swiftSettings: settings),
        // What every source and every storage shares; knows none of them, and no HTTP.
        .target(
            name: "PowerSyncServiceCore",
            dependencies: [
                "PowerSyncProtocol", "PowerSyncSyncConfig", "PowerSyncAuth", "PowerSyncUpload", .crypto, .logging,
                .metrics, .nioConcurrencyHelpers, .nioCore, .serviceLifecycle, .tracing,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "PowerSyncServiceSQLite",
            dependencies: [
                "CZlib", "PowerSyncBackend", "PowerSyncProtocol", "PowerSyncSyncConfig", "PowerSyncServiceCore",
                "PowerSyncSQLite", "PowerSyncUpload", .grdb, .logging, .nioConcurrencyHelpers, .nioCore,
            ],
            swiftSettings: settings
        ),
        // PostgreSQL's own client library: libpq-dev on Debian, libpq of Homebrew.
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .target(
            name: "PowerSyncServicePostgres",
            dependencies: [
                "CLibPQ", "PowerSyncProtocol", "PowerSyncSyncConfig", "PowerSyncServiceCore", .logging,
                .nioConcurrencyHelpers, .nioCore,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "PowerSyncService",
            dependencies: [
                "PowerSyncBackend", "PowerSyncHTTP", "PowerSyncProtocol", "PowerSyncSyncConfig", "PowerSyncServiceCore",
                "PowerSyncSQLite", "PowerSyncServicePostgres", "PowerSyncServiceSQLite", "PowerSyncAuth",
                "PowerSyncUpload",
                "RSocket", .asyncHTTPClient, .yams, .crypto, .httpTypes,
                .hummingbird, .hummingbirdCore, .logging, .nioConcurrencyHelpers, .nioCore, .nioHTTP1,
                .nioHTTPCompression, .nioHTTPTypes, .nioHTTPTypesHTTP1, .nioPosix, .nioSSL, .nioWebSocket, .prometheus,
                .serviceLifecycle,
            ],
            swiftSettings: settings
        ),
        // Code of apps from sync configs: for the command, and for a plugin, which builds nothing else.
        .target(
            name: "PowerSyncGenerator",
            dependencies: ["PowerSyncSyncConfig", .argumentParser, .grdbSQLite],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "PowerSyncGenerate",
            dependencies: ["PowerSyncGenerator", .argumentParser],
            swiftSettings: settings
        ),
        .plugin(
            name: "GenerateSwift",
            capability: .command(
                intent: .custom(
                    verb: "generate-powersync",
                    description: "Generate the schema, the rows and the streams of a sync config as Swift code."
                ),
                permissions: [.writeToPackageDirectory(reason: "It writes the file that --output names.")]
            ),
            dependencies: ["PowerSyncGenerate"]
        ),
        .executableTarget(
            name: "PowerSyncCLI",
            dependencies: [
                "PowerSync", "PowerSyncBackend", "PowerSyncCore", "PowerSyncGenerator", "PowerSyncProtocol",
                "PowerSyncSyncConfig", "PowerSyncS3",
                "PowerSyncSQLite", "PowerSyncService", "PowerSyncServiceCore", "PowerSyncServicePostgres",
                .argumentParser, .asyncHTTPClient, .crypto, .grdb, .grdbSQLite, .httpTypes, .hummingbird, .logging,
                .metrics, .nioConcurrencyHelpers, .nioCore, .nioHTTP1, .nioPosix, .nioSSL, .prometheus,
                .serviceLifecycle, .unixSignals,
            ],
            swiftSettings: settings
        ),

        // Databases of their own for tests of the PostgreSQL source.
        .target(
            name: "PostgresTestSupport",
            dependencies: ["CLibPQ", "PowerSyncServicePostgres", "TestSupport", .nioConcurrencyHelpers],
            path: "Tests/PostgresTestSupport",
            swiftSettings: settings
        ),
        .target(
            name: "ServiceTestSupport",
            dependencies: [
                "PowerSyncProtocol", "PowerSyncSyncConfig", "PowerSyncServiceCore", "PowerSyncServiceSQLite",
                "TestSupport",
                .grdb, .logging, .nioConcurrencyHelpers,
            ],
            path: "Tests/ServiceTestSupport",
            swiftSettings: settings
        ),

        // What holds for the ids of uploads with every applier.
        .target(
            name: "BackendTestSupport",
            dependencies: ["PowerSyncProtocol", "PowerSyncSQLite", "PowerSyncUpload", .grdb],
            path: "Tests/BackendTestSupport",
            swiftSettings: settings
        ),

        // What several targets of tests share.
        .target(
            name: "TestSupport",
            dependencies: [
                "PowerSyncProtocol", "RSocket", .crypto, .nioConcurrencyHelpers, .nioCore, .nioHTTP1, .nioPosix,
                .nioSSL, .nioWebSocket,
            ],
            path: "Tests/TestSupport",
            swiftSettings: settings
        ),
        .target(
            name: "PowerSyncCoreTestSupport",
            dependencies: ["PowerSyncCore", "PowerSyncProtocol", .grdb],
            path: "Tests/PowerSyncCoreTestSupport",
            swiftSettings: settings
        ),
        .target(
            name: "HTTPStackTestSupport",
            dependencies: [
                "PowerSync", "PowerSyncHTTP", "PowerSyncNIO", "PowerSyncURLSession", .asyncHTTPClient, .nioCore,
            ],
            path: "Tests/HTTPStackTestSupport",
            swiftSettings: settings
        ),
        .target(
            name: "IntegrationTestSupport",
            dependencies: ["PowerSync", "PowerSyncService", .grdb, .logging, .nioConcurrencyHelpers],
            path: "Tests/IntegrationTestSupport",
            swiftSettings: settings
        ),
        // Uses a database file in a process of its own, which tests may kill.
        .executableTarget(
            name: "LocalDatabaseWorker",
            dependencies: ["PowerSync"],
            path: "Tests/LocalDatabaseWorker",
            swiftSettings: settings
        ),

        // Tests: a process for each target, several at the same time.
        .testTarget(
            name: "PowerSyncProtocolTests",
            dependencies: ["PowerSyncProtocol", "TestSupport", .nioCore],
            swiftSettings: settings
        ),
        .testTarget(
            name: "RSocketTests",
            dependencies: [
                "CZlib", "RSocket", "TestSupport", .nioConcurrencyHelpers, .nioCore, .nioEmbedded, .nioWebSocket,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncSQLiteTests",
            dependencies: ["PowerSyncSQLite", .grdb, .grdbSQLite],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncCoreTests",
            dependencies: [
                "PowerSyncCore", "PowerSyncCoreTestSupport", "PowerSyncProtocol", "PowerSyncSQLite", "TestSupport",
                .grdb, .nioConcurrencyHelpers, .nioCore,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncTests",
            dependencies: [
                "HTTPStackTestSupport", "LocalDatabaseWorker", "PowerSync", "PowerSyncCore", "PowerSyncCoreTestSupport",
                "PowerSyncHTTP", "PowerSyncNIO", "PowerSyncProtocol", "PowerSyncSQLite", "PowerSyncTesting",
                "PowerSyncUpload", "PowerSyncURLSession",
                "RSocket", "TestSupport", .asyncHTTPClient, .grdb, .grdbSQLite,
                .nioConcurrencyHelpers, .nioCore, .nioHTTP1, .nioPosix,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncAttachmentsTests",
            dependencies: [
                "HTTPStackTestSupport", "PowerSync", "PowerSyncNIO", "PowerSyncS3", "PowerSyncTesting", "TestSupport",
                .asyncHTTPClient,
                .crypto, .grdb, .nioConcurrencyHelpers, .nioCore, .nioHTTP1, .nioPosix,
            ],
            swiftSettings: settings
        ),
        // Uses the products as apps do, by what is public.
        .testTarget(
            name: "PowerSyncTestingTests",
            dependencies: ["PowerSync", "PowerSyncTesting"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncLoggingTests",
            dependencies: ["PowerSync", "PowerSyncLogging", .inMemoryLogging, .logging],
            swiftSettings: settings
        ),
        // What the pages show: Swift by what is public, the rest by what reads it.
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "PostgresTestSupport", "PowerSync", "PowerSyncBackend", "PowerSyncBackendHummingbird", "PowerSyncCLI",
                "PowerSyncGRDB", "PowerSyncLogging", "PowerSyncSyncConfig", "PowerSyncService", "PowerSyncTesting",
                "PowerSyncURLSession", "ServiceTestSupport", "TestSupport", .argumentParser, .grdb, .hummingbird,
                .inMemoryTracing, .logging, .tracing,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncGRDBTests",
            dependencies: [
                "PowerSync", "PowerSyncCoreTestSupport", "PowerSyncGRDB", "PowerSyncTesting", .grdb,
                .nioConcurrencyHelpers,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncBackendTests",
            dependencies: [
                "BackendTestSupport", "PowerSync", "PowerSyncBackend", "PowerSyncBackendHummingbird",
                "PowerSyncProtocol", "PowerSyncAuth",
                "PowerSyncUpload", "TestSupport", .grdb, .httpTypes, .hummingbird, .hummingbirdTesting,
                .nioConcurrencyHelpers, .nioCore,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncSyncConfigTests",
            dependencies: ["PowerSyncSyncConfig", "PowerSyncProtocol", "TestSupport", .grdb],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncServiceTests",
            dependencies: [
                "BackendTestSupport", "PostgresTestSupport", "PowerSyncProtocol", "PowerSyncSyncConfig",
                "PowerSyncService",
                "PowerSyncServiceCore", "PowerSyncServicePostgres", "PowerSyncServiceSQLite", "PowerSyncTesting",
                "PowerSyncSQLite", "PowerSyncAuth", "PowerSyncUpload", "RSocket", "ServiceTestSupport", "TestSupport",
                .asyncHTTPClient,
                .crypto, .grdb, .httpTypes, .hummingbird, .hummingbirdTesting, .jwtKit, .logging, .metrics,
                .nioConcurrencyHelpers,
                .nioCore, .nioEmbedded,
                .nioHTTP1, .nioHTTPCompression, .nioPosix, .nioSSL, .prometheus,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncServicePostgresTests",
            dependencies: [
                "CLibPQ", "PostgresTestSupport", "PowerSyncProtocol", "PowerSyncSyncConfig", "PowerSyncService",
                "PowerSyncServiceCore", "PowerSyncServicePostgres", "PowerSyncServiceSQLite", "PowerSyncTesting",
                "ServiceTestSupport", "TestSupport", .grdb, .logging, .nioConcurrencyHelpers, .nioCore, .nioPosix,
            ],
            swiftSettings: settings
        ),
        // The commands that need no service, without a process.
        .testTarget(
            name: "PowerSyncCLITests",
            dependencies: [
                "PowerSync", "PowerSyncCLI", "PowerSyncCore", "PowerSyncGenerator", "PowerSyncProtocol",
                "PowerSyncSyncConfig", "PowerSyncService",
                "PowerSyncTesting", "TestSupport", .argumentParser, .grdb, .logging, .nioConcurrencyHelpers,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "IntegrationTestSupport", "PostgresTestSupport", "PowerSync", "PowerSyncProtocol",
                "PowerSyncSyncConfig",
                "PowerSyncService",
                "PowerSyncTesting", "TestSupport", .asyncHTTPClient, .grdb, .logging, .nioConcurrencyHelpers, .nioCore,
                .serviceLifecycle,
            ],
            swiftSettings: settings
        ),

        // Tests that take long; scripts/run-tests begins with them.
        .testTarget(
            name: "PowerSyncProcessTests",
            dependencies: [
                "IntegrationTestSupport", "LocalDatabaseWorker", "PostgresTestSupport", "PowerSync",
                "PowerSyncProtocol", "PowerSyncService", "PowerSyncTesting", "TestSupport", .grdb,
                .nioConcurrencyHelpers, .nioCore, .nioHTTP1, .nioPosix,
            ],
            path: "Tests/Heavy/PowerSyncProcessTests",
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncLoadTests",
            dependencies: [
                "PowerSync", "PowerSyncProtocol", "PowerSyncTesting", "TestSupport", .crypto, .nioConcurrencyHelpers,
                .nioCore,
            ],
            path: "Tests/Heavy/PowerSyncLoadTests",
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncQueryTests",
            dependencies: ["PowerSyncProtocol", "PowerSyncSyncConfig", "ServiceTestSupport", "TestSupport"],
            path: "Tests/Heavy/PowerSyncQueryTests",
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncSplitTests",
            dependencies: [
                "PowerSyncCore", "PowerSyncCoreTestSupport", "PowerSyncProtocol", "TestSupport", .grdb, .nioCore,
            ],
            path: "Tests/Heavy/PowerSyncSplitTests",
            swiftSettings: settings
        ),
    ]
)

#if os(macOS)
// Xcode shows previews of an app only with dynamic libraries. Elsewhere nobody needs one, and each build would link it.
package.products.append(.library(name: "PowerSyncDynamic", type: .dynamic, targets: ["PowerSync"]))
#endif
