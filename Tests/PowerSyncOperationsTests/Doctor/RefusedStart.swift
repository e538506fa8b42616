import Foundation
import GRDB
import PowerSyncAuth
import RunningServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceSQLite

/// A service that does not start, and what makes it so.
struct RefusedStart: CustomTestStringConvertible, Sendable {
    var testDescription: String
    /// When it is started.
    var now = Date()
    /// Changes the configuration of a service that would start, and what is in its folder.
    var prepare: @Sendable (inout ServiceConfiguration, TemporaryFolder) async throws -> Void

    init(
        _ name: String,
        now: Date = Date(),
        _ prepare: @escaping @Sendable (inout ServiceConfiguration, TemporaryFolder) async throws -> Void
    ) {
        testDescription = name
        self.now = now
        self.prepare = prepare
    }

    static let all = configuration + files + certificates

    private static let configuration = [
        RefusedStart("an impossible port") { configuration, _ in configuration.port = 70_000 },
        RefusedStart("a host of somebody else") { configuration, _ in configuration.host = "192.0.2.1" },
        RefusedStart("a broken sync config") { configuration, _ in
            configuration.syncConfig = .content("config: {edition: 3}\nstreams:\n  a:\n    query: SELECT FROM\n")
        },
        RefusedStart("a missing sync config") { configuration, folder in
            configuration.syncConfig = .file(folder.path("sync.yaml"))
        },
        RefusedStart("a key that is none") { configuration, _ in
            let x = Base64URL.encode(Array(repeating: 1, count: 32))
            let json = #"{"kty":"EC","alg":"ES256","crv":"P-256","kid":"broken","x":"\#(x)","y":"\#(x)"}"#
            configuration.authentication.keys = [try .jwk(json: json)]
        },
        RefusedStart("a short secret") { configuration, _ in
            configuration.authentication.keys = [.hs256(secret: [1, 2, 3], id: "short")]
        },
        RefusedStart("a role that its storage is not for") { configuration, _ in configuration.role = .api },
        RefusedStart("a key set that is no URL of the web") { configuration, _ in
            configuration.authentication.keySets = [URL(filePath: "/etc/keys")]
        },
    ]

    private static let files = [
        RefusedStart("a folder that cannot be made for the storage") { configuration, folder in
            try Data().write(to: folder.url.appending(path: "file"))
            configuration.storage = .sqlite(path: folder.path("file/data/buckets.db"))
        },
        RefusedStart("a folder that cannot be made for the source") { configuration, folder in
            try Data().write(to: folder.url.appending(path: "file"))
            configuration.source = .embedded(path: folder.path("file/source.db"), statements: [])
        },
        RefusedStart("a storage that is no database") { configuration, folder in
            try Data(String(repeating: "no database ", count: 100).utf8).write(
                to: folder.url.appending(path: "buckets.db")
            )
        },
        RefusedStart("a source that is no database") { configuration, folder in
            try Data(String(repeating: "no database ", count: 100).utf8).write(
                to: folder.url.appending(path: "source.db")
            )
        },
        RefusedStart("a table of the source that is none") { configuration, folder in
            configuration.source = .embedded(path: folder.path("source.db"), statements: ["CREATE TABLE a (b, b)"])
        },
        RefusedStart("a source that is the storage") { configuration, folder in
            configuration.storage = .sqlite(path: folder.path("source.db"))
        },
        RefusedStart("a storage of a newer version") { _, folder in
            let database = try DatabaseQueue(path: folder.path("buckets.db"))
            try await database.write { db in
                try db.execute(sql: "PRAGMA application_id = \(SQLiteStorageSchema.applicationID)")
                try db.execute(sql: "PRAGMA user_version = \(SQLiteStorageSchema.migrations.count + 1)")
            }
            try database.close()
        },
        RefusedStart("a storage of an earlier build") { _, folder in
            try await EarlierBuild.write(folder.path("buckets.db"))
        },
        RefusedStart("a storage that is the database of another program") { _, folder in
            let database = try DatabaseQueue(path: folder.path("buckets.db"))
            try await database.write { db in try db.execute(sql: "CREATE TABLE customers (id)") }
            try database.close()
        },
        RefusedStart("no storage, and none may be made") { configuration, _ in
            configuration.migratesAutomatically = false
        },
    ]

    private static let certificates = [
        RefusedStart("a certificate that has expired", now: Date(timeIntervalSince1970: 5_000_000_000)) {
            configuration,
            folder in
            configuration.tls = try TLSFiles(in: folder)
        },
        RefusedStart("a certificate that is not valid yet", now: Date(timeIntervalSince1970: 1_700_000_000)) {
            configuration,
            folder in
            configuration.tls = try TLSFiles(in: folder)
        },
        RefusedStart("no file of the certificate") { configuration, folder in
            configuration.tls = TLSFiles(certificate: folder.path("none.pem"), privateKey: folder.path("none.pem"))
        },
        RefusedStart("a key in the place of the certificate") { configuration, folder in
            let files = try TLSFiles(in: folder)
            configuration.tls = TLSFiles(certificate: files.privateKey, privateKey: files.privateKey)
        },
        RefusedStart("a certificate in the place of the key") { configuration, folder in
            let files = try TLSFiles(in: folder)
            configuration.tls = TLSFiles(certificate: files.certificate, privateKey: files.certificate)
        },
        RefusedStart("the key of another certificate") { configuration, folder in
            configuration.tls = try TLSFiles(in: folder, key: LoopbackCertificates.elsewhereKey)
        },
    ]
}
