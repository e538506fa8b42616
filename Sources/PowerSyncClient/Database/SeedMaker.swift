import Dispatch
import Foundation
import GRDB
import NIOConcurrencyHelpers
import PowerSyncCore
import PowerSyncSQLite

/// The steps by which a seed is made, in order; a process may end after each.
package enum SeedMakingStep: String, Codable, Sendable, CaseIterable {
    /// Nobody else makes the seed, and nothing of an earlier run is left.
    case begun
    /// The unfinished file has all rows.
    case synced
    /// What belongs to one device is out of the unfinished file.
    case made
    /// There is a copy without empty pages, whose bytes may not be on the disk.
    case copied
    /// The copy is as the seed is to be.
    case copyFinished
    /// The copy has the place of the seed.
    case placed
    /// The names that were needed meanwhile are gone.
    case finished
}

/// Makes a seed: syncs a new file up to a complete checkpoint, and takes out of it what belongs to one device (docs/database.md "Seeds").
///
/// The file is made beside its place, which it gets at the end, by one process at a time. A process that ends in between leaves the place as it
/// was; the next run removes what it has left.
package struct SeedMaker: Sendable {
    /// The URL of the service.
    package var endpoint: String
    /// The token of the user whose rows the seed gets.
    package var token: String
    /// Where the seed is to be; a seed that is there is replaced.
    package var output: String
    /// The streams that are subscribed to, beside those that every client gets.
    package var streams: [(name: String, parameters: JsonParam?)] = []
    /// The parameters of the client that the sync config can read.
    package var parameters: JsonParam = [:]
    /// The schema of the app in JSON, as an `Encodable` schema is; `nil` when it is not known.
    package var schema: String?
    /// The longest time to wait for the checkpoint.
    package var timeout = Duration.seconds(3600)
    /// Receives messages.
    package var logger: any LoggerProtocol = DefaultLogger(writers: [])
    /// Called on the thread that does the work, after each step.
    package var reached: @Sendable (SeedMakingStep) -> Void = { _ in }

    /// Creates a maker.
    package init(endpoint: String, token: String, output: String) {
        self.endpoint = endpoint
        self.token = token
        self.output = output
    }

    /// Makes the seed.
    ///
    /// - Returns: The number of operations, which is that of rows unless several buckets have one, and the size of the file.
    /// - Throws: ``PowerSyncError`` when the token is not accepted or does not say whose it is, the checkpoint does not come in time, the schema
    ///   cannot be read, there is another file at ``output``, or another process makes a seed there.
    package func run() async throws -> (rows: Int, bytes: Int64) {
        guard let subject = WriterWatch.subject(of: token), !subject.isEmpty else {
            throw PowerSyncError.cannotMakeSeed(ofToken: "does not say whose it is: it has no sub")
        }
        let schema = try self.schema.map { try ClientSchema(json: $0) } ?? ClientSchema()
        guard SeedFile.isFree(output) else { throw PowerSyncError.cannotMakeSeed(overOtherFile: output) }
        guard let lock = try SeedMaker.lock(lockPath) else { throw PowerSyncError.cannotMakeSeed(beside: output) }
        defer { lock.release() }
        let salt = UUID().uuidString.lowercased()
        let seed = Seed(
            salt: salt,
            user: Seed.hash(ofUser: subject, salt: salt),
            service: try ServiceEndpoint(endpoint).url(path: "")
        )
        try removeUnfinished()
        reached(.begun)
        do {
            try await sync()
            reached(.synced)
            return try await withCheckedThrowingContinuation { continuation in
                DispatchQueue.global().async {
                    continuation.resume(with: Result { try finish(seed, schema) })
                }
            }
        } catch {
            try? removeUnfinished()
            throw PowerSyncError.wrapping(error)
        }
    }

    // MARK: - Syncing

    private func sync() async throws {
        let database = SyncedDatabase(
            schema: Schema(tables: []),
            dbFilename: unfinished,
            logger: logger,
            environment: .live
        )
        do {
            try await sync(database)
        } catch {
            try? await database.close()
            throw error
        }
        try await database.close()
    }

    private func sync(_ database: SyncedDatabase) async throws {
        var subscriptions: [any SyncStreamSubscription] = []
        for stream in streams {
            let stream = database.syncStream(name: stream.name, params: stream.parameters)
            subscriptions.append(try await stream.subscribe())
        }
        let connector = OneTokenConnector(endpoint: endpoint, token: token)
        let result = try await withThrowingTaskGroup(of: SyncOnceResult?.self) { tasks in
            defer { tasks.cancelAll() }
            tasks.addTask { [parameters, timeout] in
                try await database.syncOnce(
                    connector: connector,
                    options: ConnectOptions(params: parameters),
                    deadline: timeout
                )
            }
            tasks.addTask {
                for await _ in connector.refusals {
                    throw PowerSyncError.cannotMakeSeed(
                        ofToken: "is not accepted by the service, or ends before the rows are here"
                    )
                }
                return nil
            }
            return try await tasks.next() ?? nil
        }
        guard let result, result.isComplete else {
            throw PowerSyncError.cannotMakeSeed(within: timeout, result?.downloadError)
        }
        withExtendedLifetime(subscriptions) {}
    }

    // MARK: - The file

    /// The file that is synced.
    var unfinished: String { "\(output)-unfinished" }
    private var copy: String { "\(output)-unfinished-copy" }

    /// The file of the lock, whose owner makes the seed.
    var lockPath: String { "\(unfinished).lock" }

    private static func lock(_ path: String) throws -> SeedLock? {
        do {
            try PrivateFiles.createFolder(at: URL(fileURLWithPath: path).deletingLastPathComponent().path)
            return try SeedLock(ifFree: path)
        } catch {
            throw PowerSyncError.cannotMakeSeed(at: path, error)
        }
    }

    private func removeUnfinished() throws {
        for path in [unfinished, copy] { try DatabaseLocation.file(path: path).deleteFiles() }
    }

    /// Makes the file ``unfinished`` the seed, in one file without empty pages.
    func finish(_ seed: Seed, _ schema: ClientSchema) throws -> (rows: Int, bytes: Int64) {
        var configuration = Configuration()
        configuration.label = "PowerSync seed"
        configuration.foreignKeysEnabled = false
        configuration.acceptsDoubleQuotedStringLiterals = true
        configuration.prepareDatabase { try ConnectionSetUp.setDefaults($0) }
        ConnectionSetUp.apply(to: &configuration)
        let queue = try DatabaseQueue(path: unfinished, configuration: configuration)
        defer { try? queue.close() }
        let rows = try queue.writeWithoutTransaction { db in
            let rows = try db.transaction(.immediate) { try seed.make($0, schema: schema) }
            reached(.made)
            PrivateFiles.createFile(at: copy)
            try db.execute(sql: "VACUUM INTO ?", arguments: [copy])
            return rows
        }
        reached(.copied)
        try SeedFile.synchronize(copy)
        reached(.copyFinished)
        let size = try FileManager.default.attributesOfItem(atPath: copy)[.size] as? Int64
        guard unsafe rename(copy, output) == 0 else { throw POSIXError.last }
        reached(.placed)
        try? removeUnfinished()
        reached(.finished)
        return (rows, size ?? 0)
    }
}

/// Gives out one token, once: a connection that asks again has found that it is not accepted.
private final class OneTokenConnector: PowerSyncBackendConnectorProtocol {
    private let credentials: PowerSyncCredentials
    private let isGiven = NIOLockedValueBox(false)
    private let refusal: AsyncStream<Void>.Continuation
    /// One element when the token is not accepted.
    let refusals: AsyncStream<Void>

    init(endpoint: String, token: String) {
        credentials = PowerSyncCredentials(endpoint: endpoint, token: token)
        (refusals, refusal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        let isFirst = isGiven.withLockedValue { isGiven in
            defer { isGiven = true }
            return !isGiven
        }
        if !isFirst { refusal.yield() }
        return credentials
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {}
}
