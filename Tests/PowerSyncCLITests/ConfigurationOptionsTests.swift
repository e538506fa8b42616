import ArgumentParser
import Foundation
import PowerSyncService
import PowerSyncServiceCore
import Testing

@testable import PowerSyncCLI

/// Commands that other commands print, for people who paste them.
@Suite struct ConfigurationOptionsTests {
    @Test(
        arguments: [
            (nil, "powersync teardown TEARDOWN"),
            ("other.yaml", "powersync teardown TEARDOWN --config other.yaml"),
            ("my service/it's.yaml", #"powersync teardown TEARDOWN --config 'my service/it'\''s.yaml'"#),
        ] as [(String?, String)]
    )
    func commandNamesTheConfiguration(_ file: String?, _ command: String) {
        var options = ConfigurationOptions()
        options.file = file
        #expect(options.command("teardown TEARDOWN") == command)
    }

    @Test(arguments: [
        (["start", "-r", "api"], "powersync.yaml"), (["serve", "--role", "api", "-c", "a.yaml"], "a.yaml"),
        (["start", "-r", "api", "--config-path", "a.yaml"], "a.yaml"),
        (["start", "-r", "api", "-c64", "YQ=="], "--config-base64"),
        (["start", "-r", "api", "--config-base64", "YQ==", "-c", "a.yaml"], "--config-base64"),
    ])
    func optionsOfTheEstablishedService(_ words: [String], _ name: String) throws {
        let command = try #require(try PowerSyncCommand.parseAsRoot(words) as? ServeCommand)
        #expect(command.config.location.name == name)
        #expect(command.process.role.description == "api")
    }

    @Test(arguments: [["start", "-r", "unified"], ["start", "--role", "unified"], ["start"], ["serve"]])
    func startServesAsOneProcess(_ words: [String]) throws {
        let command = try #require(try PowerSyncCommand.parseAsRoot(words) as? ServeCommand)
        #expect(command.process.role == .unified)
        #expect(command.config.location.name == "powersync.yaml")
    }

    @Test func aRoleThatIsNoneNamesThoseThereAre() {
        let error = #expect(throws: (any Error).self) {
            _ = try PowerSyncCommand.parseAsRoot(["start", "-r", "primary"])
        }
        let text = error.map { PowerSyncCommand.message(for: $0) }
        #expect(text?.contains("\"primary\" is not one of unified, api, sync") == true, "\(text ?? "")")
    }

    @Test(arguments: ["-sync64", "--sync-base64"])
    func theSyncConfigMayBeAnArgument(_ option: String) throws {
        let words = ["serve", "-c64", Self.base64(Self.yaml), option, Self.base64("streams: {}")]
        let command = try #require(try PowerSyncCommand.parseAsRoot(words) as? ServeCommand)
        let configuration = try command.config.read()
        #expect(try configuration.readSyncConfigText()?.text == "streams: {}")
        let other = try #require(try PowerSyncCommand.parseAsRoot(Array(words.prefix(3))) as? ServeCommand)
        #expect(try other.config.read().readSyncConfigText()?.text == "streams: {a: {}}")
    }

    @Test func commandsKnowTheDatabasesOfTheirEntryPoint() throws {
        let command = try #require(
            try PowerSyncCommand.parseAsRoot(["serve", "-c64", Self.base64(Self.yaml)]) as? ServeCommand
        )
        let none = Modules(sources: Modules.all.sources, storages: [])
        let error = CommandModules.$current.withValue(none) {
            #expect(throws: ServiceError.self) { try command.config.read() }
        }
        #expect(error?.key == "storage.type")
    }

    private static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    private static let yaml = """
        replication: {connections: [{type: embedded, path: source.db}]}
        storage: {type: sqlite, path: buckets.db}
        sync_config: {content: "streams: {a: {}}"}
        """
}
