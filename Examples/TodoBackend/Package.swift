// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "TodoBackend",
    platforms: [.macOS(.v14)],
    dependencies: [
        .package(name: "powersync-swift", path: "../..", traits: ["Service"]),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/apple/swift-crypto", "4.0.0"..<"6.0.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.0.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
    ],
    targets: [
        .executableTarget(
            name: "TodoBackend",
            dependencies: [
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "PowerSync", package: "powersync-swift"),
                .product(name: "PowerSyncBackend", package: "powersync-swift"),
                .product(name: "PowerSyncBackendHummingbird", package: "powersync-swift"),
                .product(name: "PowerSyncS3", package: "powersync-swift"),
                .product(name: "PowerSyncService", package: "powersync-swift"),
            ]
        )
    ]
)
