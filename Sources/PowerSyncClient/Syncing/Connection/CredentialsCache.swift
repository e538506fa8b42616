import NIOConcurrencyHelpers

/// The credentials of one connection: fetched when first needed, kept, renewed, dropped when the service refuses them.
///
/// ```
///            wanted                 fetched
///  nothing ──────────► fetching ──────────────► credentials ◄─┐
///    ▲  ▲                │  ▲                    │   │  ▲     │
///    │  └──── failed ────┘  │ rejected   refresh │   │  │     │
///    │                      └───── fetching ◄────┘   │  │     │
///    │                             beside them ──────┼──┘ fetched, or failed
///    └────────────────── rejected, invalidated ──────┘
/// ```
///
/// At most one fetch counts, and all that wait share it; it survives the request that has asked for it. When the app invalidates
/// credentials during a fetch, that fetch does not count any more, and another one begins at once for those that wait: the first may
/// never return. What it returns has no effect. It goes on until its limit or the end of the connection: it may be in the middle of
/// renewing a session.
final class CredentialsCache: Sendable {
    private struct State: WaitedState {
        /// The credentials to use, if there are any.
        var current: ServiceCredentials?
        /// The fetch that counts, if one runs.
        var fetch: UInt64?
        /// The fetches that run.
        var tasks: [UInt64: Task<Void, Never>] = [:]
        var lastFetch: UInt64 = 0
        /// The service that the last credentials were for.
        var endpoint: ServiceEndpoint?
        /// Whether the connection is over.
        var isOver = false
        /// Wait for the fetch, or for its beginning.
        var waiters = Waiters<ServiceCredentials?>()

        /// Ends a fetch.
        ///
        /// - Returns: The waiters; `nil` when the fetch does not count.
        mutating func ended(_ number: UInt64) -> [Waiters<ServiceCredentials?>.Waiter]? {
            tasks[number] = nil
            guard fetch == number else { return nil }
            fetch = nil
            return waiters.takeAll()
        }
    }

    private typealias Waiting = [Waiters<ServiceCredentials?>.Waiter]

    private let configuration: SyncClientConfiguration?
    private let fetch: @Sendable () async throws -> PowerSyncCredentials?
    private let endpointChanged: @Sendable (ServiceEndpoint) -> Void
    private let state = NIOLockedValueBox(State())

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
    }

    /// Credentials for a request: the cached ones, else fetched ones.
    ///
    /// - Throws: What the app's `fetchCredentials` throws, ``PowerSyncError`` when its result cannot be used, or
    ///   `CancellationError`.
    func credentials() async throws -> ServiceCredentials {
        let credentials = try await state.wait { state in
            if state.isOver { return .failure(CancellationError()) }
            return state.current.map { .success($0) }
        } whenWaiting: {
            fetchIfAwaited()
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
    /// - Returns: The new credentials. Those that are in use, at once, when a fetch runs already: the caller that has begun it gets its
    ///   result.
    /// - Throws: As ``credentials()``. The old credentials then stay.
    func refresh(replacing expiring: ServiceCredentials?) async throws -> ServiceCredentials? {
        try await state.wait { state in
            if state.isOver { return .success(nil) }
            let isReplaced = expiring != nil && state.current != nil && state.current != expiring
            return state.fetch != nil || isReplaced ? .success(state.current) : nil
        } whenWaiting: {
            fetchIfAwaited()
        }
    }

    /// Drops all credentials; those of a fetch in flight will not be used either, and what waits for it gets those of another one.
    func invalidate() {
        state.withLockedValue { ($0.current, $0.fetch) = (nil, nil) }
        fetchIfAwaited()
    }

    /// Drops credentials that the service refused or that expired, unless they have been replaced already.
    func invalidate(_ rejected: ServiceCredentials) {
        state.withLockedValue { state in
            if state.current == rejected { state.current = nil }
        }
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

    /// The connection is over: nothing is fetched any more, and what waits is cancelled.
    ///
    /// Cancels the fetches that run, and waits for their end.
    func end() async {
        let (tasks, waiters) = state.withLockedValue { state in
            (state.current, state.fetch) = (nil, nil)
            state.isOver = true
            return (Array(state.tasks.values), state.waiters.takeAll())
        }
        for task in tasks { task.cancel() }
        for waiter in waiters { waiter.resume(throwing: CancellationError()) }
        for task in tasks { await task.value }
    }

    /// Begins a fetch if none runs that is waited for.
    private func fetchIfAwaited() {
        state.withLockedValue { state in
            guard state.fetch == nil, !state.waiters.isEmpty else { return }
            state.lastFetch += 1
            let number = state.lastFetch
            state.fetch = number
            // Detached: it is the connection's, and has nothing to do with the call of the app that asks for it.
            state.tasks[number] = Task.detached { [self] in await run(number) }
        }
    }

    private func run(_ number: UInt64) async {
        do {
            var credentials = try ServiceCredentials(try await fetch())
            credentials.additionalHeaders = configuration?.httpClient.exchange.additionalHeaders ?? [:]
            credentials.trustedAuthorities = configuration?.trustedAuthorities
            credentials.httpClient = configuration?.httpClient
            let (waiters, isOtherEndpoint) = state.withLockedValue { [credentials] state -> (Waiting, Bool) in
                guard let waiters = state.ended(number) else { return ([], false) }
                let isOther = state.endpoint != credentials.endpoint
                (state.current, state.endpoint) = (credentials, credentials.endpoint)
                return (waiters, isOther)
            }
            if isOtherEndpoint { endpointChanged(credentials.endpoint) }
            for waiter in waiters { waiter.resume(returning: credentials) }
        } catch {
            for waiter in state.withLockedValue({ $0.ended(number) }) ?? [] { waiter.resume(throwing: error) }
        }
    }
}
