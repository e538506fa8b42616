import Foundation
import LocalDatabaseWorker
import PowerSync
import TestSupport
import Testing

/// A machine that gives little: what fails says why, and what was acknowledged is there.
@Suite(.timeLimit(.minutes(2))) struct FewMeansTests {
    /// How a worker ended.
    private struct End {
        /// The number of its last transaction.
        var acknowledged: Int
        /// The primary code of the SQLite error that it met.
        var code: Int32?
        /// 0 unless it trapped.
        var status: Int32
    }

    private func work(_ task: WorkerTask, by command: String? = nil) async throws -> End {
        let worker = try WorkerProcess(argument: task.argument(), by: command)
        let lines = await worker.remainingLines()
        let code = lines.last { $0.hasPrefix(WorkerTask.Line.failed) }
            .flatMap { Int32($0.dropFirst(WorkerTask.Line.failed.count)) }
        return End(
            acknowledged: lines.compactMap(Int.init).last ?? 0,
            code: code.map { $0 & 0xff },
            status: await worker.waitForExit()
        )
    }

    private func writing(_ path: String, count: Int?, name: String = "w") -> WorkerTask {
        var task = WorkerTask(.write, path: path)
        task.name = name
        task.count = count
        return task
    }

    // MARK: File descriptors

    @Test func sixtyFourFileDescriptorsAreEnough() async throws {
        try await withTemporaryDirectory { directory in
            let file = WorkerFile(path: directory.appending(path: "a.db").path)
            let end = try await work(writing(file.path, count: 20), by: LimitedMeans.descriptors(64))
            #expect(end.status == 0)
            #expect(end.code == nil)
            try await file.check { try await file.checkWrites($0, acknowledged: ["w": 20]) }
        }
    }

    /// The number from which on there are enough depends on the system, so what is looked at are several.
    ///
    /// With still fewer, what the system needs for its own threads ends the process before SQLite opens a file.
    @Test func tooFewFileDescriptorsAreAnErrorOfSQLite() async throws {
        var codes: [Int32?] = []
        for count in [14, 16, 17, 18, 19, 20, 24] {
            try await withTemporaryDirectory { directory in
                let file = WorkerFile(path: directory.appending(path: "a.db").path)
                let end = try await work(writing(file.path, count: 5), by: LimitedMeans.descriptors(count))
                #expect(end.status == 0)
                // SQLITE_CANTOPEN, or everything.
                #expect(end.code == 14 || end.code == nil && end.acknowledged == 5)
                codes.append(end.code)
                try await file.check { try await file.checkWrites($0, acknowledged: ["w": end.acknowledged]) }
            }
        }
        #expect(codes.contains(14), "no count was too small")
    }

    @Test func aReadingConnectionThatCannotBeOpenedIsAnErrorOfOurs() async throws {
        try await withTemporaryDirectory { directory in
            let folder = directory.appending(path: "folder")
            let database = PowerSyncDatabase(
                schema: WorkerSchema.first,
                dbFilename: folder.appending(path: "a.db").path,
                logger: DefaultLogger(writers: [])
            )
            // Opens the writing connection only.
            try await database.execute("INSERT INTO items (id) VALUES ('1')")
            try FileManager.default.moveItem(at: folder, to: directory.appending(path: "moved"))
            let error = await #expect(throws: PowerSyncError.self) {
                try await database.getAll("SELECT id FROM items") { try $0.getString(index: 0) }
            }
            guard case .sqliteError(let code, _, _, _, _) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(code & 0xff == 14)
            try FileManager.default.moveItem(at: directory.appending(path: "moved"), to: folder)
            let ids = try await database.getAll("SELECT id FROM items") { try $0.getString(index: 0) }
            #expect(ids == ["1"])
            try await database.close()
        }
    }

    // MARK: Memory

    /// 256 MiB of address space are enough.
    @Test(.enabled(if: LimitedMeans.limitsAddressSpace))
    func addressSpace() async throws {
        try await withTemporaryDirectory { directory in
            let file = WorkerFile(path: directory.appending(path: "a.db").path)
            let end = try await work(writing(file.path, count: 20), by: LimitedMeans.addressSpace)
            #expect(end.status == 0)
            #expect(end.code == nil)
            try await file.check { try await file.checkWrites($0, acknowledged: ["w": 20]) }
        }
    }

    @Test(arguments: [2_000_000, 1_000_000, 700_000])
    func memoryThatDoesNotSufficeIsAnErrorOfSQLite(bytes: Int) async throws {
        try await withTemporaryDirectory { directory in
            let file = WorkerFile(path: directory.appending(path: "a.db").path)
            #expect(try await work(writing(file.path, count: 3)).acknowledged == 3)
            var task = writing(file.path, count: nil, name: "x")
            task.memoryLimit = bytes
            let end = try await work(task)
            #expect(end.status == 0)
            #expect(end.code == 7, "SQLITE_NOMEM")
            var acknowledged = ["w": 3]
            if end.acknowledged > 0 { acknowledged["x"] = end.acknowledged }
            try await file.check { try await file.checkWrites($0, acknowledged: acknowledged) }
        }
    }

    // MARK: Syncing

    @Test(
        arguments: [LimitedMeans.descriptors(64), LimitedMeans.addressSpace]
    )
    func clientSyncsWith64FileDescriptorsAndWith256MiBOfAddressSpace(command: String) async throws {
        let model = ModelService(table: "items", column: "title", priorities: [0, 1, 2, 3, 3], seed: 7)
        model.change(count: 200)
        let server = try await ModelHTTPServer(model)
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            var task = WorkerTask(.sync, path: path)
            task.service = server.url
            let worker = try WorkerProcess(argument: task.argument(), by: command)
            try await worker.wait(for: WorkerTask.Line.open)
            var (row, completed, isSynced) = (0, false, false)
            while !isSynced || !completed || row < 20 {
                let line = try #require(await worker.nextLine(), "the worker has ended")
                if let number = Int(line) { row = number }
                completed = completed || line.hasPrefix(WorkerTask.Line.completed)
                isSynced = isSynced || line == WorkerTask.Line.synced
            }
            await worker.kill()
            try await WorkerFile(path: path).check { database in
                let file = try await SyncedFile(database)
                #expect(file.brokenBuckets == 0)
                #expect(file.view.keys.contains { !$0.hasPrefix("w") })
                let uploaded = Set(model.uploads.map(\.row))
                #expect(!uploaded.isEmpty)
                for number in 1...row {
                    let row = WorkerRow(number).id
                    #expect(uploaded.contains(row) || file.queue.contains(row), "\(row) is lost")
                }
            }
        }
        try await server.stop()
    }

    // MARK: Disks

    @Test(.enabled(if: SmallDisk.isPossible))
    func smallDiskThatIsFull() async throws {
        try await withTemporaryDirectory { directory in
            let disk = try SmallDisk(at: directory.appending(path: "disk"), size: "1m")
            defer { disk.remove() }
            let file = WorkerFile(path: disk.url.appending(path: "a.db").path)
            let end = try await work(writing(file.path, count: nil))
            #expect(end.status == 0)
            #expect(end.code == 13, "SQLITE_FULL")
            #expect(end.acknowledged > 0)
            // Not even opening succeeds for sure, and nothing traps.
            let second = try await work(writing(file.path, count: 1, name: "x"))
            #expect(second.status == 0)
            try disk.grow(to: "64m")
            var acknowledged = ["w": end.acknowledged]
            if second.acknowledged > 0 { acknowledged["x"] = second.acknowledged }
            try await file.check { try await file.checkWrites($0, acknowledged: acknowledged) }
            let third = try await work(writing(file.path, count: 12, name: "y"))
            #expect(third.code == nil)
            acknowledged["y"] = 12
            try await file.check { try await file.checkWrites($0, acknowledged: acknowledged) }
        }
    }

    /// Starts a worker as somebody who may not write into a folder.
    private static let withoutRights = geteuid() == 0 ? "exec setpriv --reuid=65534 --clear-groups" : "exec"

    @Test func aFolderThatCannotBeWrittenToIsAnError() async throws {
        try await withTemporaryDirectory { directory in
            try setPermissions(0o555, of: directory)
            let path = directory.appending(path: "a.db").path
            let end = try await work(writing(path, count: 1), by: FewMeansTests.withoutRights)
            #expect(end.status == 0)
            #expect(end.code == 14, "SQLITE_CANTOPEN")
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
            try setPermissions(0o755, of: directory)
        }
    }

    @Test func aFileInAFolderThatBecameReadOnlyKeepsItsRows() async throws {
        try await withTemporaryDirectory { directory in
            let file = WorkerFile(path: directory.appending(path: "a.db").path)
            #expect(try await work(writing(file.path, count: 3)).acknowledged == 3)
            try setPermissions(0o444, of: URL(filePath: file.path))
            try setPermissions(0o555, of: directory)
            let end = try await work(writing(file.path, count: 1, name: "x"), by: FewMeansTests.withoutRights)
            #expect(end.status == 0)
            // SQLITE_READONLY, SQLITE_CANTOPEN
            #expect([8, 14].contains(end.code))
            try setPermissions(0o755, of: directory)
            try setPermissions(0o644, of: URL(filePath: file.path))
            try await file.check { try await file.checkWrites($0, acknowledged: ["w": 3]) }
        }
    }

    private func setPermissions(_ permissions: Int, of url: URL) throws {
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: url.path)
    }
}

/// Commands that start a worker and give it little.
private enum LimitedMeans {
    /// Starts a worker that may have so many descriptors, and inherits none but the standard ones.
    static func descriptors(_ count: Int) -> String {
        "ulimit -n \(count); exec " + (3...9).map { "\($0)>&-" }.joined(separator: " ") + "; exec"
    }

    /// Starts a worker with 256 MiB of address space.
    ///
    /// With one arena of glibc's: each thread that allocates would have one of its own, for which 64 to 128 MiB are reserved, so that
    /// how much is left is up to the scheduler. Measured, a client that writes then works with 192 MiB; with arenas 512 MiB are not
    /// always enough, and SQLite's error is "out of memory". At 160 MiB no further thread starts, for which libdispatch waits for
    /// ever, and at 128 MiB Swift's runtime ends the process.
    static let addressSpace = "ulimit -v 262144; export MALLOC_ARENA_MAX=1; exec"

    #if os(Linux)
    static let limitsAddressSpace = true
    #else
    static let limitsAddressSpace = false
    #endif
}
