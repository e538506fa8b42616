// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "TodoTerminal",
    platforms: [.macOS(.v14)],
    dependencies: [
        .package(name: "powersync-swift", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "TodoTerminal",
            dependencies: [.product(name: "PowerSync", package: "powersync-swift")]
        )
    ]
)
