import NIOConcurrencyHelpers

/// The credentials of one connection: fetched when first needed, kept, renewed, dropped when the service refuses them.
///
/// Requests of the download and the upload share one fetch. Fetching happens in ``run()``, so that a fetch survives
/// the request that asked for it. A fetch that was overtaken by an invalidation goes on beside its successor, and is ignored.
final class CredentialsCache: Sendable {
    /// Resumed with `nil` when there is nothing to wait for.
    private typealias Waiter = CheckedContinuation<ServiceCredentials?, any Error>

    private let configuration: SyncClientConfiguration?
    private let fetch: @Sendable () async throws -> PowerSyncCredentials?
    private let endpointChanged: @Sendable (ServiceEndpoint) -> Void
    private let state = NIOLockedValueBox(StateMachine<Waiter>())
    private let lastID = NIOLockedValueBox<UInt64>(0)
    /// Asks ``run()`` to fetch once more.
    ///
    /// Only the newest fetch counts, but none is left out: they are put in outside the lock, so that the newest need not be the last.
    private let fetchRequests: (stream: AsyncStream<FetchID>, continuation: AsyncStream<FetchID>.Continuation)

    /// Creates an empty cache.
    ///
    /// - Parameters:
    ///   - configuration: Says what goes with each use of the credentials.
    ///   - fetch: The app's `fetchCredentials`.
    ///   - endpointChanged: Called when credentials name another service than those before, and for the first ones.
    init(
        configuration: SyncClientConfiguration? = nil,
        fetch: @escaping @Sendable () async throws -> PowerSyncCredentials?,
        endpointChanged: @escaping @Sendable (ServiceEndpoint) -> Void
    ) {
        self.configuration = configuration
        self.fetch = fetch
        self.endpointChanged = endpointChanged
        fetchRequests = AsyncStream.makeStream(bufferingPolicy: .unbounded)
    }

    /// Fetches whenever it is asked to, until the task is cancelled.
    func run() async {
        await withTaskGroup(of: Step.self) { steps in
            steps.addTask { await self.nextRequest() }
            for await step in steps {
                guard case .requested(let id) = step else { continue }
                // Those that do not count any more go on until their limit: they may be in the middle of renewing a session.
                steps.addTask {
                    await self.fetch(id)
                    return .fetched
                }
                steps.addTask { await self.nextRequest() }
            }
        }
        for entry in state.withLockedValue({ $0.stopped() }) {
            entry.waiter.resume(throwing: CancellationError())
        }
    }

    private enum Step: Sendable {
        case requested(FetchID)
        case fetched
        case cancelled
    }

    private func nextRequest() async -> Step {
        for await id in fetchRequests.stream { return .requested(id) }
        return .cancelled
    }

    private func fetch(_ id: FetchID) async {
        do {
            var credentials = try ServiceCredentials(try await fetch())
            credentials.additionalHeaders = configuration?.httpClient.exchange.additionalHeaders ?? [:]
            credentials.trustedAuthorities = configuration?.trustedAuthorities
            credentials.httpClient = configuration?.httpClient
            guard let news = state.withLockedValue({ $0.fetched(credentials, by: id) }) else { return }
            if news.isOtherEndpoint { endpointChanged(credentials.endpoint) }
            for entry in news.entries { entry.waiter.resume(returning: credentials) }
        } catch {
            for entry in state.withLockedValue({ $0.failed(id) }) { entry.waiter.resume(throwing: error) }
        }
    }

    /// Credentials for a request: the cached ones, else fetched ones.
    ///
    /// - Throws: What the app's `fetchCredentials` throws, ``PowerSyncError`` when its result cannot be used, or
    ///   `CancellationError`.
    func credentials() async throws -> ServiceCredentials {
        let credentials = try await wait { state, entry in
            switch state.credentialsWanted(by: entry) {
            case .use(let credentials): .resume(credentials)
            case .fetch(let id): .fetch(id)
            case .wait: .wait
            case .fail: .fail
            }
        }
        guard let credentials else { throw CancellationError() }
        return credentials
    }

    /// Runs a request with credentials, and drops them when the service refuses them.
    ///
    /// - Throws: As ``credentials()``, and what the request throws.
    func withCredentials<Result: Sendable>(
        _ request: @Sendable (ServiceCredentials) async throws -> Result
    ) async throws -> Result {
        let credentials = try await credentials()
        do {
            return try await request(credentials)
        } catch let error as SyncTransportError where error.isUnauthorized {
            invalidate(credentials)
            throw error
        }
    }

    /// Replaces the cached credentials in the background; they stay in use until the new ones are there.
    ///
    /// - Parameter expiring: The credentials that expire; others that are there already are new enough.
    /// - Returns: The new credentials; `nil`, at once, when somebody else is fetching already, or has.
    /// - Throws: As ``credentials()``. The old credentials then stay.
    func refresh(replacing expiring: ServiceCredentials?) async throws -> ServiceCredentials? {
        try await wait { state, entry in
            switch state.refreshWanted(by: entry, replacing: expiring) {
            case .fetch(let id): .fetch(id)
            case .none: .resume(nil)
            }
        }
    }

    private enum WaitAction {
        case resume(ServiceCredentials?)
        case fetch(FetchID)
        case wait
        case fail
    }

    private func wait(
        _ transition: (inout StateMachine<Waiter>, StateMachine<Waiter>.Entry) -> WaitAction
    ) async throws -> ServiceCredentials? {
        let id = lastID.withLockedValue { id in
            id += 1
            return id
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: Waiter) in
                let action = state.withLockedValue { state -> WaitAction in
                    if Task.isCancelled { return .fail }
                    return transition(&state, StateMachine<Waiter>.Entry(id: id, waiter: waiter))
                }
                switch action {
                case .resume(let credentials): waiter.resume(returning: credentials)
                case .fetch(let id): fetchRequests.continuation.yield(id)
                case .wait: break
                case .fail: waiter.resume(throwing: CancellationError())
                }
            }
        } onCancel: {
            state.withLockedValue { $0.cancelled(id: id) }?.waiter.resume(throwing: CancellationError())
        }
    }

    /// Drops all credentials; those of a fetch in flight will not be used either, and who waits for it gets those of another one.
    func invalidate() {
        if let id = state.withLockedValue({ $0.invalidated() }) { fetchRequests.continuation.yield(id) }
    }

    /// The credentials to use, if there are any.
    var current: ServiceCredentials? {
        state.withLockedValue { $0.current }
    }

    /// Whether credentials are the ones to use.
    ///
    /// If not, they have been dropped or replaced.
    func isCurrent(_ credentials: ServiceCredentials) -> Bool {
        current == credentials
    }

    /// Drops credentials that the service refused or that expired, unless they have been replaced already.
    func invalidate(_ rejected: ServiceCredentials) {
        state.withLockedValue { $0.rejected(rejected) }
    }
}
