import Foundation
import GRDB
import IntegrationTestSupport
import PowerSync
import PowerSyncService
import TestSupport
import Testing

/// The SDK against a service that speaks TLS itself (docs/operating.md "TLS").
@Suite(.timeLimit(.minutes(2))) struct EncryptedSyncTests {
    private let service: TodoService
    private let files: TLSFiles

    init() throws {
        service = try TodoService()
        files = TLSFiles(
            certificate: service.folder.appending(path: "cert.pem").path,
            privateKey: service.folder.appending(path: "key.pem").path
        )
        try LoopbackCertificates.loopback.write(toFile: files.certificate, atomically: true, encoding: .utf8)
        try LoopbackCertificates.loopbackKey.write(toFile: files.privateKey, atomically: true, encoding: .utf8)
    }

    @Test(arguments: [SyncTransportMethod.http, .webSocket])
    func rowsAndUploadsPass(transport: SyncTransportMethod) async throws {
        var configuration = service.configuration
        configuration.tls = files
        var options = ConnectOptions()
        options.clientConfiguration = SyncClientConfiguration(
            transport: transport,
            trustedAuthorities: try TrustedAuthorities(pem: LoopbackCertificates.authority)
        )
        let client = service.client("encrypted")
        try await service.run(configuration) { address in
            #expect(address.url.hasPrefix("https://127.0.0.1:"))
            try await client.connect(connector: service.connector("anna", address.url), options: options)
            try await service.writeToSource { db in
                try db.execute(sql: "INSERT INTO lists(id, owner_id, name) VALUES ('l1', 'anna', 'Groceries')")
            }
            try await client.waitForRows(of: "lists", toEqual: [["l1", "anna", "Groceries"]])
            // A line that follows while nothing else happens.
            try await service.writeToSource { db in try db.execute(sql: "UPDATE lists SET name = 'Food'") }
            try await client.waitForRows(of: "lists", toEqual: [["l1", "anna", "Food"]])
            try await client.close()
        }
    }
}
