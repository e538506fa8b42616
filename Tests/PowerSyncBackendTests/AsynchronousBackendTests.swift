import Foundation
import GRDB
import Hummingbird
import HummingbirdTesting
import Logging
import PowerSync
import PowerSyncBackend
import PowerSyncBackendHummingbird
import PowerSyncService
import PowerSyncUpload
import TestSupport
import Testing

/// The page "Asynchronous back ends".
@Suite(.timeLimit(.minutes(1))) struct AsynchronousBackendTests {
    private struct Killed: Error {}

    /// Applies, and dies before it answers.
    private struct DyingApplier: UploadApplier {
        let applier: any UploadApplier

        func apply(_ request: UploadRequest, for user: BackendUser) async throws -> UploadResponse {
            _ = try await applier.apply(request, for: user)
            throw Killed()
        }
    }

    private func checkpoints(_ scenario: UploadScenario) async throws -> [String] {
        try await scenario.database.read { db in
            try String.fetchAll(
                db,
                sql: "SELECT user_id || ' ' || client_id || ' ' || checkpoint FROM checkpoints ORDER BY 1"
            )
        }
    }

    @Test func aNumberIsWrittenWhenItsUploadIsThroughAndEachWriteIsAppliedOnce() async throws {
        let scenario = try UploadScenario(schema: UploadScenario.schema + queueTables) { write, _ in
            write.entry.id == "c" ? .reject("Not this one.") : .apply
        }
        let queue = QueuedUploads(database: scenario.database)
        let anna = BackendUser(id: "anna")
        func request(_ entries: UploadEntry...) -> UploadRequest { UploadRequest(clientID: "c1", entries: entries) }

        let first = request(UploadScenario.put(1, "a"), UploadScenario.put(2, "b"))
        let answer = try await queue.apply(first, for: anna)
        #expect(answer == UploadResponse(appliedThrough: 2, writeCheckpoint: "1"))
        // The answer was lost.
        #expect(try await queue.apply(first, for: anna).writeCheckpoint == "2")
        let second = request(UploadScenario.put(3, "c"), UploadScenario.put(4, "d"))
        #expect(try await queue.apply(second, for: anna).writeCheckpoint == "3")
        #expect(try await scenario.log().isEmpty)
        #expect(try await checkpoints(scenario).isEmpty)

        // It dies behind what it has done: nothing is told yet.
        await #expect(throws: Killed.self) {
            try await applyNext(of: scenario.database, with: DyingApplier(applier: scenario.applier))
        }
        #expect(try await scenario.log() == ["+a", "+b"])
        #expect(try await checkpoints(scenario).isEmpty)
        #expect(try await applyNext(of: scenario.database, with: scenario.applier))
        #expect(try await checkpoints(scenario) == ["anna c1 1"])
        #expect(try await applyNext(of: scenario.database, with: scenario.applier))
        #expect(try await checkpoints(scenario) == ["anna c1 2"])
        #expect(try await scenario.log() == ["+a", "+b"])
        #expect(try await applyNext(of: scenario.database, with: scenario.applier))
        #expect(try await checkpoints(scenario) == ["anna c1 3"])
        #expect(try await scenario.log() == ["+a", "+b", "+d"])
        let refused = try await scenario.database.read { db in
            try String.fetchAll(db, sql: "SELECT row_id || ': ' || reason FROM refused_writes")
        }
        #expect(refused == ["c: Not this one."])
        #expect(try await applyNext(of: scenario.database, with: scenario.applier) == false)
        // Numbers are never given twice, also when the queue is empty.
        #expect(try await queue.apply(request(UploadScenario.put(5, "e")), for: anna).writeCheckpoint == "4")
    }

    /// What another client has sent, whose row has half a character in its id.
    @Test func whatNobodyCanApplyIsRefusedWithANumberAndNotQueued() async throws {
        let scenario = try UploadScenario(schema: UploadScenario.schema + queueTables)
        let queue = QueuedUploads(database: scenario.database)
        let halved = #"{"op_id":1,"tx_id":1,"op":"PUT","type":"lists","id":"\ud83d","data":{"name":"n"}}"#
        let whole = #"{"op_id":2,"tx_id":1,"op":"PUT","type":"lists","id":"a","data":{"name":"n"}}"#
        for (writes, log) in [(halved, []), ("\(halved),\(whole)", ["+a"])] as [(String, [String])] {
            let request = try UploadRequest(json: Array(#"{"client_id":"c1","data":[\#(writes)]}"#.utf8))
            let answer = try await queue.apply(request, for: BackendUser(id: "anna"))
            #expect(answer.rejections.map(\.operationID) == [1])
            let number = try #require(answer.writeCheckpoint)
            #expect(try await applyNext(of: scenario.database, with: scenario.applier))
            #expect(try await checkpoints(scenario) == ["anna c1 \(number)"])
            #expect(try await scenario.log() == log)
        }
    }

    @Test func aPlaceInTheQueueIsToldLikeAnUpload() async throws {
        let scenario = try UploadScenario(schema: UploadScenario.schema + queueTables)
        let queue = QueuedUploads(database: scenario.database)
        let anna = BackendUser(id: "anna")
        func upload(_ entry: UploadEntry) async throws {
            _ = try await queue.apply(UploadRequest(clientID: "c1", entries: [entry]), for: anna)
        }
        try await upload(UploadScenario.put(1, "a"))
        #expect(try await queue.checkpoint(of: "c1", for: anna) == 2)
        // Asked again while it waits, as a client does.
        #expect(try await queue.checkpoint(of: "c1", for: anna) == 2)
        #expect(try await queue.checkpoint(of: "c2", for: anna) == 3)
        #expect(try await queue.checkpoint(of: "c1", for: BackendUser(id: "bert")) == 4)
        try await upload(UploadScenario.put(2, "b"))
        #expect(try await queue.checkpoint(of: "c1", for: anna) == 6)
        var told: [[String]] = []
        while try await applyNext(of: scenario.database, with: scenario.applier) {
            told.append(try await checkpoints(scenario))
        }
        #expect(told[0...1] == [["anna c1 1"], ["anna c1 2"]])
        #expect(told.last == ["anna c1 6", "anna c2 3", "bert c1 4"])
        #expect(try await scenario.log() == ["+a", "+b"])
        #expect(try await queue.checkpoint(of: "c1", for: anna) == 7)
    }

    /// The whole way: the client's connector, the routes with the queue, the worker, and the sync service over the same file; with a client
    /// that asks the back end for checkpoints, or without.
    @Test(arguments: [false, true])
    func aClientShowsItsOwnWritesUntilTheWorkerHasAppliedThem(asks: Bool) async throws {
        let folder = try TemporaryFolder()
        let rows = try DatabasePool(path: folder.path("app.db"), configuration: UploadScenario.configuration)
        try await rows.write { db in
            try db.execute(sql: "CREATE TABLE lists (id TEXT PRIMARY KEY NOT NULL, owner_id TEXT, name TEXT)")
            try db.execute(sql: queueTables)
        }
        let applier = SQLiteUploadApplier(rows) { write, _ in
            guard write.entry.id != "refused" else { return .reject("Not this one.") }
            return .apply(["owner_id": .string(write.user.id), "name": .string("by the worker")])
        }
        let secret = Array("a secret for tests, 32 bytes or more".utf8)
        let signer = SyncTokenSigner(key: try .hs256(secret: secret, id: "k"), audience: "sync")
        let router = Router()
        let queue = QueuedUploads(database: rows)
        BackendRoutes<BasicRequestContext>(applier: queue, signer: signer).add(to: router)

        var configuration = ServiceConfiguration(
            source: .embedded(path: folder.path("app.db"), statements: []),
            storage: .sqlite(path: folder.path("buckets.db")),
            syncConfig: .content(
                """
                config: {edition: 3}
                streams:
                  lists: {auto_subscribe: true, query: SELECT * FROM lists WHERE owner_id = auth.user_id()}
                event_definitions:
                  write_checkpoints:
                    payloads:
                      - SELECT user_id, client_id, checkpoint FROM checkpoints
                """
            )
        )
        configuration.host = "127.0.0.1"
        configuration.port = 0
        configuration.authentication.keys = [.hs256(secret: secret, id: "k")]
        configuration.authentication.audience = ["sync"]
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let database = PowerSyncDatabase(
            schema: Schema(Table(name: "lists", columns: [.text("owner_id"), .text("name")])),
            dbFilename: folder.path("client.db"),
            logger: DefaultLogger(minSeverity: .fault)
        )
        @Sendable func waitFor(_ expected: [String]) async throws {
            let names = try database.watch("SELECT id || ' ' || name FROM lists ORDER BY id") {
                try $0.getString(index: 0)
            }
            for try await names in names where names == expected { return }
        }
        try await Application(router: router).test(.live) { [configuration] backend in
            let port = try #require(backend.port)
            try await SyncService.withService(configuration: configuration, logger: logger) { service in
                let url = service.address.url
                let uploads = try HTTPBackendConnector(uploadURL: "http://localhost:\(port)/upload") {
                    PowerSyncCredentials(endpoint: url, token: try signer.token(userID: "anna").text)
                }
                let asking = QueueConnector(uploads: uploads) { client in
                    try await queue.checkpoint(of: client, for: BackendUser(id: "anna"))
                }
                var options = ConnectOptions(checkpointMode: asks ? .requests() : .legacy)
                options.crudThrottle = 0
                try await database.connect(connector: asks ? asking : uploads, options: options)
                try await database.waitForFirstSync()
                for id in ["a", "refused"] {
                    try await database.execute(
                        sql: "INSERT INTO lists (id, name) VALUES (?, 'mine')",
                        parameters: [id]
                    )
                }
                let queued = try database.watch("SELECT count(*) FROM ps_crud") { try $0.getInt(index: 0) }
                for try await count in queued where count == [0] { break }
                #expect(try await rows.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM lists") } == 0)
                try await waitFor(["a mine", "refused mine"])
                let request = asks ? try await database.requestCheckpoint() : nil
                #expect(request?.hasSynced != true)
                while try await applyNext(of: rows, with: applier) {}
                try await waitFor(["a by the worker"])
                try await request?.waitForSync(timeout: 60)
                #expect(database.currentStatus.uploadError == nil)
                #expect(database.currentStatus.downloadError == nil)
                try await database.close()
            }
        }
        let refused = try await rows.read { db in
            try String.fetchAll(db, sql: "SELECT row_id || ': ' || reason FROM refused_writes")
        }
        #expect(refused == ["refused: Not this one."])
    }
}
