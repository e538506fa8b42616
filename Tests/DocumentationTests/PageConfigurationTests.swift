import ArgumentParser
import Foundation
import PostgresTestSupport
import PowerSyncSyncConfig
import PowerSyncService
import TestSupport
import Testing

@testable import PowerSyncCLI

/// Configurations, commands and statements on pages are right: what reads them takes them.
@Suite(.timeLimit(.minutes(1))) struct PageConfigurationTests {
    private static let pages = Result { try Page.all() + [Page(path: "Examples/postgres/README.md")] }

    private static func blocks(in language: String...) throws -> [(page: Page, block: Page.Block)] {
        try pages.get().flatMap { page in
            page.blocks.filter { language.contains($0.language) }.map { (page, $0) }
        }
    }

    // MARK: YAML

    /// The sections that a service configuration needs, for pages that show one of them.
    private static let sections = [
        "replication":
            "replication: {connections: [{type: postgresql, uri: 'postgresql://u@db.abc.supabase.co/postgres'}]}",
        "storage": "storage: {type: sqlite, path: buckets.db}",
        "client_auth": "client_auth: {audience: [a], jwks_uri: https://id.example.com/jwks.json}",
        "sync_config": "sync_config: {path: sync.yaml}",
    ]

    private static func isSyncConfig(_ yaml: String) -> Bool {
        yaml.split(separator: "\n").contains { $0 == "streams:" || $0 == "bucket_definitions:" }
    }

    /// What `!env` finds: an address, or a secret of 33 bytes in base64url.
    private static func value(of variable: String) -> String {
        variable.hasSuffix("_URI") ? "postgresql://powersync@db.example.com/app" : String(repeating: "YWJj", count: 11)
    }

    @Test func configurationsAreRead() throws {
        let folder = try TemporaryFolder()
        let (certificate, authority) = ("certificates/global-bundle.pem", folder.path("authority.pem"))
        try LoopbackCertificates.authority.write(toFile: authority, atomically: true, encoding: .utf8)
        var count = 0
        for (page, block) in try Self.blocks(in: "yaml") {
            let place = "\(page.path):\(block.line)"
            let keys = block.source.split(separator: "\n").compactMap { line in
                line.firstMatch(of: /^(\w+):/).map { String($0.1) }
            }
            // A workflow of somebody else's, and tests of a sync config, which have a page of their own.
            if keys.contains("jobs") || keys.contains("cases") { continue }
            count += 1
            if Self.isSyncConfig(block.source) {
                let errors = SyncConfig.parse(block.source).diagnostics.filter { $0.severity == .error }
                #expect(errors.isEmpty, "\(place): \(errors)")
                continue
            }
            let missing = Self.sections.filter { !keys.contains($0.key) }.map(\.value).sorted()
            let shown = block.source.replacing("<ref>", with: "abc").replacing(certificate, with: authority)
            let yaml = ([shown] + missing).joined(separator: "\n")
            let variables = yaml.matches(of: /!env (\w+)/).map { String($0.1) }
            var environment = Dictionary(variables.map { ($0, Self.value(of: $0)) }) { first, _ in first }
            if yaml.contains("type: mysql") {
                environment = environment.mapValues {
                    $0.replacing("postgresql://powersync@", with: "mysql://powersync:secret@")
                }
            }
            do {
                let configuration = try ServiceConfiguration(yaml: yaml, file: place, environment: environment)
                #expect(configuration.warnings.isEmpty, "\(place): \(configuration.warnings)")
            } catch {
                Issue.record(error, "\(place)")
            }
        }
        #expect(count > 15)
    }

    // MARK: Commands

    @Test func commandsAreUnderstood() throws {
        var count = 0
        for (page, block) in try Self.blocks(in: "sh", "") {
            for words in Self.commands(in: block.text) {
                count += 1
                do {
                    _ = try PowerSyncCommand.parseAsRoot(words)
                } catch {
                    let message = PowerSyncCommand.fullMessage(for: error)
                    Issue.record("\(page.path):\(block.line): powersync \(words): \(message)")
                }
            }
        }
        #expect(count >= 8)
    }

    @Test func scriptsCanBeRead() throws {
        var count = 0
        for (page, block) in try Self.blocks(in: "sh") {
            count += 1
            let shell = Process()
            shell.executableURL = URL(filePath: "/bin/sh")
            shell.arguments = ["-n", "-c", block.source]
            try shell.run()
            shell.waitUntilExit()
            #expect(shell.terminationStatus == 0, "\(page.path):\(block.line)")
        }
        #expect(count > 8)
    }

    /// The words after each `powersync` with which a command begins.
    private static func commands(in text: String) -> [[String]] {
        text.replacing("\\\n", with: " ").split(separator: "\n").compactMap { line in
            var words = Self.words(line.hasPrefix("$ ") ? line.dropFirst(2) : line)
            words = Array(words.drop { $0.wholeMatch(of: /\w+=.*/) != nil })
            guard words.first == "powersync", words.count > 1 else { return nil }
            return Array(words.dropFirst())
        }
    }

    /// The words of a line of a shell up to a comment or another command, without quotes.
    private static func words(_ line: Substring) -> [String] {
        let words = line.matches(of: /'([^']*)'|"([^"]*)"|[^\s'"]+/).map { match in
            String(match.1 ?? match.2 ?? match.0)
        }
        return Array(words.prefix { !$0.hasPrefix("#") && !["|", "&&", "&", ">"].contains($0) })
    }

    // MARK: SQL

    @Test func statementsForAServerAreRun() throws {
        let database = try TestDatabase(
            "CREATE TABLE lists (id text PRIMARY KEY); CREATE TABLE todos (id text PRIMARY KEY)"
        )
        try database.run("DROP PUBLICATION powersync")
        let role = "role_\(database.name)"
        defer { _ = try? database.run("DROP OWNED BY \(role); DROP ROLE \(role)") }
        try database.run("CREATE ROLE \(role)")
        var count = 0
        for (page, block) in try Self.blocks(in: "sql") where page.path.contains("ostgre") {
            // Settings of the whole server cannot be taken back; its roles are shared with other tests.
            let statements = block.text.split(separator: "\n")
                .filter { !$0.hasPrefix("ALTER SYSTEM") && !$0.hasPrefix("CREATE ROLE") }
                .joined(separator: "\n").replacing("TO powersync", with: "TO \(role)")
            guard !statements.isEmpty else { continue }
            count += 1
            #expect(throws: Never.self, "\(page.path):\(block.line)") {
                try database.run("BEGIN; \(statements); ROLLBACK")
            }
        }
        #expect(count >= 3)
    }
}
