import Foundation
import LocalDatabaseWorker
import PowerSync
import TestSupport
import Testing

/// Processes that are killed while they use a file, at moments that a seed determines as far as it can.
///
/// `POWERSYNC_KILLS` says how many processes each of these kills; 10 by default.
@Suite(.serialized, .timeLimit(.minutes(60))) struct KillTests {
    private static let kills = ProcessInfo.processInfo.environment["POWERSYNC_KILLS"].flatMap(Int.init) ?? 10
    private static let seed: UInt64 = 20_260_711

    /// The files that an opening may find.
    enum Start: CaseIterable {
        case nothing
        /// A file that an older implementation has taken back to its internal schema version.
        case version12
        case version4

        func prepare(_ path: String) async throws {
            switch self {
            case .nothing: break
            case .version12: try await goBack(path, to: 12)
            case .version4: try await goBack(path, to: 4)
            }
        }

        private func goBack(_ path: String, to version: Int) async throws {
            let database = PowerSyncDatabase(
                schema: WorkerSchema.first,
                dbFilename: path,
                logger: DefaultLogger(writers: [])
            )
            try await database.writeTransaction { transaction in
                _ = try transaction.get(sql: "SELECT powersync_test_migration(?)", parameters: [version]) { _ in }
            }
            try await database.close()
        }
    }

    /// Tables of ``WorkerSchema`` that are direct in one of the schemas, or in both.
    private static let directTables = ["typed", "becomes_direct", "becomes_view"]

    /// Waits for a moment that has nothing to do with what the worker does.
    private func delay(upTo milliseconds: Int, _ random: inout SeededGenerator) async throws {
        try await ContinuousClock().sleep(for: .microseconds(random.number(below: milliseconds * 1000)))
    }

    @Test(arguments: Start.allCases, [seed])
    func duringTheFirstOpening(_ start: Start, seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<KillTests.kills {
            try await withTemporaryDirectory { directory in
                let file = WorkerFile(path: directory.appending(path: "a.db").path)
                try await start.prepare(file.path)
                // Killed in the middle once or twice, so that an opening also finds what another has left.
                for _ in 0..<Int.random(in: 1...2, using: &random) {
                    let worker = try WorkerProcess(argument: WorkerTask(.open, path: file.path).argument())
                    try await worker.wait(for: WorkerTask.Line.started)
                    try await delay(upTo: 40, &random)
                    await worker.kill()
                }
                try await file.check { database async throws in
                    try await database.execute("INSERT INTO items (id, batch) VALUES (uuid(), 1)")
                    #expect(try await database.get("SELECT count(*) FROM ps_crud") { try $0.getInt(index: 0) } == 1)
                }
            }
        }
    }

    @Test(arguments: [seed])
    func whileTheSchemaChanges(seed: UInt64) async throws {
        try await withTemporaryDirectory { directory in
            let file = WorkerFile(path: directory.appending(path: "a.db").path)
            let removed = WorkerSchema.removedTable
            try await file.check { database in
                try await database.execute("INSERT INTO items (id, title, batch) VALUES ('1', 'kept', 7)")
                try await database.execute("INSERT INTO notes (id, text) VALUES ('1', 'kept')")
                for (number, table) in ([removed] + Self.directTables).enumerated() {
                    try await database.execute("INSERT INTO \(table) (id, a, b) VALUES ('1', 'kept', \(8 + number))")
                }
            }
            let first = try file.objects()
            try await file.check { try await $0.updateSchema(schema: WorkerSchema.second) }
            let second = try file.objects()
            #expect(first != second)

            var random = SeededGenerator(seed: seed)
            for _ in 0..<KillTests.kills {
                let worker = try WorkerProcess(argument: WorkerTask(.changeSchema, path: file.path).argument())
                try await worker.wait(for: WorkerTask.Line.open)
                let changes = random.number(below: 3)
                if changes > 0 { try await worker.wait(for: "\(changes)") }
                try await delay(upTo: 40, &random)
                await worker.kill()
                let objects = try file.objects()
                #expect(objects == first || objects == second)
                try await file.check { database async throws in
                    let rows =
                        "SELECT title || batch FROM items UNION ALL SELECT text FROM notes "
                        + ([removed] + Self.directTables).map { "UNION ALL SELECT a || b FROM \($0) " }.joined()
                    #expect(
                        try await database.getAll(rows) { try $0.getString(index: 0) }
                            == ["kept7", "kept", "kept8", "kept9", "kept10", "kept11"]
                    )
                }
                #expect(try file.objects() == first)
            }
        }
    }

    @Test(arguments: [seed])
    func whileItWrites(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        try await withTemporaryDirectory { directory in
            var file = WorkerFile(path: directory.appending(path: "0.db").path)
            var acknowledged: [String: Int] = [:]
            for kill in 0..<KillTests.kills {
                // A new file now and then: a small one has its log checkpointed at other moments.
                if kill % 10 == 0 {
                    file = WorkerFile(path: directory.appending(path: "\(kill).db").path)
                    acknowledged = [:]
                }
                var task = WorkerTask(.write, path: file.path)
                task.name = "w\(kill)"
                let worker = try WorkerProcess(argument: task.argument())
                try await worker.wait(for: WorkerTask.Line.open)
                for _ in 0..<random.number(below: 25) {
                    acknowledged[task.name] = await worker.nextLine().flatMap(Int.init)
                }
                try await delay(upTo: 10, &random)
                await worker.kill()
                let last = await worker.remainingLines().last.flatMap(Int.init) ?? acknowledged[task.name] ?? 0
                acknowledged[task.name] = last
                try await file.check { try await file.checkWrites($0, acknowledged: acknowledged) }
            }
        }
    }
}
