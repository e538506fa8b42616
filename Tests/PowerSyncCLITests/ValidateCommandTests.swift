import ArgumentParser
import Foundation
import PowerSyncServiceCore
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncCLI

/// What `powersync validate` asks the source of `--source` or `--config`, which need not be there.
@Suite struct ValidateCommandTests {
    /// A folder with a sync config, and a service configuration with the source of the tests.
    private static func folder(
        _ table: String,
        replication: String = "{type: model, tables: [lists]}"
    ) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        let config = "config: {edition: 3}\nstreams: {a: {auto_subscribe: true, query: 'SELECT * FROM \(table)'}}\n"
        try config.write(toFile: folder.path("sync.yaml"), atomically: true, encoding: .utf8)
        let service = """
            replication: {connections: [\(replication)]}
            storage: {type: \(replication.contains("model") ? "model" : "sqlite, path: buckets.db")}
            sync_config: {path: sync.yaml}
            client_auth: {audience: [a]}
            """
        try service.write(toFile: folder.path("service.yaml"), atomically: true, encoding: .utf8)
        return folder
    }

    /// The diagnostics of a run, as `CODE: MESSAGE`.
    private static func diagnostics(_ arguments: [String]) async throws -> [String] {
        try await CommandModules.$current.withValue(
            Modules(sources: [ModelSourceModule.self], storages: [ModelStorageModule.self])
        ) {
            let command = try ValidateCommand.parse(arguments)
            return try await command.check().result.diagnostics.map { "\($0.code): \($0.message)" }
        }
    }

    @Test(
        arguments: [
            ("\"list_%\"", "A model has no patterns such as “list_%”; name each table."),
            (
                "\"m%\".lists",
                "A model has one schema, and no pattern for schemas such as “m%.lists”; write the table alone."
            ),
        ]
    )
    func whatTheSourceCannotDoIsAnError(table: String, sentence: String) async throws {
        let folder = try Self.folder(table)
        for arguments in [["--config", folder.path("service.yaml")], ["--source", "model:lists"]] {
            let found = try await Self.diagnostics([folder.path("sync.yaml")] + arguments)
            #expect(found.contains { $0.contains(sentence) && $0.contains("PSYNC_R2201") }, "\(arguments): \(found)")
        }
        // Without a source nothing is known of it.
        #expect(try await Self.diagnostics([folder.path("sync.yaml")]).allSatisfy { !$0.contains(sentence) })
    }

    /// The log of a MySQL server has all schemas, and tables are looked for in those that are named.
    @Test func schemasOfMySQLAreNamed() async throws {
        for (table, isRefused) in [("\"a%\".t", true), ("a.\"t%\"", false), ("t", false)] {
            let folder = try Self.folder(table, replication: "{type: mysql, uri: 'mysql://u:p@127.0.0.1:1/app'}")
            let command = try ValidateCommand.parse([folder.path("sync.yaml"), "--config", folder.path("service.yaml")])
            let found = try await command.check().result.diagnostics.map { "\($0.code): \($0.message)" }
            let sentence = "is read for schemas that are named: write the schema, or leave it out for app"
            #expect(found.contains { $0.contains(sentence) && $0.contains("PSYNC_R2201") } == isRefused, "\(found)")
        }
    }

    @Test func whatTheSourceCanDoIsNone() async throws {
        let folder = try Self.folder("lists")
        for arguments in [["--config", folder.path("service.yaml")], ["--source", "model:lists"]] {
            let found = try await Self.diagnostics([folder.path("sync.yaml")] + arguments)
            #expect(found.allSatisfy { !$0.contains("PSYNC_R2201") }, "\(found)")
        }
    }

    @Test func bucketDefinitionsHaveANoteThatIsNoWarning() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("old config.yaml")
        let yaml = "# Ours\nbucket_definitions:\n  lists: {data: [SELECT * FROM lists]}\n"
        try yaml.write(toFile: path, atomically: true, encoding: .utf8)
        let result = try await ValidateCommand.parse([path]).check().result
        #expect(result.diagnostics.isEmpty)
        let notes = try #require(ValidateCommand.notes(result, file: path))
        #expect(notes.map { [$0.line, $0.column] } == [[3, 3]])
        #expect(notes.first?.message.hasSuffix(": powersync convert '\(path)'") == true)
        // Streams have none, nor has what cannot be deployed anyway.
        for yaml in ["config: {edition: 3}\nstreams: {}\n", "bucket_definitions: {a: {data: [SELECT]}}\n"] {
            #expect(ValidateCommand.notes(SyncConfig.parse(yaml), file: path) == nil)
        }
    }

    @Test func aUserNeedsASource() {
        #expect(throws: (any Error).self) { try ValidateCommand.parse(["sync.yaml", "--as", "u1"]) }
        #expect(throws: Never.self) {
            try ValidateCommand.parse(["sync.yaml", "--as", "u1", "--config", "service.yaml"])
        }
    }
}
