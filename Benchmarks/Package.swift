// swift-tools-version: 6.2
import PackageDescription

/// The package's name in `package` access is the identity of its folder, so that clones with any name build.
let rootIdentity = String(
    Context.packageDirectory.split(separator: "/").dropLast().last?.lowercased().map { character in
        character.isLetter || character.isNumber ? character : "_"
    } ?? []
)

let package = Package(
    name: "benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "powersync-swift", path: "..", traits: ["Service", "Testing"]),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.33.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.11.0"),
        .package(url: "https://github.com/vapor/postgres-nio", from: "1.33.1"),
    ],
    targets: [
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                .product(name: "PowerSync", package: "powersync-swift"),
                .product(name: "PowerSyncBackend", package: "powersync-swift"),
                .product(name: "PowerSyncBackendMySQL", package: "powersync-swift"),
                .product(name: "PowerSyncBackendPostgres", package: "powersync-swift"),
                .product(name: "PowerSyncService", package: "powersync-swift"),
                .product(name: "_PowerSyncEngine", package: "powersync-swift"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "PostgresNIO", package: "postgres-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            // The engine is not public: this package sees it as another target of the root package does.
            packageAccess: false,
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .unsafeFlags(["-package-name", rootIdentity]),
            ]
        )
    ]
)
