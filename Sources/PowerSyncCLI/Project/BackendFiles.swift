import Foundation
import PowerSyncBackend
import PowerSyncServiceCore

/// The files of a back end in Swift, beside those of the service: over the same database file, with a key of its own for tokens.
///
/// What they say of Swift is compiled and tested as `Tests/PowerSyncBackendTests/BackendTemplate`, to which a test compares them.
struct BackendFiles {
    /// The folder beside `powersync.yaml`.
    static let folder = "backend"
    /// What powersync-swift is called in a manifest unless something else is asked for.
    static let publishedPackage = "https://…/powersync-swift"

    /// The port of the back end.
    var port: Int
    /// Where the package powersync-swift is: a URL, or a folder.
    var package: String
    /// The type that applies uploads to the file of the service.
    var applier = CommandModules.current.sources.lazy.compactMap { $0.starterApplier }.first ?? ""
    /// What tokens are signed with.
    var key = SigningKey.eddsa(id: "backend")

    /// The public half of the key, for the service.
    var publicKey: String { key.publicJWK ?? "" }

    /// All files, in the order in which people read them.
    var all: [ProjectFiles.File] {
        [
            ("Package.swift", Self.manifest.replacing("@PACKAGE@", with: dependency)),
            ("Sources/Backend/main.swift", Self.main.replacing("@PORT@", with: "\(port)")),
            ("Sources/Backend/AppBackend.swift", Self.appBackend.replacing("@APPLIER@", with: applier)),
            ("Sources/Backend/AppBackend+Rules.swift", Self.rules),
            ("Sources/Backend/AppBackend+SignIn.swift", Self.signIn),
            ("Tests/BackendTests/AppBackendTests.swift", Self.tests),
            ("signing-key.json", key.jwk + "\n"),
            (".gitignore", ".build/\nsigning-key.json\n"),
        ].map { ProjectFiles.File(name: "\(Self.folder)/\($0)", text: $1) }
    }

    /// The line of the manifest about powersync-swift.
    private var dependency: String {
        package.contains("://")
            ? #".package(url: "\#(package)", from: "0.1.0", traits: ["Service"])"#
            : #".package(name: "powersync-swift", path: "\#(package)", traits: ["Service"])"#
    }
}

// MARK: - Texts

extension BackendFiles {
    /// The package.
    static let manifest = ##"""
        // swift-tools-version: 6.2
        import PackageDescription

        let package = Package(
            name: "Backend",
            platforms: [.macOS(.v14)],
            dependencies: [
                @PACKAGE@,
                .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
                .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
                .package(url: "https://github.com/apple/swift-http-types", from: "1.0.0"),
                .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
                .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
            ],
            targets: [
                .executableTarget(
                    name: "Backend",
                    dependencies: [
                        .product(name: "GRDB", package: "GRDB.swift"),
                        .product(name: "HTTPTypes", package: "swift-http-types"),
                        .product(name: "Hummingbird", package: "hummingbird"),
                        .product(name: "Logging", package: "swift-log"),
                        .product(name: "PowerSyncBackend", package: "powersync-swift"),
                        .product(name: "PowerSyncBackendHummingbird", package: "powersync-swift"),
                    ]
                ),
                .testTarget(
                    name: "BackendTests",
                    dependencies: [
                        "Backend",
                        .product(name: "HummingbirdTesting", package: "hummingbird"),
                        .product(name: "NIOCore", package: "swift-nio"),
                    ]
                ),
            ]
        )

        """##

    /// The process.
    static let main = ##"""
        import Foundation
        import Hummingbird
        import Logging

        // Variables of the environment, and what they are without them.
        let environment = ProcessInfo.processInfo.environment
        let backend = try AppBackend(
            path: environment["DATABASE"] ?? "../data/source.db",
            key: try String(contentsOfFile: environment["SIGNING_KEY"] ?? "signing-key.json", encoding: .utf8),
            audience: environment["AUDIENCE"] ?? "powersync-dev"
        )
        let application = Application(
            router: backend.router(),
            configuration: ApplicationConfiguration(
                address: .hostname(environment["HOST"] ?? "127.0.0.1", port: environment["PORT"].flatMap { Int($0) } ?? @PORT@)
            ),
            logger: Logger(label: "backend")
        )
        try await application.runService()

        """##

    /// The routes.
    static let appBackend = ##"""
        import GRDB
        import HTTPTypes
        import Hummingbird
        import PowerSyncBackend
        import PowerSyncBackendHummingbird

        /// The app's own back end: it takes what clients upload, and hands out tokens for the sync service.
        struct AppBackend {
            private let database: DatabasePool
            private let signer: SyncTokenSigner

            /// Opens the database that the sync service watches.
            ///
            /// - Parameters:
            ///   - path: The file; `powersync dev` or `powersync serve` makes it with its tables.
            ///   - key: The key that tokens are signed with, a private JSON Web Key. `powersync.yaml` has its public half.
            ///   - audience: That of `client_auth` in `powersync.yaml`.
            /// - Throws: ``MissingTables``, or an error of the file or the key.
            init(path: String, key: String, audience: String) throws {
                var configuration = Configuration()
                // The sync service is another process at the same file.
                configuration.busyMode = .timeout(5)
                database = try DatabasePool(path: path, configuration: configuration)
                guard try database.read({ db in try db.tableExists("lists") && db.tableExists("todos") }) else {
                    throw MissingTables(path: path)
                }
                signer = SyncTokenSigner(key: try SigningKey(jwk: key), audience: audience)
            }

            struct MissingTables: Error, CustomStringConvertible {
                let path: String
                var description: String { "\(path) has no tables yet. Start the sync service once: powersync dev" }
            }

            /// `POST upload`, `POST token`, `GET jwks.json`, and `GET health` for whatever watches the process.
            func router() -> Router<BasicRequestContext> {
                let applier = @APPLIER@(database, authorize: Self.mayWrite)
                let routes = BackendRoutes<BasicRequestContext>(applier: applier, signer: signer) { request, _ in
                    try await Self.signedInUser(request)
                }
                let router = Router()
                routes.add(to: router)
                router.get("health") { _, _ in HTTPResponse.Status.ok }
                return router
            }
        }

        """##

    /// Who may write what.
    static let rules = ##"""
        import GRDB
        import PowerSyncBackend

        /// Who may write what.
        extension AppBackend {
            /// A user may write lists of their own, and todos in them.
            ///
            /// It runs inside the transaction of the upload, for each write, in order.
            @Sendable static func mayWrite(_ write: UploadedWrite, _ db: Database) throws -> WriteDecision {
                switch write.entry.table {
                case "lists":
                    // Whatever the client has written: the owner is who is signed in.
                    var values = write.entry.data ?? [:]
                    values["owner_id"] = .string(write.user.id)
                    guard try write.belongsToUser(by: "owner_id", values: values, db) else {
                        return .reject("The list belongs to another user.")
                    }
                    return .apply(values)
                case "todos":
                    // The list that it is in, and the one that it goes to.
                    var lists: [String?] = []
                    if let todo = try write.storedRow(db) { lists.append(todo["list_id"]) }
                    switch write.entry.data?["list_id"] {
                    case nil where !lists.isEmpty || write.entry.op != .put: break
                    case .string(let list): lists.append(list)
                    default: return .reject("A todo is in a list.")
                    }
                    for list in lists {
                        guard let list, try write.userOwns(list, in: "lists", by: "owner_id", db) else {
                            return .reject("There is no such list of yours.")
                        }
                    }
                    return .apply
                default:
                    return .reject("Clients do not write to \(write.entry.table).")
                }
            }
        }

        """##

    /// Who somebody is.
    static let signIn = ##"""
        import HTTPTypes
        import Hummingbird
        import PowerSyncBackend

        /// Who sends a request.
        extension AppBackend {
            /// The user of a request for a token: `Authorization: Bearer NAME`, whatever the name is.
            ///
            /// Replace it before anybody else reaches the back end: look up the session of the app, or check the token of your identity
            /// provider, and return `nil` for nobody.
            static func signedInUser(_ request: Request) async throws -> BackendUser? {
                guard let value = request.headers[.authorization], value.hasPrefix("Bearer ") else { return nil }
                let name = value.dropFirst("Bearer ".count)
                return name.isEmpty ? nil : BackendUser(id: String(name))
            }
        }

        """##

    /// The tests of all of them.
    static let tests = ##"""
        import Foundation
        import GRDB
        import HTTPTypes
        import Hummingbird
        import HummingbirdTesting
        import NIOCore
        import PowerSyncBackend
        import Testing

        @testable import Backend

        /// What users may write, over the routes that clients use.
        @Suite struct AppBackendTests {
            private let folder: URL
            private let database: DatabasePool
            private let backend: AppBackend

            init() throws {
                folder = FileManager.default.temporaryDirectory.appending(path: "backend-\(UUID().uuidString)")
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                let path = folder.appending(path: "source.db").path(percentEncoded: false)
                database = try DatabasePool(path: path)
                try database.write { db in
                    try db.execute(
                        sql: """
                            CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, owner_id TEXT, name TEXT);
                            CREATE TABLE todos(id TEXT PRIMARY KEY NOT NULL, list_id TEXT, title TEXT, done INTEGER);
                            INSERT INTO lists(id, owner_id, name) VALUES ('l1', 'anna', 'Groceries');
                            """
                    )
                }
                backend = try AppBackend(path: path, key: SigningKey.eddsa(id: "test").jwk, audience: "test")
            }

            /// The token of a user, as `POST token` answers it.
            private func token(_ client: any TestClientProtocol, _ user: String) async throws -> String {
                struct Answer: Decodable {
                    let token: String
                }
                let body = try await client.execute(uri: "/token", method: .post, headers: [.authorization: "Bearer \(user)"]) {
                    Data(Array(buffer: $0.body))
                }
                return try JSONDecoder().decode(Answer.self, from: body).token
            }

            /// Sends a write of a user, and returns the status with what is in the answer.
            private func upload(_ write: String, as user: String) async throws -> (status: Int, answer: String) {
                let application = Application(router: backend.router())
                return try await application.test(.router) { client in
                    let authorization = "Bearer \(try await token(client, user))"
                    let body = ByteBuffer(string: #"{"client_id":"c","data":[\#(write)]}"#)
                    return try await client.execute(
                        uri: "/upload",
                        method: .post,
                        headers: [.authorization: authorization],
                        body: body
                    ) { response in (response.status.code, String(buffer: response.body)) }
                }
            }

            private func names() async throws -> [String] {
                try await database.read { db in try String.fetchAll(db, sql: "SELECT name FROM lists ORDER BY id") }
            }

            @Test func usersWriteTheirOwnLists() async throws {
                let write = #"{"op_id":1,"op":"PUT","type":"lists","id":"l2","data":{"name":"Work","owner_id":"anna"}}"#
                #expect(try await upload(write, as: "bob") == (200, #"{"applied_through":1}"#))
                let owner = try await database.read { db in
                    try String.fetchOne(db, sql: "SELECT owner_id FROM lists WHERE id = 'l2'")
                }
                #expect(owner == "bob")
            }

            @Test func nobodyWritesTheListOfAnotherUser() async throws {
                for write in [
                    #"{"op_id":1,"op":"PATCH","type":"lists","id":"l1","data":{"name":"Mine"}}"#,
                    #"{"op_id":1,"op":"DELETE","type":"lists","id":"l1"}"#,
                    #"{"op_id":1,"op":"PUT","type":"todos","id":"t1","data":{"list_id":"l1","title":"Mine"}}"#,
                    #"{"op_id":1,"op":"PUT","type":"users","id":"u1","data":{}}"#,
                ] {
                    let (status, answer) = try await upload(write, as: "bob")
                    #expect(status == 200 && answer.contains(#""rejections""#), "\(answer)")
                }
                #expect(try await names() == ["Groceries"])
            }

            @Test func aRequestWithoutAUserIsRefused() async throws {
                let application = Application(router: backend.router())
                try await application.test(.router) { client in
                    for path in ["/token", "/upload"] {
                        try await client.execute(uri: path, method: .post) { #expect($0.status == .unauthorized) }
                    }
                    // A name is no token.
                    try await client.execute(uri: "/upload", method: .post, headers: [.authorization: "Bearer anna"]) {
                        #expect($0.status == .unauthorized)
                    }
                    try await client.execute(uri: "/jwks.json", method: .get) { response in
                        #expect(String(buffer: response.body).contains(#""kid":"test""#))
                        #expect(!String(buffer: response.body).contains(#""d":"#))
                    }
                    try await client.execute(uri: "/health", method: .get) { #expect($0.status == .ok) }
                }
            }
        }

        """##
}
