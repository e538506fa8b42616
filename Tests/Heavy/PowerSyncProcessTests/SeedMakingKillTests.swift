import Foundation
import GRDB
import IntegrationTestSupport
import LocalDatabaseWorker
import PowerSync
import PowerSyncService
import TestSupport
import Testing

/// Processes that end while they make a seed, in the place of an older one.
@Suite(.timeLimit(.minutes(2))) struct SeedMakingKillTests {
    private let service: TodoService
    private let folder: TemporaryFolder
    private var seed: String { folder.path("seed.db") }

    init() async throws {
        (service, folder) = (try TodoService(), try TemporaryFolder())
        try await service.fillSource(todos: 500)
    }

    /// How a worker ends that makes the seed.
    private func make(_ address: BoundAddress, death: SeedMakingStep?) async throws -> Int32 {
        var task = WorkerTask(.makeSeed, path: seed)
        let token = try service.configuration.makeDevelopmentToken(userID: "anna")
        task.seedMaking = WorkerSeedMaking(from: address.url, token: token, death: death)
        let worker = try WorkerProcess(argument: try task.argument())
        return await worker.waitForExit()
    }

    /// How many todos a database has that begins with the seed.
    private func todos(_ name: String) async throws -> Int {
        let database = PowerSyncDatabase(
            schema: TodoService.schema,
            dbFilename: folder.path("\(name).db"),
            logger: DefaultLogger(writers: []),
            seedFile: URL(filePath: seed)
        )
        let count = try await database.get("SELECT count(*) FROM todos") { try $0.getInt(index: 0) }
        #expect(try await database.get("PRAGMA integrity_check") { try $0.getString(index: 0) } == "ok")
        try await database.close()
        return count
    }

    private var isSomethingLeft: Bool {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: folder.url.path).contains { $0.contains("unfinished") }
        }
    }

    @Test func afterEachStepTheOlderSeedIsThereOrAWholeNewOne() async throws {
        try await service.run { address in
            #expect(try await make(address, death: nil) == 0)
            let older = try Data(contentsOf: URL(filePath: seed))
            #expect(try await todos("older") == 500)
            try await service.writeToSource { try $0.execute(sql: "INSERT INTO todos VALUES ('u', 'l1', 'Tea', 0)") }
            // Until the service has it.
            let reader = service.client("reader")
            try await reader.connect(connector: try service.connector("anna", address.url), options: nil)
            for try await rows in try reader.watch(
                "SELECT id FROM todos WHERE id = 'u'",
                mapper: { try $0.getString(index: 0) }
            )
            where !rows.isEmpty { break }
            try await reader.close()
            for step in SeedMakingStep.allCases {
                // What the one before has left is no hindrance.
                try older.write(to: URL(filePath: seed))
                #expect(try await make(address, death: step) == SIGKILL)
                let isNew = [.placed, .finished].contains(step)
                #expect(try (Data(contentsOf: URL(filePath: seed)) == older) == !isNew, "\(step)")
                #expect(try await todos("\(step)") == (isNew ? 501 : 500), "\(step)")
                #expect(try isSomethingLeft == true, "\(step)")
            }
            #expect(try await make(address, death: nil) == 0)
            #expect(try await todos("newest") == 501)
            #expect(try !isSomethingLeft)
        }
    }
}
