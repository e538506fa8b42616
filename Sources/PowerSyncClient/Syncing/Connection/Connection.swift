import NIOConcurrencyHelpers
import PowerSyncCore

/// One `connect()`: a download loop, an upload loop and a credentials cache, run by one task until it is stopped.
///
/// ```
///   start           stop               loops have ended                      methods have returned, or 1 s later
///   ──────► running ────► stopping ────────────────────► methods of the app ────────────────────────────────────► over
/// ```
///
/// Loops are the SDK's and end as soon as they are cancelled. Methods are the app's connector's, and may take no notice: those that
/// have not returned in time are left behind, and what they return has no effect.
final class Connection: Sendable {
    /// How long methods of the connector are waited for that take no notice of their cancellation: 1 s.
    ///
    /// A method that ends when it is cancelled, or is about to, has ended before the next connection begins.
    static let returnLimit = Duration.seconds(1)

    /// Its number among those of the file.
    let id: ConnectionRules.ConnectionID
    /// What it has reached.
    var progress: ConnectionProgress { context.progress }

    private let context: SyncContext
    private let download: DownloadLoop
    private let upload: UploadLoop
    private let uploadTrigger: UploadTrigger
    /// Asks for new credentials.
    ///
    /// Coalescing: one look at the cache serves all requests before it.
    private let invalidations = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    /// Before the end, another invalidation by the app waits for it.
    private let invalidation = NIOLockedValueBox<(end: Duration?, waits: Bool, hasWaited: Bool)>((nil, false, false))
    /// Asks for the credentials that replace invalidated ones.
    ///
    /// Coalescing, as well. Apart from the invalidations, one of which may have to wait while a fetch takes long.
    private let replacements = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let loops = NIOLockedValueBox<Task<Void, Never>?>(nil)
    /// Finishes when no loop runs any more.
    private let loopsEnd = AsyncStream.makeStream(of: Void.self)

    /// Creates a connection, when no other one runs.
    ///
    /// - Parameters:
    ///   - id: Its number among those of the file.
    ///   - context: What the connection consists of.
    ///   - liveStreams: The streams for which the app holds handles.
    init(
        id: ConnectionRules.ConnectionID,
        context: SyncContext,
        liveStreams: @escaping @Sendable () -> [StreamKey]
    ) {
        let uploadTrigger = UploadTrigger()
        let download = DownloadLoop(context: context, liveStreams: liveStreams, uploadTrigger: uploadTrigger)
        let upload = UploadLoop(context: context, trigger: uploadTrigger) {
            download.send(.uploadCompleted)
        }
        self.id = id
        self.uploadTrigger = uploadTrigger
        self.context = context
        self.download = download
        self.upload = upload
    }

    /// Starts the loops and returns.
    ///
    /// - Parameters:
    ///   - loopsEnded: Called when no loop runs any more, after ``stop()``.
    ///   - isOver: Called after that, when the methods of the connector have returned or are left behind.
    func start(loopsEnded: @escaping @Sendable () -> Void, isOver: @escaping @Sendable () -> Void) {
        loops.withLockedValue { loops in
            precondition(loops == nil, "A connection was started twice")
            progress.begins { [weak download] in download?.dataWasCleared() == true }
            loops = Task {
                await self.run()
                loopsEnded()
                self.loopsEnd.continuation.finish()
                // This task was cancelled.
                await Task.ignoringCancellation { await self.waitForMethods() }
                isOver()
            }
        }
    }

    private func waitForMethods() async {
        if await context.connectorCalls.haveEnded(within: Connection.returnLimit) { return }
        context.logger.warning(
            """
            A method of the connector has not returned \(Connection.returnLimit) after its connection was ended. \
            It is not waited for any more. Let uploadData and fetchCredentials end when their task is cancelled.
            """,
            tag: LogTag.database
        )
    }

    /// Waits until no loop runs any more, after the callback that says so.
    ///
    /// Call it once. A cancelled task does not wait.
    func waitForLoops() async {
        for await _ in loopsEnd.stream {}
    }

    /// Cancels the loops and the methods of the connector.
    func stop() {
        loops.withLockedValue { $0 }?.cancel()
        context.connectorCalls.cancel()
    }

    /// Asks for a checkpoint that covers everything the backend has committed.
    ///
    /// - Parameter status: Shows what is applied.
    /// - Returns: The request, when the service has accepted it.
    /// - Throws: ``CheckpointRequestError``, `CancellationError`.
    func requestCheckpoint(shownBy status: LiveSyncStatus) async throws -> any CheckpointRequest {
        guard context.options.mode.downloads else {
            throw CheckpointRequestError.operationFailed(
                message:
                    "This connection only uploads (ConnectOptions.mode): no checkpoint would show what is asked for"
            )
        }
        guard let requests = context.checkpointRequests else {
            throw CheckpointRequestError.checkpointRequestsNotEnabled
        }
        do {
            let id = try await requests.request()
            return AcceptedCheckpointRequest(id: id, status: status, clock: context.clock)
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
    /// - Parameter stored: The subscription that was stored, if one was.
    /// - Returns: Whether an iteration runs that deals with it.
    func subscriptionsChanged(_ stored: StreamStatus?) -> Bool {
        download.subscriptionsChanged(stored)
    }

    /// Drops the credentials; the stream stays open until there are new ones, or none can be got.
    ///
    /// Another call before the interval between two attempts has passed waits for its end: the app may call because
    /// `fetchCredentials` itself has made new ones, and would do so without end.
    func invalidateCredentials() {
        let now = context.clock.now
        let countsAtOnce = invalidation.withLockedValue { invalidation in
            if let end = invalidation.end, now < end {
                invalidation.waits = true
            } else {
                invalidation.end = now + context.options.retryInterval
            }
            return !invalidation.waits
        }
        if countsAtOnce { context.credentials.invalidate() }
        invalidations.continuation.yield()
    }

    private func awaitInvalidation() async throws {
        let (end, waits, hasWaited) = invalidation.withLockedValue { $0 }
        guard waits, let end else { return }
        if !hasWaited {
            context.log(
                .warning,
                "The credentials were invalidated again within \(context.options.retryInterval): fetching new ones after that. "
                    + "This happens when fetchCredentials causes it."
            )
        }
        try await context.clock.sleep(until: end)
        let now = context.clock.now
        invalidation.withLockedValue { $0 = (now + context.options.retryInterval, false, true) }
        context.credentials.invalidate()
    }

    private func invalidateWhenTimeHasCome() async {
        for await _ in invalidations.stream {
            guard (try? await awaitInvalidation()) != nil else { return }
            replacements.continuation.yield()
        }
    }

    private func replaceInvalidatedCredentials() async {
        for await _ in replacements.stream {
            let credentials = try? await context.credentials.credentials()
            if Task.isCancelled { return }
            download.restart(unlessUsing: credentials)
        }
    }

    private func run() async {
        // From here on, so that no write after the connection is missed.
        let appended = ChangeListener(onNews: { [uploadTrigger] in uploadTrigger.fire(.news) })
        context.database.changes.add(appended, interest: .appendedEntries)
        let requests = context.checkpointRequests
        defer {
            context.database.changes.remove(appended)
            requests?.end()
        }
        await withTaskGroup { tasks in
            if let requests, context.options.mode.downloads {
                tasks.addTask { [context] in
                    await requests.repost(unless: context.progress.hasApplied) { error in
                        context.log(.warning, "A checkpoint request could not be repeated: \(error.lineOfText)")
                    }
                }
            }
            tasks.addTask { await self.invalidateWhenTimeHasCome() }
            tasks.addTask { await self.replaceInvalidatedCredentials() }
            tasks.addTask { await self.upload.run() }
            if context.options.mode.downloads { tasks.addTask { await self.download.run() } }
        }
        await context.credentials.end()
        progress.ended()
    }
}
