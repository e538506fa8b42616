import Foundation
import GRDB
import Hummingbird
import Logging
import PowerSyncBackend
import PowerSyncBackendHummingbird
import PowerSyncS3
import PowerSyncService

// TodoBackend FOLDER: keeps everything in the folder. PORT and SYNC_PORT are for the app, and for the sync service in it.
let environment = ProcessInfo.processInfo.environment
let folder = CommandLine.arguments.dropFirst().first ?? "."
let port = environment["PORT"].flatMap { Int($0) } ?? 8081
let syncPort = environment["SYNC_PORT"].flatMap { Int($0) } ?? 8080
var logger = Logger(label: "todo-backend")
logger.logLevel = .notice

// The app's own data, which is what the sync service reads.
let path = "\(folder)/todos.db"
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
let database = try DatabasePool(path: path)
try database.write(Schema.create)

// Who is who. Anybody may say any name: replace it with the sign-in of your app, and the secret with one of your own.
let secret = Array("a secret for development, 32 bytes or more".utf8)
let signer = SyncTokenSigner(key: try SigningKey.hs256(secret: secret, id: "dev"), audience: "todos")
let routes = BackendRoutes<BasicRequestContext>(
    applier: SQLiteUploadApplier(database, authorize: Permissions.decide),
    signer: signer
) { request, _ in
    request.headers[.authorization].map { BackendUser(id: $0) }
}
let router = Router()
routes.add(to: router)

// The photos beside the rows: whole, and in parts by tus.
let photos = PhotoFolder(folder: URL(filePath: folder).appending(path: "photos"), signer: signer)
let uploads = TusUploads()
try await uploads.removeOld(in: photos.folder.path(percentEncoded: false))
PhotoRoutes(photos: photos).add(to: router)
TusRoutes(photos: photos, uploads: uploads).add(to: router)
// Or in a bucket: S3_ENDPOINT, S3_BUCKET, S3_KEY and S3_SECRET, which stay here.
if let name = environment["S3_BUCKET"], let key = environment["S3_KEY"], let secret = environment["S3_SECRET"] {
    let storage = StorageRoutes(
        photos: photos,
        bucket: S3Bucket(
            name: name,
            region: environment["S3_REGION"] ?? "us-east-1",
            endpoint: environment["S3_ENDPOINT"].flatMap { URL(string: $0) },
            addressing: environment["S3_ENDPOINT"] == nil ? .virtualHost : .path
        ),
        credentials: S3Credentials(accessKeyID: key, secretAccessKey: secret)
    )
    try await storage.removeOldUploads()
    storage.add(to: router)
}

// Which rows go to whom, over the same file.
var configuration = ServiceConfiguration(
    source: .embedded(path: path, statements: []),
    storage: .sqlite(path: "\(folder)/buckets.db"),
    syncConfig: .file(environment["SYNC_CONFIG"] ?? "sync.yaml")
)
configuration.host = "127.0.0.1"
configuration.port = syncPort
configuration.authentication.keys = [.hs256(secret: secret, id: "dev")]
configuration.authentication.audience = ["todos"]

let backend = Application(
    router: router,
    configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
    services: [try SyncService(configuration: configuration, logger: logger)],
    logger: logger
)
try await backend.runService()
