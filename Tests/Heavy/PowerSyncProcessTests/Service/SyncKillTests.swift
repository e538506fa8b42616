import Foundation
import LocalDatabaseWorker
import PowerSync
import TestSupport
import Testing

/// A process that is killed while it syncs and writes, again and again, on one file.
///
/// `POWERSYNC_KILLS` says how often; 40 times by default.
@Suite(.serialized, .timeLimit(.minutes(60))) struct SyncKillTests {
    private static let kills = ProcessInfo.processInfo.environment["POWERSYNC_KILLS"].flatMap(Int.init) ?? 40

    /// What the processes have said so far.
    private struct Said {
        /// The last row that is known to be committed; rows count from 1.
        var row = 0
        /// The last entry that is known to be completed.
        var completed: Int64 = 0

        mutating func hear(_ line: String) {
            if let number = Int(line) {
                row = number
            } else if line.hasPrefix(WorkerTask.Line.completed) {
                completed = Int64(line.dropFirst(WorkerTask.Line.completed.count)) ?? completed
            }
        }
    }

    @Test(
        arguments: [20_260_812]
    )
    func losesNothingShowsWhatWasAppliedUploadsNothingTwiceAfterCompletingIt(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let model = ModelService(table: "items", column: "title", priorities: [0, 1, 2, 3, 3], seed: seed)
        model.change(count: 200)
        let server = try await ModelHTTPServer(model)
        try await withTemporaryDirectory { directory in
            var file = WorkerFile(path: "")
            var said = Said()
            for kill in 0..<SyncKillTests.kills {
                // A new client now and then, which downloads everything.
                if kill % 20 == 0 {
                    if kill > 0 { try await converge(file, server, said) }
                    // Every second one has a table with columns of its own.
                    let schema = kill % 40 == 0 ? WorkerSchema.first : WorkerSchema.firstDirect
                    file = WorkerFile(path: directory.appending(path: "\(kill).db").path, schema: schema)
                    said.completed = 0
                }
                let uploads = model.uploads.count
                let completed = said.completed
                let worker = try WorkerProcess(argument: task(file, server, first: said.row + 1).argument())
                for _ in 0..<random.number(below: 14) {
                    guard let line = await worker.nextLine() else { break }
                    said.hear(line)
                    model.change(count: random.number(below: 3))
                    server.push()
                }
                try await ContinuousClock().sleep(for: .microseconds(random.number(below: 10_000)))
                await worker.kill()
                for line in await worker.remainingLines() { said.hear(line) }
                #expect(model.uploads.dropFirst(uploads).allSatisfy { $0.entry > completed }, "kill \(kill)")
                try await check(file, model, &said, "kill \(kill)")
            }
            try await converge(file, server, said)
        }
        try await server.stop()
    }

    private func task(_ file: WorkerFile, _ server: ModelHTTPServer, first: Int) -> WorkerTask {
        var task = WorkerTask(.sync, path: file.path)
        task.isDirect = file.schema.tables.contains { $0.name == "items" && $0.direct }
        task.service = server.url
        task.firstNumber = first
        return task
    }

    /// Checks what a process has left behind.
    ///
    /// A row may have been committed that the process did not get to speak of; it is then taken as said.
    private func check(_ file: WorkerFile, _ model: ModelService, _ said: inout Said, _ comment: Comment) async throws {
        var known = said
        try await file.check { database in
            let file = try await SyncedFile(database)
            #expect(file.brokenBuckets == 0, comment)
            #expect(file.oplogIndexes == 3, comment)
            if file.view[WorkerRow(known.row + 1).id] != nil { known.row += 1 }
            #expect(file.view[WorkerRow(known.row + 1).id] == nil, comment)
            let applied = file.appliedOps.reduce(into: [String: String]()) { rows, bucket in
                rows.merge(model.bucket(bucket.key)?.rows(at: bucket.value) ?? [:]) { first, _ in first }
            }
            for (row, value) in applied where file.view[row] != value {
                // It had writes in the queue when priority 0 was shown, and keeps them until the next complete checkpoint.
                #expect(file.updatedRows.contains(row), "\(comment): \(row)")
                #expect(file.view[row] == WorkerRow.title && row.hasPrefix("w"), "\(comment): \(row)")
            }
            for (row, value) in file.view where applied[row] == nil {
                if row.hasPrefix("w") {
                    #expect(value == WorkerRow.title, "\(comment): \(row)")
                } else {
                    // Removed, which only the next complete checkpoint shows.
                    #expect(file.updatedRows.contains(row), "\(comment): \(row)")
                    #expect(model.values(of: row).contains(value), "\(comment): \(row)")
                }
            }
            let uploaded = Set(model.uploads.map(\.row))
            for number in 1..<(known.row + 1) {
                let row = WorkerRow(number).id
                #expect(uploaded.contains(row) || file.queue.contains(row), "\(comment): \(row) is lost")
            }
        }
        said = known
    }

    /// Syncs in peace until the file has what the service has.
    private func converge(_ file: WorkerFile, _ server: ModelHTTPServer, _ said: Said) async throws {
        let connector = Connector(server: server)
        try await file.check { database in
            try await database.connect(connector: connector, options: ConnectOptions(retryDelay: 0.01))
            let views = try database.watch("SELECT id, title FROM items") { cursor in
                (try cursor.getString(index: 0), try cursor.getString(index: 1))
            }
            for try await view in views
            where Dictionary(uniqueKeysWithValues: view) == server.model.rows { break }
            let file = try await SyncedFile(database)
            #expect(file.queue.isEmpty)
            #expect(file.brokenBuckets == 0)
            for number in 1..<(said.row + 1) {
                #expect(file.view[WorkerRow(number).id] == ModelService.uploaded(WorkerRow.title))
            }
        }
    }

    /// What a worker does, in this process.
    private struct Connector: PowerSyncBackendConnectorProtocol {
        let server: ModelHTTPServer

        func fetchCredentials() async throws -> PowerSyncCredentials? {
            PowerSyncCredentials(endpoint: server.url, token: "token")
        }

        func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
            guard let batch = try await database.getCrudBatch(limit: 100) else { return }
            server.model.upload(
                batch.crud.map { entry in
                    ModelService.Upload(
                        row: entry.id,
                        value: entry.opData?["title"] ?? nil,
                        entry: Int64(entry.clientId)
                    )
                }
            )
            try await batch.complete()
        }
    }
}
