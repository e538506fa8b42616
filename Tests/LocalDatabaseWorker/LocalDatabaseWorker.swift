import Foundation
import PowerSync

#if canImport(Glibc)
import Glibc
#endif

/// Uses a database file as a process of its own; see ``WorkerTask``.
@main
struct LocalDatabaseWorker {
    static func main() async throws {
        let task = try WorkerTask(argument: CommandLine.arguments[1])
        // The system's queues make their descriptors with the first timer, and end the process if there are none left: before the file does.
        try await Task.sleep(for: .nanoseconds(1))
        say(WorkerTask.Line.started)
        if let limit = task.fileSizeLimit { limitFileSize(limit) }
        if task.kind == .attachments, let files = task.filesPath {
            return try await WorkerAttachments(task: task, files: AttachmentFiles(path: files), say: say).run()
        }
        if let change = task.keyChange { return try await change.run(task.path) }
        if let seeding = task.seeding { return try await seeding.run(task.path) }
        if let making = task.seedMaking { return try await making.run(task.path) }
        if let alteration = task.alteration { return try await alteration.run(task.path, say) }
        if task.kind == .uploadParts, let parts = task.parts, let service = task.service {
            return try await parts.upload(task.path, to: service, partSize: task.partSize, say)
        }
        let database = PowerSyncDatabase(
            schema: task.isDirect ? WorkerSchema.firstDirect : WorkerSchema.first,
            dbFilename: task.path,
            logger: DefaultLogger(writers: []),
            initialStatements: task.memoryLimit.map { ["PRAGMA hard_heap_limit = \($0)"] } ?? []
        )
        do {
            try await database.waitForReady()
            say(WorkerTask.Line.open)
            if task.waits { _ = readLine() }
            try await work(task, database)
            try await database.close()
        } catch PowerSyncError.sqliteError(let code, _, _, _, _) {
            say(WorkerTask.Line.failed + "\(code)")
        }
    }

    private static func work(_ task: WorkerTask, _ database: any PowerSyncDatabaseProtocol) async throws {
        guard task.kind != .open else { return }
        if task.kind == .sync, let service = task.service {
            return try await WorkerSync(task: task, service: service, say: say).run(database)
        }
        if task.kind == .waitForSync {
            try await database.waitForFirstSync()
            return say(WorkerTask.Line.synced)
        }
        var number = 0
        while number != task.count {
            number += 1
            switch task.kind {
            case .open, .sync, .attachments, .waitForSync, .uploadParts, .changeKey, .seed, .makeSeed, .alterTables:
                break
            case .write:
                let transaction = WorkerTransaction(number, worker: task.name)
                try await database.writeTransaction { try transaction.run(in: $0) }
            case .changeSchema:
                try await database.updateSchema(schema: number % 2 == 0 ? WorkerSchema.first : WorkerSchema.second)
            }
            say("\(number)")
        }
    }

    /// Prints a line at once: what was said is known even if the process is killed.
    @Sendable private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }

    private static func limitFileSize(_ bytes: UInt) {
        #if canImport(Glibc)
        signal(SIGXFSZ, SIG_IGN)
        var limit = rlimit(rlim_cur: rlim_t(bytes), rlim_max: rlim_t(bytes))
        setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        #endif
    }
}
