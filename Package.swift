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

let package = Package(
    name: "powersync-swift",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "PowerSync", targets: ["PowerSync"]),
        .library(name: "PowerSyncGRDB", targets: ["PowerSyncGRDB"]),
        .library(name: "PowerSyncS3", targets: ["PowerSyncS3"]),
        .library(name: "PowerSyncTesting", targets: ["PowerSyncTesting"]),
        .library(name: "PowerSyncService", targets: ["PowerSyncService"]),
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
        .target(
            name: "PowerSyncProtocol",
            dependencies: [.product(name: "NIOCore", package: "swift-nio")],
            swiftSettings: codecSettings
        ),

        // zlib comes with every system, and NIO's HTTP compression links it already.
        .systemLibrary(name: "CZlib"),
        .target(
            name: "RSocket",
            dependencies: [
                "CZlib",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            swiftSettings: codecSettings
        ),

        // SQLite for both ends.
        .target(
            name: "PowerSyncSQLite",
            dependencies: [
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: settings
        ),

        // The client.
        .target(
            name: "PowerSyncCore",
            dependencies: [
                "PowerSyncProtocol", "PowerSyncSQLite",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "PowerSync",
            dependencies: [
                "PowerSyncCore", "PowerSyncProtocol", "PowerSyncSQLite", "RSocket",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPCompression", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            swiftSettings: sdkSettings
        ),
        .target(
            name: "PowerSyncGRDB",
            dependencies: [
                "PowerSync", "PowerSyncCore",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: settings
        ),
        // Attachments in S3, for servers and development: it signs with the storage's own keys.
        .target(
            name: "PowerSyncS3",
            dependencies: [
                "PowerSync",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "PowerSyncTesting",
            dependencies: [
                "PowerSync", "PowerSyncProtocol",
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),

        // The service.
        .target(
            name: "PowerSyncRules",
            dependencies: ["PowerSyncProtocol", "Yams"],
            swiftSettings: settings
        ),
        // What every source and every storage shares; knows none of them, and no HTTP.
        .target(
            name: "PowerSyncServiceCore",
            dependencies: [
                "PowerSyncProtocol", "PowerSyncRules",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "PowerSyncServiceSQLite",
            dependencies: [
                "PowerSyncProtocol", "PowerSyncRules", "PowerSyncServiceCore", "PowerSyncSQLite",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "PowerSyncService",
            dependencies: [
                "PowerSyncProtocol", "PowerSyncRules", "PowerSyncServiceCore", "PowerSyncServiceSQLite", "RSocket",
                "Yams",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPCompression", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "PowerSyncCLI",
            dependencies: [
                "PowerSync", "PowerSyncProtocol", "PowerSyncRules", "PowerSyncS3", "PowerSyncService",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOFoundationCompat", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),

        // What several targets of tests share.
        .target(
            name: "TestSupport",
            dependencies: [
                "PowerSyncProtocol", "RSocket",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            path: "Tests/TestSupport",
            swiftSettings: settings
        ),
        .target(
            name: "PowerSyncCoreTestSupport",
            dependencies: [
                "PowerSyncCore", "PowerSyncProtocol",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "Tests/PowerSyncCoreTestSupport",
            swiftSettings: settings
        ),
        .target(
            name: "IntegrationTestSupport",
            dependencies: [
                "PowerSync", "PowerSyncService",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
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
            dependencies: [
                "PowerSyncProtocol", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "RSocketTests",
            dependencies: [
                "CZlib", "RSocket", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncSQLiteTests",
            dependencies: [
                "PowerSyncSQLite",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncCoreTests",
            dependencies: [
                "PowerSyncCore", "PowerSyncCoreTestSupport", "PowerSyncProtocol", "PowerSyncSQLite", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncTests",
            dependencies: [
                "LocalDatabaseWorker", "PowerSync", "PowerSyncCore", "PowerSyncProtocol", "PowerSyncSQLite",
                "PowerSyncTesting", "RSocket", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncAttachmentsTests",
            dependencies: [
                "PowerSync", "PowerSyncS3", "PowerSyncTesting", "TestSupport",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncGRDBTests",
            dependencies: [
                "PowerSync", "PowerSyncGRDB", "PowerSyncTesting",
                .product(name: "GRDB", package: "GRDB.swift"),
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
                "PowerSyncServiceSQLite", "PowerSyncTesting", "RSocket", "TestSupport",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPCompression", package: "swift-nio-extras"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "IntegrationTestSupport", "PowerSync", "PowerSyncProtocol", "PowerSyncRules", "PowerSyncService",
                "PowerSyncTesting", "TestSupport",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),

        // Tests that take the whole machine; scripts/run-tests runs them after all others.
        .testTarget(
            name: "PowerSyncProcessTests",
            dependencies: [
                "IntegrationTestSupport", "LocalDatabaseWorker", "PowerSync", "PowerSyncProtocol", "PowerSyncService",
                "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Tests/Heavy/PowerSyncProcessTests",
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncLoadTests",
            dependencies: [
                "PowerSync", "PowerSyncProtocol", "PowerSyncTesting", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "Tests/Heavy/PowerSyncLoadTests",
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncQueryTests",
            dependencies: [
                "PowerSyncProtocol", "PowerSyncRules", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "Tests/Heavy/PowerSyncQueryTests",
            swiftSettings: settings
        ),
        .testTarget(
            name: "PowerSyncSplitTests",
            dependencies: [
                "PowerSyncCore", "PowerSyncCoreTestSupport", "PowerSyncProtocol", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "NIOCore", package: "swift-nio"),
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
