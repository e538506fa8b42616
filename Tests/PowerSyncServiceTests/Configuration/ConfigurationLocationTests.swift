import Foundation
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncService

/// Where a configuration is taken from: an argument, the environment, the usual file.
@Suite struct ConfigurationLocationTests {
    private static func yaml(port: Int, syncConfig: String = "{content: 'streams: {}'}") -> String {
        """
        replication: {connections: [{type: embedded, path: source.db}]}
        storage: {type: sqlite, path: buckets.db}
        sync_config: \(syncConfig)
        port: \(port)
        """
    }

    private static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    /// What is given of the three places.
    struct Case: CustomTestStringConvertible, Sendable {
        var argument = false
        var text: String?
        var path = false
        var port: Int
        var name: String
        var testDescription: String { "argument \(argument), text \(text ?? "none"), path \(path): \(name)" }
    }

    @Test(arguments: [
        Case(argument: true, text: "9002", path: true, port: 9001, name: "argument.yaml"),
        Case(text: "9002", path: true, port: 9002, name: "POWERSYNC_CONFIG_B64"),
        Case(path: true, port: 9003, name: "path.yaml"),
        Case(text: "", path: true, port: 9003, name: "path.yaml"),
        Case(argument: true, port: 9001, name: "argument.yaml"),
    ])
    func theFirstThatIsGivenCounts(_ test: Case) throws {
        let folder = try TemporaryFolder()
        try Self.yaml(port: 9001).write(toFile: folder.path("argument.yaml"), atomically: true, encoding: .utf8)
        try Self.yaml(port: 9003).write(toFile: folder.path("path.yaml"), atomically: true, encoding: .utf8)
        var environment: [String: String] = [:]
        if let text = test.text {
            environment["POWERSYNC_CONFIG_B64"] = Int(text).map { Self.base64(Self.yaml(port: $0)) } ?? ""
        }
        if test.path { environment["POWERSYNC_CONFIG_PATH"] = folder.path("path.yaml") }
        let location = ConfigurationLocation(
            argument: test.argument ? folder.path("argument.yaml") : nil,
            environment: environment
        )
        #expect(location.isGiven)
        #expect(location.name.hasSuffix(test.name))
        #expect((location.file == nil) == (test.name == "POWERSYNC_CONFIG_B64"))
        #expect(try location.read().port == test.port)
    }

    @Test func theUsualFileIsLast() {
        for environment in [[:], ["POWERSYNC_CONFIG_B64": "", "POWERSYNC_CONFIG_PATH": ""]] {
            let location = ConfigurationLocation(argument: nil, environment: environment)
            #expect(location.file == "powersync.yaml" && !location.isGiven)
        }
    }

    @Test func aTextIsReadAsAFileInThePresentFolder() throws {
        // As base64 prints it: with lines of 76 characters.
        let yaml = Self.yaml(port: 9000).replacing("9000", with: "!env PS_PORT::number")
        let encoded =
            Data(yaml.utf8).base64EncodedString(options: [.lineLength76Characters, .endLineWithLineFeed]) + "\n"
        let location = ConfigurationLocation(
            argument: nil,
            environment: ["POWERSYNC_CONFIG_B64": encoded, "PS_PORT": "9009"]
        )
        let configuration = try location.read()
        #expect(configuration.port == 9009)
        let folder = URL(filePath: FileManager.default.currentDirectoryPath)
        #expect(configuration.storage == .sqlite(path: folder.appending(path: "buckets.db").path))
    }

    /// A variable with its value, and what is said about it.
    private static let refused = [
        ("POWERSYNC_CONFIG_PATH", "/nowhere/a.yaml", "which POWERSYNC_CONFIG_PATH names, does not exist"),
        ("POWERSYNC_CONFIG_B64", "%hunter2%", "POWERSYNC_CONFIG_B64: not base64"),
        ("POWERSYNC_CONFIG_B64", "/w==", "POWERSYNC_CONFIG_B64: what is in base64 is not UTF-8"),
        ("POWERSYNC_CONFIG_B64", base64("port: 5"), "POWERSYNC_CONFIG_B64:1: replication: missing"),
    ]

    @Test(arguments: refused)
    func errorsNameTheVariable(variable: String, value: String, message: String) {
        let location = ConfigurationLocation(argument: nil, environment: [variable: value])
        let error = #expect(throws: ServiceError.self) { try location.read() }
        #expect(error?.code == .invalidConfiguration)
        #expect(error.map { "\($0)".contains(message) && !"\($0)".contains("hunter2") } == true, "\(error as Any)")
    }

    // MARK: Sync config

    private static func read(
        _ environment: [String: String],
        syncConfig: String = "{path: sync.yaml}"
    ) throws
        -> ServiceConfiguration
    {
        let yaml = Self.yaml(port: 9000, syncConfig: syncConfig)
        return try ServiceConfiguration(yaml: yaml, file: "/etc/ps/service.yaml", environment: environment)
    }

    @Test(arguments: ["POWERSYNC_SYNC_CONFIG_B64", "POWERSYNC_SYNC_RULES_B64"])
    func theSyncConfigOfTheEnvironmentCountsMoreThanThatOfTheFile(_ variable: String) throws {
        let text = "config: {edition: 3}\nstreams: {}"
        let environment = [variable: Self.base64(text)]
        for syncConfig in ["{path: sync.yaml}", "{content: 'streams: 5'}", ""] {
            let configuration = try Self.read(environment, syncConfig: syncConfig)
            let read = try #require(try configuration.readSyncConfigText())
            #expect(read.text == text && read.file == variable)
            // It is not there to be watched.
            #expect(SyncConfigFile(of: configuration, serviceFile: "a.yaml", environment: environment) == nil)
        }
        #expect(try Self.read([variable: ""]).syncConfig == .file("/etc/ps/sync.yaml"))
    }

    @Test func aConfigInAVariableIsNotWatched() throws {
        let configuration = try Self.read([:], syncConfig: "{content: 'streams: {}'}")
        #expect(SyncConfigFile(of: configuration, serviceFile: nil, environment: [:]) == nil)
    }

    @Test func errorsOfTheSyncConfigNameTheVariable() {
        let text = Self.base64("streams: {}")
        let broken = #expect(throws: ServiceError.self) { try Self.read(["POWERSYNC_SYNC_CONFIG_B64": "-"]) }
        #expect(broken?.file == "POWERSYNC_SYNC_CONFIG_B64")
        let both = #expect(throws: ServiceError.self) {
            try Self.read(["POWERSYNC_SYNC_CONFIG_B64": text, "POWERSYNC_SYNC_RULES_B64": text])
        }
        #expect(
            both.map { "\($0)" } == "POWERSYNC_SYNC_RULES_B64: an alias of POWERSYNC_SYNC_CONFIG_B64; set one of them"
        )
    }
}
