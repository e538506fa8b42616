import PowerSyncCore
import Synchronization

/// One `connect()`: a download loop, an upload loop and a credentials cache, run by one task until it is stopped.
final class SyncSession: Sendable {
    private let context: SyncContext
    private let download: DownloadLoop
    private let upload: UploadLoop
    private let uploadTrigger: UploadTrigger
    /// Asks for new credentials.
    ///
    /// Coalescing: one look at the cache serves all requests before it.
    private let invalidations = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    /// The loops of this session, which are started last, and those of earlier sessions that they wait for.
    private let tasks = Mutex<[Task<Void, Never>]>([])

    /// The session that the current task belongs to: set in its loops, and thereby in the connector's methods.
    @TaskLocal private static var current: SyncSession?

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - context: What the connection consists of.
    ///   - liveStreams: The streams for which the app holds handles.
    init(context: SyncContext, liveStreams: @escaping @Sendable () -> [StreamKey]) {
        let uploadTrigger = UploadTrigger()
        let download = DownloadLoop(context: context, liveStreams: liveStreams, uploadTrigger: uploadTrigger)
        let upload = UploadLoop(context: context, trigger: uploadTrigger) {
            download.send(.uploadCompleted)
        }
        self.uploadTrigger = uploadTrigger
        self.context = context
        self.download = download
        self.upload = upload
    }

    /// Starts the loops and returns.
    ///
    /// - Parameter predecessors: The loops of sessions that were stopped; these start when those have ended.
    func start(after predecessors: [Task<Void, Never>]) {
        tasks.withLock { tasks in
            precondition(tasks.isEmpty, "A sync session was started twice")
            let loops = Task {
                for predecessor in predecessors { await predecessor.value }
                await Self.$current.withValue(self) { await self.run() }
            }
            tasks = predecessors + [loops]
        }
    }

    /// Ends the loops and waits for their end.
    ///
    /// Works in a cancelled task as well.
    ///
    /// - Returns: As ``end(of:)``.
    func stop() async -> [Task<Void, Never>] {
        let tasks = tasks.withLock { $0 }
        tasks.last?.cancel()
        return await Self.end(of: tasks)
    }

    /// Waits for the end of loops that were stopped.
    ///
    /// Does not wait in a method of the connector of one of them: the end of the session waits for that method, so an app that
    /// disconnects there would wait for itself.
    ///
    /// - Returns: The loops that may not have ended.
    static func end(of tasks: [Task<Void, Never>]) async -> [Task<Void, Never>] {
        if let current = current?.tasks.withLock({ $0.last }), tasks.contains(current) { return tasks }
        for task in tasks { await task.value }
        return []
    }

    /// Asks for a checkpoint that covers everything the backend has committed.
    ///
    /// - Returns: The request, when the service has accepted it.
    /// - Throws: ``CheckpointRequestError``, `CancellationError`.
    func requestCheckpoint() async throws -> any CheckpointRequest {
        guard let requests = context.checkpointRequests else {
            throw CheckpointRequestError.checkpointRequestsNotEnabled
        }
        do {
            let id = try await requests.request()
            return AcceptedCheckpointRequest(id: id, status: context.status, clock: context.clock)
        } catch let error as CheckpointRequestError {
            throw error
        } catch let error as CancellationError {
            throw error
        } catch let error as SyncTransportError where error.httpStatus == 404 {
            throw CheckpointRequestError.instanceNotSupported
        } catch {
            throw CheckpointRequestError.operationFailed(
                message: "The checkpoint could not be requested",
                underlyingError: error
            )
        }
    }

    /// The app's stream handles or the subscription table changed.
    ///
    /// - Returns: Whether an iteration runs that deals with it.
    func subscriptionsChanged(live: [StreamKey]) -> Bool {
        download.send(.subscriptionsChanged(live: live))
    }

    /// Drops the credentials; the stream stays open until there are new ones, or none can be got.
    func invalidateCredentials() {
        context.credentials.invalidate()
        invalidations.continuation.yield()
    }

    private func replaceInvalidatedCredentials() async {
        for await _ in invalidations.stream {
            let credentials = try? await context.credentials.credentials()
            if Task.isCancelled { return }
            download.restart(unlessUsing: credentials)
        }
    }

    private func run() async {
        // Followed from here on, so that no write after the connection is missed.
        let queueChanges = context.database.uploadQueueChanges()
        let requests = context.checkpointRequests
        defer { requests?.end() }
        context.report { activity, _ in
            activity.started()
            return nil
        }
        await withTaskGroup { tasks in
            if let requests {
                tasks.addTask { [context] in
                    await requests.repost(unless: context.status.hasApplied) { error in
                        context.log(.warning, "A checkpoint request could not be repeated: \(error)")
                    }
                }
            }
            tasks.addTask { await self.context.credentials.run() }
            tasks.addTask { await self.replaceInvalidatedCredentials() }
            tasks.addTask { await self.upload.run() }
            tasks.addTask { await self.download.run() }
            tasks.addTask {
                for await _ in queueChanges {
                    self.uploadTrigger.fire(.news)
                }
            }
        }
    }
}
