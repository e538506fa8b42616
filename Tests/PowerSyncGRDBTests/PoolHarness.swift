import Foundation
import GRDB
import PowerSync
import PowerSyncCoreTestSupport
import PowerSyncGRDB
import PowerSyncProtocol
import PowerSyncTesting

/// A GRDB pool of an app with a PowerSync database over it, and a scripted service.
final class PoolHarness {
    static let schema = Schema(
        PowerSync.Table(name: "lists", columns: [.text("name")]),
        PowerSync.Table(
            name: "todos",
            columns: [.text("list_id"), .text("title"), .integer("done"), .real("weight"), .text("photo")]
        )
    )

    let folder: URL
    let pool: DatabasePool
    let service = ScriptedTransport()
    let database: any PowerSyncDatabaseProtocol

    init(
        logger: any LoggerProtocol = DefaultLogger(writers: []),
        configure: (inout Configuration) throws -> Void = { try $0.configurePowerSync(schema: PoolHarness.schema) }
    ) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "powersync-grdb-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var configuration = Configuration()
        try configure(&configuration)
        let path = folder.appending(path: "app.db").path
        pool = try DatabasePool(path: path, configuration: configuration)
        database = SyncedDatabase(
            schema: PoolHarness.schema,
            writer: pool,
            identifier: path,
            logger: logger,
            environment: SyncEnvironment(transport: service)
        )
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    /// Connects and accepts the stream.
    func connect(_ connector: any PowerSyncBackendConnectorProtocol = QueueConnector()) async throws -> ScriptedStream {
        try await database.connect(connector: connector, options: ConnectOptions(crudThrottle: 0.01))
        let stream = try await service.nextStream()
        stream.accept()
        return stream
    }
}

/// A list, as an app on GRDB declares it.
struct List: Codable, Equatable, Identifiable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "lists"
    static let todos = hasMany(Todo.self, using: ForeignKey(["list_id"], to: ["id"]))

    var id: String
    var name: String
}

/// A todo, as an app on GRDB declares it.
struct Todo: Codable, Equatable, Identifiable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "todos"
    static let list = belongsTo(List.self, using: ForeignKey(["list_id"], to: ["id"]))

    enum CodingKeys: String, CodingKey {
        case id, title, done, weight
        case listID = "list_id"
    }

    var id: String
    var listID: String
    var title: String
    var done: Bool
    var weight: Double?
}

/// A back end that keeps what it gets.
actor QueueConnector: PowerSyncBackendConnectorProtocol {
    private(set) var uploaded: [String] = []
    private var waiting: (count: Int, continuation: CheckedContinuation<Void, Never>)?

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        PowerSyncCredentials(endpoint: "https://sync.test", token: "token")
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        while let transaction = try await database.getNextCrudTransaction() {
            uploaded += transaction.crud.map { "\($0.op.rawValue) \($0.table) \($0.id)" }
            try await transaction.complete()
        }
        if let waiting, uploaded.count >= waiting.count {
            self.waiting = nil
            waiting.continuation.resume()
        }
    }

    /// Waits until this many entries were uploaded.
    func wait(for count: Int) async {
        guard uploaded.count < count else { return }
        await withCheckedContinuation { waiting = (count, $0) }
    }
}

/// Lines of a service.
enum Line {
    /// A checkpoint of one bucket with as many operations as its last op id says; checksums are 0.
    ///
    /// It acknowledges write checkpoint 1.
    static func checkpoint(_ lastOpID: Int) -> SyncLine {
        .checkpoint(Int64(lastOpID), [.bucket("all[]", count: Int64(lastOpID))], writeCheckpoint: 1)
    }

    /// A row.
    static func put(_ opID: Int, _ type: String, _ id: String, _ data: String) -> SyncLine {
        .ops("all[]", .put(Int64(opID), id, type: type, data: data))
    }
}
