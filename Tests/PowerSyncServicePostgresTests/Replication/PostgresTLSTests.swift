import Foundation
import PostgresTestSupport
import TestSupport
import Testing

@testable import PowerSyncServicePostgres

/// Encrypted connections to a server that wants a certificate of its clients (docs/postgres.md "Configuration").
@Suite(.timeLimit(.minutes(1))) struct PostgresTLSTests {
    private let cluster: TestCluster
    private let files: TestCluster.Certificates

    init() throws {
        cluster = try TestCluster(isEncrypted: true)
        files = try #require(cluster.certificates)
    }

    private func settings(_ tls: PostgresSettings.TLSMode? = nil) -> PostgresSettings {
        var settings = PostgresSettings(uri: cluster.namedURI)
        settings.tls = tls
        settings.caCertificate = files.authority
        settings.clientCertificate = files.client
        settings.clientPrivateKey = files.clientKey
        return settings
    }

    /// Whether the connection of settings is encrypted.
    private func isEncrypted(_ settings: PostgresSettings) async throws -> Bool {
        let rows = try await PostgresConnection.open(try settings.connectionString()).query(
            "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
            activity: "asking"
        )
        return rows == [["t"]]
    }

    /// Expects that there is no connection, with an error that says why and has no key.
    private func expectRefusal(_ settings: PostgresSettings, _ text: String) async throws {
        let error = await #expect(throws: PostgresError.self) { _ = try await isEncrypted(settings) }
        #expect(error?.code == .connection)
        #expect(error?.message.contains(text) == true, "\(String(describing: error))")
        #expect(error?.message.contains("PRIVATE KEY") == false)
    }

    @Test(arguments: [nil, .verifyFull, .verifyCA, .require] as [PostgresSettings.TLSMode?])
    func connectionsAreEncrypted(_ tls: PostgresSettings.TLSMode?) async throws {
        #expect(try await isEncrypted(settings(tls)))
    }

    @Test func certificatesMayBeTexts() async throws {
        var settings = settings()
        settings.caCertificate = try String(contentsOfFile: files.authority, encoding: .utf8)
        settings.clientCertificate = try String(contentsOfFile: files.client, encoding: .utf8)
        settings.clientPrivateKey = try String(contentsOfFile: files.clientKey, encoding: .utf8)
        #expect(try await isEncrypted(settings))
    }

    @Test func theNameOfTheServerIsChecked() async throws {
        var settings = settings()
        settings.uri = PostgresConnectionString(cluster.uri)
        try await expectRefusal(settings, "does not match host name")
        settings.tlsServerName = "localhost"
        #expect(try await isEncrypted(settings))
        settings.tlsServerName = nil
        settings.tls = .verifyCA
        #expect(try await isEncrypted(settings))
    }

    @Test func theAuthorityOfTheServerIsChecked() async throws {
        let other = try TestCluster(isEncrypted: true)
        var settings = settings(.verifyCA)
        settings.caCertificate = try #require(other.certificates).authority
        try await expectRefusal(settings, "SSL error")
    }

    @Test func theServerRefusesWhoHasNoCertificateOrIsNotEncrypted() async throws {
        var settings = settings()
        settings.clientCertificate = nil
        settings.clientPrivateKey = nil
        try await expectRefusal(settings, "certificate")
        try await expectRefusal(self.settings(.disable), "pg_hba.conf")
    }

    @Test func copiesAndChangeStreamsAreEncryptedToo() async throws {
        let connection = try await PostgresConnection.open(try settings().connectionString(), for: .replication)
        let rows = try await connection.execute(
            "SELECT ssl, backend_type FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE pid = pg_backend_pid()",
            activity: "asking"
        )
        #expect(rows == [["t", "walsender"]])
    }
}
