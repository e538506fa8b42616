import Foundation
import NIOCore
import PowerSyncProtocol
import PowerSyncServiceCore
import TestSupport
import Testing

@testable import PowerSyncMySQLConnection
@testable import PowerSyncServiceMySQL

/// Reading a connection of the type `mysql` (docs/mysql.md "Configuration").
@Suite struct MySQLSettingsTests {
    /// Reads lines of YAML as a connection.
    private static func read(_ yaml: String) throws -> (settings: MySQLSettings?, document: YAMLSection.Document) {
        let document = YAMLSection.Document(file: "/etc/ps/service.yaml", environment: [:])
        var section = try YAMLSection(yaml: yaml, document: document)
        return (MySQLSettings(&section), document)
    }

    private static func settings(_ yaml: String) throws -> MySQLSettings {
        let (settings, document) = try read(yaml)
        #expect(document.findings.error == nil)
        return try #require(settings)
    }

    @Test func aURIIsEnough() throws {
        let (settings, document) = try Self.read("uri: mysql://powersync:secret@db.example.com/app")
        let connection = try #require(settings).connection()
        #expect(connection.host == "db.example.com")
        #expect(connection.port == 3306)
        #expect(connection.username == "powersync")
        #expect(connection.password == "secret")
        #expect(connection.database == "app")
        #expect(connection.connectTimeout == .seconds(10))
        guard case .verifyFull(let tls) = connection.tls else {
            Issue.record("the certificate is not checked")
            return
        }
        #expect(tls == .init())
        #expect(document.findings.warnings.isEmpty)
    }

    @Test func partsWinOverTheURI() throws {
        let connection = try Self.settings(
            """
            uri: mysql://a:b@c:1/d?sslmode=disable
            hostname: host
            port: 3307
            username: user
            password: word
            database: base
            sslmode: verify-ca
            tls_servername: name
            connect_timeout: 3
            """
        ).connection()
        #expect(connection.host == "host")
        #expect(connection.port == 3307)
        #expect(connection.username == "user")
        #expect(connection.password == "word")
        #expect(connection.database == "base")
        #expect(connection.connectTimeout == .seconds(3))
        guard case .verifyCA(let tls) = connection.tls else {
            Issue.record("another mode")
            return
        }
        #expect(tls.serverName == "name")
    }

    @Test func numbersAndSwitchesHaveDefaults() throws {
        let settings = try Self.settings("uri: mysql://a:b@localhost/d?sslmode=disable")
        #expect(settings.serverID == 0)
        #expect(settings.maximumPoolSize == 8)
        #expect(settings.heartbeatInterval == .seconds(60))
        #expect(settings.binlogQueueMemoryLimit == 52_428_800)
        #expect(settings.copiesAfterAlter)
        #expect(!settings.ignoresForeignKeyCascades)
        let others = try Self.settings(
            """
            uri: mariadb://a:b@localhost/d?connectTimeout=2500&connectionLimit=4
            server_id: 4294967288
            heartbeat_interval_seconds: 5
            binlog_queue_memory_limit: 10
            copy_after_alter: false
            ignore_foreign_key_cascades: true
            """
        )
        #expect(others.serverID == 4_294_967_288)
        #expect(others.maximumPoolSize == 4)
        #expect(others.connectTimeout == .milliseconds(2500))
        #expect(others.heartbeatInterval == .seconds(5))
        #expect(others.binlogQueueMemoryLimit == 10_485_760)
        #expect(!others.copiesAfterAlter)
        #expect(others.ignoresForeignKeyCascades)
    }

    @Test func certificatesAreTextOrFiles() throws {
        let folder = try TemporaryFolder()
        let pem = "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n"
        let file = folder.url.appending(path: "ca.pem")
        try Data(pem.utf8).write(to: file)
        let connection = try Self.settings(
            """
            uri: mysql://a:b@c/d
            cacert: \(file.path)
            client_certificate: "-----BEGIN CERTIFICATE-----x"
            client_private_key: "-----BEGIN PRIVATE KEY-----y"
            """
        ).connection()
        guard case .verifyFull(let tls) = connection.tls else {
            Issue.record("the certificate is not checked")
            return
        }
        #expect(tls.authority == pem)
        #expect(tls.clientCertificate == "-----BEGIN CERTIFICATE-----x")
        #expect(tls.clientKey == "-----BEGIN PRIVATE KEY-----y")
    }

    @Test func rejectedAddressesAreNotConnectedTo() throws {
        let connection = try Self.settings("uri: mysql://a:b@c/d\nreject_ip_ranges: [local, 203.0.113.0/24]")
            .connection()
        for (address, isAllowed) in [("127.0.0.1", false), ("203.0.113.7", false), ("198.51.100.1", true)] {
            #expect(try connection.allows(SocketAddress(ipAddress: address, port: 3306)) == isAllowed)
        }
    }

    @Test(arguments: [
        ("uri: 'postgresql://u:p@h/d'", "uri", "begins with postgresql://", "PSYNC_S1109"),
        ("uri: 'mysql://u:a@b@h/d'", "uri", "write %40 for each @", "PSYNC_S1109"),
        ("uri: 'mysql://u:[YOUR-PASSWORD]@h/d'", "uri", "its password is a placeholder", nil),
        ("uri: 'mysql://u:p@h:x/d'", "uri", "the port is not a number", "PSYNC_S1110"),
        ("uri: 'mysql://u:p@h/d?sslmode=preferred'", "uri", "verify-full, verify-ca, disable", nil),
        ("uri: 'mysql://u:p@h/d'\nsslmode: require", "sslmode", "verify-full, verify-ca, disable", nil),
        ("username: u\npassword: p\ndatabase: d", "hostname", "missing", "PSYNC_S1106"),
        ("hostname: h\npassword: p\ndatabase: d", "username", "missing", "PSYNC_S1107"),
        ("hostname: h\nusername: u\ndatabase: d", "password", "missing", "PSYNC_S1108"),
        ("hostname: h\nusername: u\npassword: p", "database", "missing", "PSYNC_S1105"),
        (
            "hostname: 'mysql://u:p@h/d'\nusername: u\npassword: p\ndatabase: d", "hostname", "write it as uri",
            "PSYNC_S1109"
        ),
        ("hostname: 'u:p@h'\nusername: u\npassword: p\ndatabase: d", "hostname", "write it as uri", "PSYNC_S1109"),
        ("uri: mysql://u:p@h/d\nport: 0", "port", "between 1 and 65535", "PSYNC_S1110"),
        ("uri: mysql://u:p@h/d\nserver_id: 4294967289", "server_id", "between 0 and 4294967288", nil),
        ("uri: mysql://u:p@h/d\nheartbeat_interval_seconds: 61", "heartbeat_interval_seconds", "between 5 and 60", nil),
        ("uri: mysql://u:p@h/d\ncacert: nowhere.pem", "cacert", "cannot be read; give PEM", nil),
        ("uri: mysql://u:p@h/d\nclient_certificate: /dev/null", "client_private_key", "or none of them", nil),
        ("uri: mysql://u:p@h/d\nreject_ip_ranges: [10.0.0.0/40]", "reject_ip_ranges", "not an address range", nil),
        ("uri: mysql://u:p@h/d\npublication: x", "publication", "unknown key", nil),
    ])
    func whatIsWrongIsSaidAtItsKey(_ yaml: String, _ key: String, _ message: String, _ code: String?) throws {
        let (settings, document) = try Self.read(yaml)
        let error = try #require(document.findings.error)
        #expect(error.key?.hasSuffix(key) == true)
        #expect(error.message.contains(message), "\(error.message)")
        #expect(error.line != nil)
        if let code { #expect(error.catalogueCode?.rawValue == code) }
        _ = settings
    }

    @Test(arguments: [
        (
            "uri: mysql://u:p@db.example.com/d?sslmode=disable",
            "uri: its parameter sslmode: \"disable\" encrypts nothing"
        ),
        ("uri: mysql://u:p@db.example.com/d\nsslmode: disable", "sslmode: \"disable\" encrypts nothing"),
        ("uri: mysql://u:p@h/d?charset=utf8mb4", "its parameter charset has no effect"),
    ])
    func whatIsNotSafeOrHasNoEffectIsAWarning(_ yaml: String, _ warning: String) throws {
        let (settings, document) = try Self.read(yaml)
        #expect(settings != nil)
        #expect(document.findings.warnings.contains { $0.contains(warning) }, "\(document.findings.warnings)")
    }

    @Test(arguments: ["localhost", "127.0.0.1", "[::1]"])
    func thisMachineNeedsNoEncryption(_ host: String) throws {
        let (_, document) = try Self.read("uri: 'mysql://u:p@\(host)/d?sslmode=disable'")
        #expect(document.findings.warnings.isEmpty)
    }

    @Test func nothingSecretIsPrinted() throws {
        let settings = try Self.settings("uri: mysql://me:hunter2@db.example.com:3307/app")
        #expect("\(settings)" == "MySQL app at db.example.com:3307 as me")
        var dumped = ""
        dump(settings, to: &dumped)
        #expect(!"\(String(reflecting: settings)) \(dumped)".contains("hunter2"))
        #expect(settings.secrets == ["hunter2", "hunter2"])
    }
}
