import Foundation
import PowerSyncServiceCore
import PowerSyncServicePostgres
import Testing

@testable import PowerSyncService

/// Reading a storage of the type `postgresql` (docs/postgres-storage.md "Configuration").
@Suite struct StorageSettingsTests {
    private static func read(_ storage: String) throws -> ServiceConfiguration {
        try ServiceConfiguration(
            yaml: """
                replication: {connections: [{type: postgresql, uri: postgresql://a@b/c, sslmode: disable}]}
                storage: {type: postgresql, \(storage)}
                sync_config: {content: "streams: {}"}
                """,
            file: "/etc/ps/service.yaml",
            environment: ["PS_STORAGE_URI": "postgresql://user:word@storage.example.com/buckets?sslmode=disable"]
        )
    }

    @Test func storageIsAServerLikeASource() throws {
        let configuration = try Self.read("uri: !env PS_STORAGE_URI, max_pool_size: 3, schema: other")
        guard let module = configuration.storage.module as? PostgresStorageModule else {
            Issue.record("not a PostgreSQL storage")
            return
        }
        let settings = module.settings
        #expect(module.schema == "other")
        #expect(settings.maximumPoolSize == 3)
        #expect(settings.description == "PostgreSQL buckets at storage.example.com:5432 as user")
        #expect(configuration.files.isEmpty)
        #expect(try settings.connectionString().keywords?.contains { $0.name == "host" } == true)
    }

    @Test(
        arguments: [
            ("uri: postgresql://u@h/d, sslmode: disable, schema: Upper", "schema", "lower case"),
            ("uri: postgresql://u@h/d, sslmode: disable, schema: pg_mine", "schema", "lower case"),
            ("uri: postgresql://u@h/d, sslmode: disable, schema: 1st", "schema", "lower case"),
            ("username: u, database: d", "hostname", "missing"),
            ("uri: postgresql://u@h/d, max_pool_size: 0", "max_pool_size", "between 1 and 1000"),
        ]
    )
    func errorsNameKeyAndRemedy(storage: String, key: String, message: String) {
        let error = #expect(throws: ServiceError.self) { try Self.read(storage) }
        #expect(error?.key == "storage.\(key)")
        #expect(error?.line == 2)
        #expect(error?.message.contains(message) == true, "\(String(describing: error))")
    }

    @Test func errorsInCodeNameTheStorage() throws {
        var settings = PostgresSettings(uri: "postgresql://u@h/d")
        settings.caCertificate = "/nowhere.pem"
        let storage = ServiceConfiguration.Storage.postgresql(settings)
        guard let stored = (storage.module as? PostgresStorageModule)?.settings else { return }
        let error = #expect(throws: ServiceError.self) { try stored.connectionString() }
        #expect(error?.key == "storage.cacert")
    }

    @Test func certificatesOfOtherConnectionsStayWhatTheyAre() throws {
        func pem(_ text: String) -> String {
            #""-----BEGIN CERTIFICATE-----\n\#(text)\n-----END CERTIFICATE-----\n""#
        }
        func certificate(_ settings: PostgresSettings) throws -> String {
            let keywords = try #require(try settings.connectionString().keywords)
            return try #require(keywords.first { $0.name == "sslrootcert" }?.value)
        }
        let source = try PostgresSettingsTests.settings("uri: postgresql://u@h/d, cacert: \(pem("b25l"))")
        let file = try certificate(source)
        let before = (try Data(contentsOf: URL(filePath: file)), FileStamp(path: file))
        // As when a file is read again which has the sync config, too.
        let configuration = try Self.read("uri: postgresql://u@h/d, cacert: \(pem("dHdv"))")
        _ = try PostgresSettingsTests.settings("uri: postgresql://u@h/d, cacert: \(pem("b25l"))")
        guard let storage = (configuration.storage.module as? PostgresStorageModule)?.settings else {
            Issue.record("not a PostgreSQL storage")
            return
        }
        #expect(try certificate(storage) != file)
        #expect(try Data(contentsOf: URL(filePath: file)) == before.0)
        #expect(FileStamp(path: file) == before.1)
        #expect(try certificate(source) == file)
    }

    @Test(arguments: ["unified", "api", "sync"]) func rolesHaveNames(_ name: String) {
        #expect(ServiceConfiguration.Role(name)?.description == name)
        #expect(ServiceConfiguration.Role(name.uppercased()) == nil)
    }

    @Test func filesAreNotShared() throws {
        var configuration = try Self.read("uri: postgresql://u@h/d, sslmode: disable")
        configuration.role = .sync
        try configuration.checkRole()
        configuration.storage = .sqlite(path: "buckets.db")
        #expect(throws: ServiceError.self) { try configuration.checkRole() }
        configuration.role = .unified
        try configuration.checkRole()
        configuration.storage = .postgresql(PostgresSettings(uri: "postgresql://u@h/d"))
        configuration.source = .embedded(path: "source.db", statements: [])
        try configuration.checkRole()
        configuration.role = .api
        #expect(throws: ServiceError.self) { try configuration.checkRole() }
    }
}
