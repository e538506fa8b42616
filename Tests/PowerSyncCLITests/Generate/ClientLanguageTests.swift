import Foundation
import PowerSyncSyncConfig
import Testing

@testable import PowerSyncGenerator

/// Code for clients in other languages: the files of `Tests/Fixtures/Generate`, which were generated.
@Suite struct ClientLanguageTests {
    private static let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
    private static let folder = "Tests/Fixtures/Generate"
    private static let files: [(ClientLanguage, String)] = [
        (.typescript, "synced.ts"), (.kotlin, "Synced.kt"), (.dart, "synced.dart"),
    ]

    private static func model() throws -> ClientModel {
        let tables = try DeclaredTable.all(in: root.appending(path: "\(folder)/schema.sql").path)
        let yaml = try String(contentsOf: root.appending(path: "\(folder)/sync.yaml"), encoding: .utf8)
        return try ClientModel(try #require(SyncConfig.parse(yaml).plan), source: DeclaredSource(tables))
    }

    @Test(arguments: files)
    func theFileIsWhatIsGenerated(_ language: ClientLanguage, _ file: String) throws {
        var options = ClientCode.Options()
        options.inputs = ["sync.yaml", "schema.sql"]
        options.packageName = language == .kotlin ? "com.example.todos" : nil
        let packageWords = language == .kotlin ? " --package com.example.todos" : ""
        options.command = """
            powersync generate \(language) \(Self.folder)/sync.yaml --schema \(Self.folder)/schema.sql --output \
            \(Self.folder)/\(file)\(packageWords)
            """
        let generated = try language.text(of: Self.model(), options)
        let path = Self.root.appending(path: "\(Self.folder)/\(file)")
        let difference = TextDifference(from: try String(contentsOf: path, encoding: .utf8), to: generated)
        #expect(difference?.lines == nil, "run: \(options.command)")
    }

    /// Names that a language has for itself, and texts with what it reads in literals.
    @Test func namesAndTextsAreThoseOfTheLanguage() throws {
        let plan = try #require(
            SyncConfig.parse(
                """
                config: {edition: 3}
                streams:
                  "it's $x":
                    query: SELECT * FROM t WHERE "when" = subscription.parameter('is') AND n = subscription.parameter('database')
                """
            ).plan
        )
        let source = DeclaredSource(
            try DeclaredTable.all(madeBy: "CREATE TABLE t(id TEXT, \"when\" INT NOT NULL, n INT)")
        )
        let model = try ClientModel(plan, source: source)
        func text(_ language: ClientLanguage) throws -> String { try language.text(of: model, ClientCode.Options()) }
        #expect(try text(.typescript).contains(#"database.syncStream('it\'s $x', parameters)"#))
        #expect(try text(.typescript).contains("parameters: { database: number; is: number }"))
        #expect(try text(.kotlin).contains(#""it's \$x""#))
        #expect(try text(.kotlin).contains("val `when`: Long,"))
        #expect(try text(.kotlin).contains("`is`: Long,") && text(.kotlin).contains("database_: Long,"))
        #expect(try text(.dart).contains(#"database.syncStream('it\'s \$x', {"#))
        #expect(try text(.dart).contains("required int is_,") && text(.dart).contains("'is': is_,"))
    }
}
