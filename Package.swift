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

/// What other packages have.
extension Target.Dependency {
    static let asyncHTTPClient = product(name: "AsyncHTTPClient", package: "async-http-client")
    static let grdb = product(name: "GRDB", package: "GRDB.swift")
    static let grdbSQLite = product(name: "GRDBSQLite", package: "GRDB.swift")
    static let hummingbird = product(name: "Hummingbird", package: "hummingbird")
    static let hummingbirdCore = product(name: "HummingbirdCore", package: "hummingbird")
    static let hummingbirdTesting = product(name: "HummingbirdTesting", package: "hummingbird")
    static let jwtKit = product(name: "JWTKit", package: "jwt-kit")
    static let argumentParser = product(name: "ArgumentParser", package: "swift-argument-parser")
    static let crypto = product(name: "Crypto", package: "swift-crypto")
    static let httpTypes = product(name: "HTTPTypes", package: "swift-http-types")
    static let logging = product(name: "Logging", package: "swift-log")
    static let metrics = product(name: "Metrics", package: "swift-metrics")
    static let nioCore = product(name: "NIOCore", package: "swift-nio")
    static let nioEmbedded = product(name: "NIOEmbedded", package: "swift-nio")
    static let nioHTTP1 = product(name: "NIOHTTP1", package: "swift-nio")
    static let nioPosix = product(name: "NIOPosix", package: "swift-nio")
    static let nioWebSocket = product(name: "NIOWebSocket", package: "swift-nio")
    static let nioHTTPCompression = product(name: "NIOHTTPCompression", package: "swift-nio-extras")
    static let nioHTTPTypes = product(name: "NIOHTTPTypes", package: "swift-nio-extras")
    static let nioHTTPTypesHTTP1 = product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras")
    static let nioSSL = product(name: "NIOSSL", package: "swift-nio-ssl")
    static let serviceLifecycle = product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
    static let unixSignals = product(name: "UnixSignals", package: "swift-service-lifecycle")
}

let package = Package(
    name: "powersync-swift",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "PowerSync", targets: ["PowerSync"]),
        .library(name: "PowerSyncGRDB", targets: ["PowerSyncGRDB"]),
        .library(name: "PowerSyncS3", targets: ["PowerSyncS3"]),
        .library(name: "PowerSyncTesting", targets: ["PowerSyncTesting"]),
        .library(name: "PowerSyncService", targets: ["PowerSyncService"]),
        .library(name: "PowerSyncBackend", targets: ["PowerSyncBackend"]),
        .library(name: "PowerSyncBackendHummingbird", targets: ["PowerSyncBackendHummingbird"]),
        .executable(name: "powersync", targets: ["PowerSyncCLI"]),
        // For the package in Benchmarks/ only.
        .library(name: "_PowerSyncEngine", targets: ["PowerSyncCore", "PowerSyncProtocol", "PowerSyncRules"]),
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
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.33.1"),
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
            name: "PowerSyncTokens",
            dependencies: ["PowerSyncProtocol", .crypto, .jwtKit],
            swiftSettings: settings
        ),

        // zlib comes with every system, and NIO's HTTP compression links it already.
        .systemLibrary(name: "CZlib"),
        .target(name: "RSocket", dependencies: ["CZlib", .nioCore, .nioWebSocket], swiftSettings: codecSettings),

        // SQLite for both ends.
        .target(name: "PowerSyncSQLite", dependencies: [.grdb, .grdbSQLite], swiftSettings: settings),

        // The client.
        .target(
            name: "PowerSyncCore",
            dependencies: ["PowerSyncProtocol", "PowerSyncSQLite", .grdb, .grdbSQLite, .nioCore],
            swiftSettings: settings
        ),
        .target(
            name: "PowerSync",
            dependencies: [
                "PowerSyncCore", "PowerSyncProtocol", "PowerSyncSQLite", "PowerSyncUpload", "RSocket", .grdb,
                .grdbSQLite, .asyncHTTPClient, .crypto, .nioCore, .nioHTTP1, .nioHTTPCompression, .nioPosix, .nioSSL,
                .nioWebSocket,
            ],
            swiftSettings: sdkSettings
        ),
        .target(
            name: "PowerSyncGRDB",
            dependencies: ["PowerSync", "PowerSyncCore", .grdb],
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
                "PowerSync", "PowerSyncBackend", "PowerSyncProtocol", "PowerSyncRules", "PowerSyncServiceCore",
                "PowerSyncTokens", .logging, .nioCore,
            ],
            swiftSettings: settings
        ),

        // The app's own backend: the other end of uploads, and tokens. It knows neither the client nor the service.
        .target(
            name: "PowerSyncBackend",
            dependencies: [
                "PowerSyncProtocol", "PowerSyncSQLite", "PowerSyncTokens", "PowerSyncUpload", .crypto, .grdb,
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
        .target(name: "PowerSyncRules", dependencies: ["PowerSyncProtocol", "Yams"], swiftSettings: settings),
        // What every source and every storage shares; knows none of them, and no HTTP.
        .target(
            name: "PowerSyncServiceCore",
            dependencies: [
                "PowerSyncProtocol", "PowerSyncRules", "PowerSyncTokens", "PowerSyncUpload", .crypto, .logging,
                .metrics, .nioCore, .serviceLifecycle,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "PowerSyncServiceSQLite",
            dependencies: [
                "CZlib", "PowerSyncBackend", "PowerSyncProtocol", "PowerSyncRules", "PowerSyncServiceCore",
                "PowerSyncSQLite", "PowerSyncUpload", .grdb, .logging, .nioCore,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "PowerSyncService",
            dependencies: [
                "PowerSyncBackend", "PowerSyncProtocol", "PowerSyncRules", "PowerSyncServiceCore",
                "PowerSyncServiceSQLite", "PowerSyncTokens", "PowerSyncUpload", "RSocket", "Yams", .crypto, .httpTypes,
                .hummingbird, .hummingbirdCore, .logging, .nioCore, .nioHTTP1,
                .nioHTTPCompression, .nioHTTPTypes, .nioHTTPTypesHTTP1, .nioPosix, .nioWebSocket, .serviceLifecycle,
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "PowerSyncCLI",
            dependencies: [
                "PowerSync", "PowerSyncBackend", "PowerSyncProtocol", "PowerSyncRules", "PowerSyncS3",
                "PowerSyncService", .argumentParser, .asyncHTTPClient, .crypto, .grdb, .httpTypes, .hummingbird,
                .logging, .nioCore, .nioHTTP1, .serviceLifecycle, .unixSignals,
            ],
            swiftSettings: settings
        ),

        // What several targets of tests share.
        .target(
            name: "TestSupport",
            dependencies: [
                "PowerSyncProtocol", "RSocket", .crypto, .nioCore, .nioHTTP1, .nioPosix, .nioSSL, .nioWebSocket,
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
            name: "IntegrationTestSupport",
            dependencies: ["PowerSync", "PowerSyncService", .grdb, .logging],
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
            dependencies: ["CZlib", "RSocket", "TestSupport", .nioCore, .nioEmbedded, .nioWebSocket],
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
                .grdb, .nioCore,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncTests",
            dependencies: [
                "LocalDatabaseWorker", "PowerSync", "PowerSyncCore", "PowerSyncCoreTestSupport", "PowerSyncProtocol",
                "PowerSyncSQLite", "PowerSyncTesting", "RSocket", "TestSupport", .grdb, .grdbSQLite, .nioCore,
                .nioHTTP1, .nioPosix,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncAttachmentsTests",
            dependencies: [
                "PowerSync", "PowerSyncS3", "PowerSyncTesting", "TestSupport", .asyncHTTPClient, .crypto, .grdb,
                .nioCore, .nioHTTP1, .nioPosix,
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
            name: "PowerSyncGRDBTests",
            dependencies: ["PowerSync", "PowerSyncCoreTestSupport", "PowerSyncGRDB", "PowerSyncTesting", .grdb],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncBackendTests",
            dependencies: [
                "PowerSync", "PowerSyncBackend", "PowerSyncBackendHummingbird", "PowerSyncProtocol", "PowerSyncTokens",
                "PowerSyncUpload", "TestSupport", .grdb, .httpTypes, .hummingbird, .hummingbirdTesting, .nioCore,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncRulesTests",
            dependencies: ["PowerSyncRules", "PowerSyncProtocol", "TestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncServiceTests",
            dependencies: [
                "PowerSyncProtocol", "PowerSyncRules", "PowerSyncService", "PowerSyncServiceCore",
                "PowerSyncServiceSQLite", "PowerSyncTesting", "PowerSyncTokens", "PowerSyncUpload", "RSocket",
                "TestSupport", .asyncHTTPClient, .crypto,
                .grdb, .httpTypes, .hummingbird, .hummingbirdTesting, .jwtKit, .logging, .nioCore, .nioEmbedded,
                .nioHTTP1, .nioHTTPCompression, .nioPosix,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "IntegrationTestSupport", "PowerSync", "PowerSyncProtocol", "PowerSyncRules", "PowerSyncService",
                "PowerSyncTesting", "TestSupport", .asyncHTTPClient, .grdb, .logging, .nioCore, .serviceLifecycle,
            ],
            swiftSettings: settings
        ),

        // Tests that take the whole machine; scripts/run-tests runs them after all others.
        .testTarget(
            name: "PowerSyncProcessTests",
            dependencies: [
                "IntegrationTestSupport", "LocalDatabaseWorker", "PowerSync", "PowerSyncProtocol", "PowerSyncService",
                "TestSupport", .grdb, .nioCore, .nioHTTP1, .nioPosix,
            ],
            path: "Tests/Heavy/PowerSyncProcessTests",
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncLoadTests",
            dependencies: ["PowerSync", "PowerSyncProtocol", "PowerSyncTesting", "TestSupport", .crypto, .nioCore],
            path: "Tests/Heavy/PowerSyncLoadTests",
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncQueryTests",
            dependencies: ["PowerSyncProtocol", "PowerSyncRules", "TestSupport", .grdb],
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
