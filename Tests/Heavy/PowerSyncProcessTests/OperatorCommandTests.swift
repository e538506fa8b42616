import Foundation
import PostgresTestSupport
import TestSupport
import Testing

/// The commands of operators as people and scripts run them (docs/operating.md).
@Suite(.timeLimit(.minutes(3))) struct OperatorCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try write(source: "{type: embedded, path: source.db, tables: [CREATE TABLE lists (id TEXT PRIMARY KEY)]}")
    }

    private func write(source: String, more: String = "") throws {
        let file = folder.path("powersync.yaml")
        try """
        replication: {connections: [\(source)]}
        storage: {type: sqlite, path: data/buckets.db}
        sync_config: {content: "{config: {edition: 3}, streams: {s: {query: SELECT * FROM lists}}}"}
        client_auth: {audience: [a], jwks: {keys: [{kty: oct, alg: HS256, kid: k, k: aW50ZXJvcC10ZXN0LWtleS0wMTIzNDU2Nzg5YWJjZGVm}]}}
        host: 127.0.0.1
        port: \(FreePort.take())
        \(more)
        """.write(toFile: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    }

    private func run(_ arguments: String..., environment: [String: String] = [:]) async throws -> CommandRun {
        try await CommandRun(arguments, in: folder, environment: environment)
    }

    // MARK: doctor

    @Test func doctorExitsWith0WhenNothingIsWrong() async throws {
        let run = try await run("doctor")
        #expect(run.status == 0, "\(run)")
        #expect(run.text.hasPrefix("ok       configuration  powersync.yaml: the file can be used\n"))
        #expect(run.text.hasSuffix("\nNothing is wrong."))
        // It has made nothing.
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("")) == ["powersync.yaml"])
    }

    @Test func doctorExitsWith1AndSaysWhatServeSays() async throws {
        try write(source: "{type: embedded, path: source.db}", more: "tls: {certificate: c.pem, private_key: k.pem}")
        let doctor = try await run("doctor", "--json")
        let serve = try await run("serve")
        #expect(doctor.status == 1, "\(doctor)")
        #expect(serve.status == 1, "\(serve)")
        let report = try JSONSerialization.jsonObject(with: Data(doctor.text.utf8)) as? [String: Any]
        #expect(report?["errors"] as? Int == 1)
        let findings = report?["findings"] as? [[String: Any]]
        let error = findings?.first { $0["level"] as? String == "error" }
        #expect(error?["place"] as? String == "tls.certificate")
        let message = try #require(error?["message"] as? String)
        #expect(serve.errors.contains("tls.certificate: \(message)"), "\(serve.errors)")
    }

    @Test func doctorWithoutAFileLooksAtTheServiceOnly() async throws {
        try FileManager.default.removeItem(atPath: folder.path("powersync.yaml"))
        let away = try await run("doctor", "--service", "http://127.0.0.1:1")
        #expect(away.status == 1)
        #expect(away.text.hasPrefix("error    service        http://127.0.0.1:1: does not answer"), "\(away.text)")
        let missing = try await run("doctor")
        #expect(missing.status == 1)
        #expect(
            missing.text.hasPrefix("error    configuration  powersync.yaml: the service configuration does not exist")
        )
        #expect(try await run("doctor", "--token", "x").status == 64)
    }

    // MARK: migrate

    @Test func aStorageIsMadeByMigrateOnlyWhenServeMayNot() async throws {
        try write(
            source: "{type: embedded, path: source.db}",
            more: "migrations: {disable_auto_migration: true}"
        )
        let serve = try await run("serve")
        #expect(serve.status == 1)
        #expect(serve.errors.contains("Run: powersync migrate"), "\(serve.errors)")
        let check = try await run("migrate", "--check")
        #expect(check.status == 1)
        #expect(check.text.contains("nothing is stored, would become version 1"), "\(check.text)")
        #expect(!FileManager.default.fileExists(atPath: folder.path("data/buckets.db")))
        let migration = try await run("migrate")
        #expect(migration.status == 0)
        #expect(migration.text.contains("now version 1"))
        let again = try await run("migrate", "--check")
        #expect(again.status == 0)
        #expect(again.text.hasSuffix("version 1, there is nothing to do"))
        #expect(try await run("doctor").status == 0)
    }

    // MARK: teardown

    @Test func teardownNeedsTheWord() async throws {
        #expect(try await run("migrate").status == 0)
        for word in [[], ["teardown"]] {
            let asked = try await CommandRun(["teardown"] + word, in: folder)
            #expect(asked.status == 1)
            #expect(asked.text.contains("data/buckets.db, with everything in it"), "\(asked.text)")
            #expect(asked.errors.contains("[PSYNC_S0102]"))
        }
        #expect(FileManager.default.fileExists(atPath: folder.path("data/buckets.db")))
        let done = try await run("teardown", "TEARDOWN")
        #expect(done.status == 0, "\(done)")
        #expect(done.text.hasSuffix("Everything is gone."))
        #expect(!FileManager.default.fileExists(atPath: folder.path("data/buckets.db")))
        let again = try await run("teardown", "TEARDOWN")
        #expect(again.status == 1)
        #expect(again.errors.contains("There is no bucket storage at"))
    }

    // MARK: slots

    @Test func slotsWithoutAStreamAreListedAndDropped() async throws {
        let database = try TestDatabase("CREATE TABLE lists (id text PRIMARY KEY)")
        let prefix = "\(database.name)_"
        try write(source: "{type: postgresql, uri: !env PS_URI, sslmode: disable, slot_name_prefix: \(prefix)}")
        let environment = ["PS_URI": database.uri]
        let none = try await run("slots", environment: environment)
        #expect(none.status == 0, "\(none)")
        try database.run("SELECT pg_create_logical_replication_slot('\(prefix)old', 'pgoutput')")
        let listed = try await run("slots", "--format", "json", environment: environment)
        #expect(listed.status == 1)
        let slots =
            (try JSONSerialization.jsonObject(with: Data(listed.text.utf8)) as? [String: Any])?["slots"]
            as? [[String: Any]]
        #expect(slots?.map { $0["name"] as? String } == ["\(prefix)old"])
        #expect(slots?.first?["isUnused"] as? Bool == true)

        // Without a storage, nobody knows whose it is.
        let refused = try await run("slots", "--drop", environment: environment)
        #expect(refused.status == 1)
        #expect(refused.errors.contains("powersync slots --drop \(prefix)old"), "\(refused)")
        let wrong = try await run("slots", "--drop", "\(prefix)other", environment: environment)
        #expect(wrong.status == 1)
        #expect(wrong.errors.contains("is not one of the unused slots"))
        let dropped = try await run("slots", "--drop", "\(prefix)old", environment: environment)
        #expect(dropped.status == 0, "\(dropped)")
        #expect(dropped.text.hasSuffix("Dropped: \(prefix)old"))
        #expect(try await run("slots", environment: environment).status == 0)
        #expect(try await run("slots", environment: ["PS_URI": "postgresql://a@127.0.0.1:1/b"]).status == 2)
    }
}
