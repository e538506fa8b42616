import Foundation
import PowerSyncServiceCore
import PowerSyncServicePostgres
import RunningServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService

/// Reading a connection of the type `postgresql` (docs/postgres.md "Configuration").
@Suite struct PostgresSettingsTests {
    private static func read(
        _ connection: String,
        _ environment: [String: String] = [:]
    ) throws -> (settings: PostgresSettings, warnings: [String]) {
        let yaml = RefusedConnection.yaml(connection)
        let configuration = try ServiceConfiguration(yaml: yaml, file: "/etc/ps/service.yaml", environment: environment)
        guard let settings = (configuration.source.module as? PostgresSourceModule)?.settings else {
            Issue.record("not a PostgreSQL source")
            throw CancellationError()
        }
        return (settings, configuration.warnings)
    }

    /// The settings of a connection.
    static func settings(_ connection: String) throws -> PostgresSettings { try read(connection).settings }

    private static func keywords(_ connection: String, _ environment: [String: String] = [:]) throws -> [String: String]
    {
        let string = try read(connection, environment).settings.connectionString()
        return Dictionary(try #require(string.keywords).map { ($0.name, $0.value) }) { $1 }
    }

    @Test func singleFieldsMakeAConnection() throws {
        let keywords = try Self.keywords(
            "hostname: db.example.com, port: 6543, username: powersync, password: !env PS_PASSWORD, database: app, sslmode: disable",
            ["PS_PASSWORD": #"it's a \ secret"#]
        )
        #expect(
            keywords == [
                "host": "db.example.com", "port": "6543", "user": "powersync", "password": #"it's a \ secret"#,
                "dbname": "app", "sslmode": "disable",
            ]
        )
    }

    @Test func aURIMayHaveEverything() throws {
        let keywords = try Self.keywords(
            "uri: !env PS_URI",
            ["PS_URI": "postgresql://power%40sync:a%27b%2F@db.example.com:6543/app?sslmode=require"]
        )
        #expect(
            keywords == [
                "host": "db.example.com", "port": "6543", "user": "power@sync", "password": "a'b/", "dbname": "app",
                "sslmode": "require",
            ]
        )
    }

    @Test func singleFieldsReplaceThoseOfTheURI() throws {
        let keywords = try Self.keywords(
            "uri: postgresql://a:b@c:1/d?sslmode=require, hostname: host, port: 2, username: user, password: word, database: base, "
                + "sslmode: disable"
        )
        #expect(
            keywords == [
                "host": "host", "port": "2", "user": "user", "password": "word", "dbname": "base", "sslmode": "disable",
            ]
        )
    }

    @Test func certificatesAreFilesOrText() throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "ca.pem")
        try Data("x".utf8).write(to: file)
        let pem = "-----BEGIN CERTIFICATE-----\\nYQ==\\n-----END CERTIFICATE-----\\n"
        let keywords = try Self.keywords(
            """
            uri: postgresql://a@c/d, cacert: \(file.path), client_certificate: "\(pem)", client_private_key: "\(pem)"
            """
        )
        #expect(keywords["sslmode"] == "verify-full")
        #expect(keywords["sslrootcert"] == file.path)
        let key = try #require(keywords["sslkey"])
        #expect(
            try String(contentsOf: URL(filePath: key), encoding: .utf8).hasPrefix("-----BEGIN CERTIFICATE-----\nYQ==")
        )
        // libpq refuses keys that others can read.
        let permissions = try FileManager.default.attributesOfItem(atPath: key)[.posixPermissions] as? NSNumber
        #expect(permissions?.intValue == 0o600)
        #expect(keywords["sslcert"] != nil && keywords["sslcert"] != key)
    }

    @Test func theNameForTLSMayBeAnotherThanTheAddress() throws {
        let keywords = try Self.keywords(
            "uri: postgresql://a@10.0.0.5/d, sslmode: require, tls_servername: db.example.com"
        )
        #expect(keywords["host"] == "db.example.com")
        #expect(keywords["hostaddr"] == "10.0.0.5")
    }

    @Test func publicationAndPrefixHaveDefaults() throws {
        let (settings, warnings) = try Self.read("uri: postgresql://a@localhost/d, sslmode: disable")
        #expect(settings.publication == "powersync")
        #expect(settings.slotNamePrefix == "powersync_")
        #expect(warnings == [])
        let (other, _) = try Self.read(
            "uri: postgresql://a@c/d, sslmode: disable, publication: app, slot_name_prefix: staging_, id: x, tag: default"
        )
        #expect(other.publication == "app")
        #expect(other.slotNamePrefix == "staging_")
    }

    @Test func numbersAndTimesHaveDefaults() throws {
        let (settings, _) = try Self.read("uri: postgresql://a@c/d, sslmode: disable")
        #expect(settings.maximumPoolSize == 8)
        #expect(settings.heartbeatInterval == .seconds(60))
        #expect(settings.keywords?["connect_timeout"] == nil)
        let (other, warnings) = try Self.read(
            """
            uri: postgresql://a@localhost/d?connect_timeout=7, sslmode: disable, max_pool_size: 3, connect_timeout: 5,
            heartbeat_interval_seconds: 10
            """
        )
        #expect(other.maximumPoolSize == 3)
        #expect(other.heartbeatInterval == .seconds(10))
        #expect(other.keywords?["connect_timeout"] == "5")
        #expect(warnings == [])
    }

    @Test func addressesMayBeRejected() throws {
        let (none, _) = try Self.read("uri: postgresql://a@c/d, sslmode: disable")
        #expect(try none.connectionString().rejectedAddresses == .none)
        let (settings, warnings) = try Self.read(
            "uri: postgresql://a@localhost/d, sslmode: disable, reject_ip_ranges: [local, 203.0.113.0/24]"
        )
        var ranges = AddressRanges.local
        ranges.insert("203.0.113.0/24")
        #expect(try settings.connectionString().rejectedAddresses == ranges)
        #expect(warnings == [])
    }

    @Test func whatHasNoEffectIsAWarning() throws {
        let (_, warnings) = try Self.read("uri: postgresql://a@c/d?pgbouncer=true, sslmode: require, debug_api: true")
        #expect(warnings.count == 3)
        #expect(warnings.contains { $0.contains("connections[0].sslmode: \"require\" does not check who answers") })
        #expect(warnings.contains { $0.contains("connections[0].uri: its parameter pgbouncer has no effect here") })
        #expect(warnings.contains { $0.contains("connections[0].debug_api: no effect here") })
    }

    @Test(arguments: [
        ("uri: !env PS_URI", "require", "uri: its parameter sslmode: \"require\" does not check who answers"),
        ("uri: !env PS_URI", "disable", "uri: its parameter sslmode: \"disable\" encrypts nothing"),
        ("uri: !env PS_URI, hostname: localhost", "require", "uri: its parameter sslmode: \"require\""),
        ("uri: !env PS_URI, sslmode: disable", "verify-full", "sslmode: \"disable\" encrypts nothing"),
        ("uri: !env PS_URI, sslmode: require", "prefer", "sslmode: \"require\" does not check who answers"),
    ])
    func whatIsNotSafeIsAWarningWhoeverSaysSo(_ connection: String, _ mode: String, _ warning: String) throws {
        let uri = "postgresql://me:hunter2@db.example.com/app?sslmode=\(mode)"
        let (_, warnings) = try Self.read(connection, ["PS_URI": uri])
        #expect(warnings.count == 1)
        #expect(warnings.first?.contains("connections[0].\(warning)") == true, "\(warnings)")
        #expect(warnings.first?.contains("hunter2") == false)
    }

    @Test(arguments: [
        "uri: postgresql://a@c/d", "uri: postgresql://a@c/d?sslmode=verify-ca",
        "uri: postgresql://a@c/d?sslmode=require, sslmode: verify-full",
        "uri: postgresql://a@localhost/d?sslmode=disable",
        "uri: 'postgresql://a@127.0.0.1:1,[::1]:2/d', sslmode: disable",
        "uri: postgresql:///d?user=a&host=/run/postgresql&sslmode=disable",
    ])
    func whatIsSafeIsNoWarning(_ connection: String) throws {
        #expect(try Self.read(connection).warnings == [])
    }

    @Test(arguments: ["prefer", "allow", "", "Require"])
    func aURIMayNotLeaveTLSToTheServer(_ mode: String) throws {
        let uri = "postgresql://me:hunter2@db.example.com/app?sslmode=\(mode)"
        let error = #expect(throws: ServiceError.self) { try Self.read("uri: !env PS_URI", ["PS_URI": uri]) }
        #expect(error?.key == "replication.connections[0].uri")
        #expect(error?.line == 1)
        #expect(error?.message.contains("sslmode is not one of verify-full, verify-ca, require, disable") == true)
        #expect(error?.description.contains("hunter2") == false)
        let inCode = #expect(throws: ServiceError.self) { try PostgresSettings(uri: uri).connectionString() }
        #expect(inCode?.key == "replication.connections[0].uri")
        // The key counts more.
        _ = try Self.read("uri: !env PS_URI, sslmode: require", ["PS_URI": uri])
    }

    @Test(arguments: RefusedConnection.all)
    func errorsNameKeyAndRemedy(connection: String, key: String, message: String) throws {
        let error = #expect(throws: ServiceError.self) { try Self.read(connection) }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.file == "/etc/ps/service.yaml")
        #expect(error?.line == 1)
        #expect(error?.key == "replication.connections[0].\(key)")
        #expect(error?.message.contains(message) == true, "\(String(describing: error))")
    }

    @Test func passwordsAreNeverPrinted() throws {
        let (settings, _) = try Self.read(
            "uri: 'postgresql://me:hunter2@db.example.com/app?sslmode=disable', password: hunter3"
        )
        #expect(settings.description == "PostgreSQL app at db.example.com:5432 as me")
        var dumped = "\(settings) \(String(reflecting: settings)) \([settings]) \(try settings.connectionString())"
        dump(settings, to: &dumped)
        dump(ServiceConfiguration.Source.postgresql(settings), to: &dumped)
        dump(try settings.connectionString(), to: &dumped)
        #expect(!dumped.contains("hunter"))
        for connection in ["uri: 'postgresql://me:hunter2%zz@h/d'", "uri: 'postgresql://me:hunter2@h:x/d'"] {
            let error = #expect(throws: ServiceError.self) { try Self.read(connection) }
            #expect(error?.description.contains("hunter") == false)
        }
    }

    @Test func settingsInCodeAreLikeThoseOfAFile() throws {
        var settings = PostgresSettings(host: "h", database: "d", username: "u", password: nil)
        settings.tls = .disable
        let keywords = try #require(try settings.connectionString().keywords)
        #expect(keywords.map(\.name).sorted() == ["dbname", "host", "port", "sslmode", "user"])
    }
}
