import Foundation
import PowerSyncClient

/// What a queue consists of, apart from what runs.
struct AttachmentQueueParts: Sendable {
    let db: any PowerSyncDatabaseProtocol
    /// The attachments table, as calls of the app ask for it; ``AttachmentRunner`` has it through one of its own.
    var service: AttachmentService
    let transfers: TransferContext
    let directory: String
    let references: @Sendable () throws -> AsyncThrowingStream<[WatchedAttachmentItem], any Error>

    private var localStorage: any LocalStorageAdapter { transfers.localStorage }
    private var paths: AttachmentPaths { transfers.paths }
    private var downloads: Bool { transfers.options.downloadAttachments }
    var tableName: String { transfers.options.tableName }

    /// The time between two looks at the table without a reason; `nil` for none.
    var interval: Duration? {
        let interval = transfers.options.syncInterval
        return interval > .zero ? min(interval, Argument.longestTime) : nil
    }

    /// The same with another way to the table.
    func with(service: AttachmentService) -> AttachmentQueueParts {
        var parts = self
        parts.service = service
        return parts
    }

    /// Saves files.
    var saver: FileSaver {
        FileSaver(
            service: service,
            localStorage: localStorage,
            paths: paths,
            table: transfers.table,
            logger: transfers.logger,
            filename: { AttachmentPaths.newFilename(id: $0, fileExtension: $1) }
        )
    }

    /// Follows an element of the watch, and makes room in the cache if something was archived.
    func process(_ items: [WatchedAttachmentItem], deliveredAt: Date) async throws {
        let archives = !transfers.options.archiveOnlyAfterFirstSync || db.currentStatus.hasSynced == true
        let summary = try await service.withContext { context in
            try await context.process(
                items,
                filenames: { try await paths.filename(of: $0) },
                deliveredAt: deliveredAt.millisecondsSince1970,
                downloads: downloads,
                archives: archives,
                localUri: paths.path,
                storage: localStorage
            )
        }
        guard summary.archived > 0 else { return }
        _ = try await service.withContext { try await transfers.expire($0) }
    }
}

// Upkeep.
extension AttachmentQueueParts {
    /// Creates the directories, and removes what interrupted writes have left there.
    func prepareDirectories() async throws {
        try await makeDirectories()
        do {
            // Not the parts of downloads: rows tell which are wanted, but not those of other queues in this directory.
            let oneHourAgo = transfers.now().addingTimeInterval(-3600)
            try await localStorage.removeTemporaryFiles(path: directory, olderThan: oneHourAgo)
        } catch {
            try Task.checkCancellation()
            log(.warning, "Temporary files could not be removed: \(error.localizedDescription)")
        }
    }

    /// Creates the directories.
    func makeDirectories() async throws {
        try await localStorage.makeDir(path: directory)
        for name in transfers.options.subdirectories {
            try AttachmentPath.check(filename: name)
            try await localStorage.makeDir(path: directory + "/" + name)
        }
    }

    /// Compares all rows with the files on the disk and repairs them.
    func verify() async throws {
        try await service.withContext { context in
            try await context.verify(downloads: downloads, localUri: paths.path, storage: localStorage)
        }
    }

    /// Removes all archived attachments that the cache has no room for.
    func expire() async throws {
        var round: ExpiryRound = (false, [])
        repeat {
            let failed = round.failed
            round = try await service.withContext { try await transfers.expire($0, besides: failed) }
        } while !round.isComplete
    }

    /// Removes all rows and files.
    ///
    /// Once it has begun, a cancellation does not end it: files without rows would stay.
    ///
    /// - Parameters:
    ///   - keepsDirectory: Whether the directory is needed afterwards.
    ///   - limit: How long callbacks that have the table are waited for; then they are left behind.
    /// - Throws: `CancellationError` before it has begun, an error of the database or the storage, or
    ///   ``PowerSyncAttachmentError/generalError(_:)`` when a storage of the app's does not answer in time. The table is not given back
    ///   then before it has: it would remove what is saved meanwhile.
    func clear(keepsDirectory: Bool, insistingAfter limit: Duration) async throws {
        let clock = transfers.clock
        let turn = try await service.takeTurn(insistingAfter: limit, clock)
        do {
            let context = service.context
            try await Task.ignoringCancellation { try await context.clearQueue() }
        } catch {
            turn.end()
            throw error
        }
        let removal = LeavableTask(whenReturned: { turn.end() }) {
            try await turn.run {
                try await localStorage.rmDir(path: directory)
                if keepsDirectory { try await makeDirectories() }
            }
        }
        try await Task.ignoringCancellation {
            // The file system of ours is slow where there are many files; it does not hang.
            guard !(localStorage is FileManagerStorageAdapter) else { return try await removal.value() }
            let overdue = PowerSyncAttachmentError.generalError(
                "The rows are removed, but the local storage has not answered in time; its directory is being emptied."
            )
            do {
                try await clock.withLimit(AttachmentRunner.grace, otherwise: overdue) { try await removal.end() }
            } catch {
                turn.becameOverdue(throwing: error)
                throw error
            }
            try await removal.value()
        }
    }

    /// Refuses directories that must not be emptied.
    func checkMayBeEmptied() throws {
        let path = URL(fileURLWithPath: directory).standardizedFileURL.path
        guard !directory.isEmpty, path != "/", path != URL(fileURLWithPath: NSHomeDirectory()).standardizedFileURL.path
        else {
            throw PowerSyncAttachmentError.invalidPath("\(directory.debugDescription) will not be emptied")
        }
    }

    /// Removes files that no row leads to, of this queue or of another one of this process and database.
    ///
    /// - Returns: How many.
    func sweepOrphans(olderThan age: Duration) async throws -> Int {
        let date = transfers.now().addingTimeInterval(-(age / .seconds(1)))
        return try await service.withContext { context in
            let files = try await localStorage.files(path: directory, notChangedSince: date)
            guard !files.isEmpty else { return 0 }
            var search = OrphanSearch(among: files)
            for row in try await fileLocations(in: context) {
                if let path = row.localUri {
                    search.keepStoredFile(at: path)
                    search.keepFile(at: AttachmentPath.uploadJournalPath(for: path))
                }
                guard let name = row.filename, let path = try? await paths.path(of: name) else { continue }
                search.keepFile(at: path)
                for part in AttachmentPath.downloadFiles(for: path) { search.keepFile(at: part) }
            }
            let orphans = try await search.orphans(in: localStorage)
            for orphan in orphans { try await localStorage.deleteFile(filePath: orphan) }
            return orphans.count
        }
    }

    /// Where the files of all rows are: of this table, and of those of other queues, which may have the same directory.
    private func fileLocations(in context: AttachmentContext) async throws -> [AttachmentStore.FileLocation] {
        let (store, others) = (context.store, context.storesOfOtherQueues)
        return try await db.readLock { context in
            try store.fileLocations(in: context) + others.flatMap { try $0.locationsIfThere(in: context) }
        }
    }

    /// Counts rows and bytes by state.
    func stats() async throws -> AttachmentQueueStats {
        let store = AttachmentStore(tableName: tableName)
        return try await db.readLock { try store.stats(in: $0) }
    }

    /// Logs a message about attachments.
    func log(_ severity: LogSeverity, _ message: String) {
        transfers.log(severity, message)
    }
}

// What a started queue follows.
extension AttachmentQueueParts {
    /// Follows the references and the connection until the task is cancelled.
    ///
    /// - Parameter trigger: Causes looks at the table.
    func follow(_ trigger: SyncTrigger) async {
        let watch = ReferenceWatch(
            references: references,
            process: { try await process($0, deliveredAt: $1) },
            clock: transfers.clock,
            now: transfers.now,
            logger: transfers.logger
        )
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await watch.run() }
            group.addTask { await triggerWhenConnected(trigger) }
        }
    }

    /// What failed while offline is worth another attempt.
    private func triggerWhenConnected(_ trigger: SyncTrigger) async {
        var wasConnected = true
        for await status in db.currentStatus.asFlow() {
            if status.connected, !wasConnected { trigger.fire(.hope) }
            wasConnected = status.connected
        }
    }
}

extension AttachmentQueueOptions {
    /// Puts a queue together.
    func makeParts(
        db: any PowerSyncDatabaseProtocol,
        storage: AttachmentQueueStorage,
        directory: String,
        references: @Sendable @escaping () throws -> AsyncThrowingStream<[WatchedAttachmentItem], any Error>,
        localStorage: any LocalStorageAdapter,
        environment: SyncEnvironment
    ) -> AttachmentQueueParts {
        let logger = logger ?? db.logger
        let table = SharedAttachmentTable.named(tableName, of: db)
        let service = AttachmentService(
            context: AttachmentContext(
                db: db,
                tableName: tableName,
                logger: logger,
                maxArchivedCount: archivedCacheLimit,
                now: { environment.now().millisecondsSince1970 }
            ),
            lock: table.lock
        )
        let paths =
            if let getLocalUri {
                AttachmentPaths(directory: nil, locate: getLocalUri)
            } else {
                AttachmentPaths(directory: directory, locate: { "\(directory)/\($0)" })
            }
        let transfers = TransferContext(
            transport: storage.transport(over: localStorage),
            keepsPartialDownloads: storage.keepsPartialDownloads,
            localStorage: localStorage,
            service: service.sibling(),
            directory: directory,
            paths: paths,
            options: self,
            logger: logger,
            table: table,
            progress: TransferProgressHub(),
            clock: ElapsedClock(environment.clock),
            random: environment.random,
            isDatabaseClosed: db.closedCheck(),
            now: environment.now
        )
        return AttachmentQueueParts(
            db: db,
            service: service,
            transfers: transfers,
            directory: directory,
            references: references
        )
    }
}
