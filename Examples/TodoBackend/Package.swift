// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "TodoBackend",
    platforms: [.macOS(.v14)],
    dependencies: [
        .package(name: "powersync-swift", path: "../..", traits: ["Service"]),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
    ],
    targets: [
        .executableTarget(
            name: "TodoBackend",
            dependencies: [
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "PowerSyncBackend", package: "powersync-swift"),
                .product(name: "PowerSyncBackendHummingbird", package: "powersync-swift"),
                .product(name: "PowerSyncService", package: "powersync-swift"),
            ]
        )
    ]
)
