extension CredentialsCache {
    /// What is known about credentials, and who waits for them.
    ///
    /// ```
    ///            wanted                 fetched
    ///  empty ───────────▶ fetching ───────────────▶ cached
    ///    ▲ ▲               │    ▲                   │  ▲ │
    ///    │ └── failed ─────┘    │ rejected  refresh │  │ │
    ///    │                      └─── refreshing ◀───┘  │ │
    ///    │                               └─ fetched/failed
    ///    └──────────────────── rejected ─────────────────┘
    /// ```
    ///
    /// At most one fetch counts. When the app invalidates credentials during a fetch, that fetch does not count any more, and
    /// another one begins at once for those who wait: the first may never return. Nothing leaves `stopped`.
    struct StateMachine<Waiter: Sendable>: Sendable {
        /// Somebody who waits for a fetch.
        struct Entry: Sendable {
            var id: UInt64
            var waiter: Waiter
        }

        private enum State: Sendable {
            /// Nothing is known; nobody asked.
            case empty
            /// A fetch is in flight and there is nothing to use meanwhile.
            case fetching(FetchID, [Entry])
            /// Credentials to use.
            case cached(ServiceCredentials)
            /// Credentials to use while newer ones are being fetched.
            case refreshing(ServiceCredentials, FetchID, [Entry])
            /// The connection is over.
            case stopped
        }

        private var state = State.empty
        private var fetches: UInt64 = 0
        /// The service that the last credentials were for.
        private var endpoint: ServiceEndpoint?

        private mutating func newFetch() -> FetchID {
            fetches += 1
            return FetchID(number: fetches)
        }

        /// What to do for somebody who wants credentials.
        enum WantAction: Sendable {
            /// Use these.
            case use(ServiceCredentials)
            /// Wait, and start a fetch.
            case fetch(FetchID)
            /// Wait for the fetch in flight.
            case wait
            /// The connection is over.
            case fail
        }

        /// Somebody needs credentials for a request.
        mutating func credentialsWanted(by entry: Entry) -> WantAction {
            switch state {
            case .empty:
                let fetch = newFetch()
                state = .fetching(fetch, [entry])
                return .fetch(fetch)
            case .fetching(let fetch, let entries):
                state = .fetching(fetch, entries + [entry])
                return .wait
            case .cached(let credentials), .refreshing(let credentials, _, _):
                return .use(credentials)
            case .stopped:
                return .fail
            }
        }

        /// What to do for somebody who wants newer credentials.
        enum RefreshAction: Equatable, Sendable {
            /// Wait, and start a fetch.
            case fetch(FetchID)
            /// A fetch is in flight already, or has ended; whoever started it hears of its end.
            case none
        }

        /// The credentials in use expire soon.
        ///
        /// - Parameters:
        ///   - entry: Who hears of the new ones.
        ///   - expiring: The credentials that expire; others that are there already are new enough.
        /// - Returns: What to do.
        mutating func refreshWanted(by entry: Entry, replacing expiring: ServiceCredentials? = nil) -> RefreshAction {
            switch state {
            case .cached(let credentials) where expiring != nil && credentials != expiring:
                return .none
            case .empty:
                let fetch = newFetch()
                state = .fetching(fetch, [entry])
                return .fetch(fetch)
            case .cached(let credentials):
                let fetch = newFetch()
                state = .refreshing(credentials, fetch, [entry])
                return .fetch(fetch)
            case .fetching, .refreshing, .stopped:
                return .none
            }
        }

        /// The service did not accept credentials, or they expired.
        ///
        /// Others that have replaced them stay.
        mutating func rejected(_ rejected: ServiceCredentials) {
            switch state {
            case .cached(let credentials) where credentials == rejected:
                state = .empty
            case .refreshing(let credentials, let fetch, let entries) where credentials == rejected:
                state = .fetching(fetch, entries)
            case .empty, .fetching, .cached, .refreshing, .stopped:
                break
            }
        }

        /// The app says that no credentials from before this moment are to be used.
        ///
        /// - Returns: The fetch to start for those who wait, if there are any.
        mutating func invalidated() -> FetchID? {
            switch state {
            case .cached:
                state = .empty
            case .fetching(_, let entries), .refreshing(_, _, let entries):
                guard !entries.isEmpty else {
                    state = .empty
                    return nil
                }
                let fetch = newFetch()
                state = .fetching(fetch, entries)
                return fetch
            case .empty, .stopped:
                break
            }
            return nil
        }

        /// The credentials to use, if there are any.
        var current: ServiceCredentials? {
            switch state {
            case .cached(let current), .refreshing(let current, _, _): current
            case .empty, .fetching, .stopped: nil
            }
        }

        /// The credentials of a fetch that counts.
        struct News: Sendable {
            /// Who gets them.
            var entries: [Entry]
            /// Whether they are for another service than those before, or the first ones.
            var isOtherEndpoint: Bool
        }

        /// A fetch succeeded.
        ///
        /// - Returns: Who gets the credentials; `nil` when the fetch does not count.
        mutating func fetched(_ credentials: ServiceCredentials, by fetch: FetchID) -> News? {
            switch state {
            case .fetching(fetch, let entries), .refreshing(_, fetch, let entries):
                state = .cached(credentials)
                defer { endpoint = credentials.endpoint }
                return News(entries: entries, isOtherEndpoint: endpoint != credentials.endpoint)
            case .empty, .fetching, .cached, .refreshing, .stopped:
                return nil
            }
        }

        /// A fetch failed.
        ///
        /// - Returns: Who gets the error: nobody when the fetch does not count.
        mutating func failed(_ fetch: FetchID) -> [Entry] {
            switch state {
            case .fetching(fetch, let entries):
                state = .empty
                return entries
            case .refreshing(let credentials, fetch, let entries):
                state = .cached(credentials)
                return entries
            case .empty, .fetching, .cached, .refreshing, .stopped:
                return []
            }
        }

        /// Somebody no longer waits.
        ///
        /// The fetch in flight goes on.
        ///
        /// - Returns: Who it is; `nil` when the wait was over already.
        mutating func cancelled(id: UInt64) -> Entry? {
            switch state {
            case .fetching(let fetch, var entries):
                guard let index = entries.firstIndex(where: { $0.id == id }) else { return nil }
                let entry = entries.remove(at: index)
                state = .fetching(fetch, entries)
                return entry
            case .refreshing(let credentials, let fetch, var entries):
                guard let index = entries.firstIndex(where: { $0.id == id }) else { return nil }
                let entry = entries.remove(at: index)
                state = .refreshing(credentials, fetch, entries)
                return entry
            case .empty, .cached, .stopped:
                return nil
            }
        }

        /// The connection is over.
        ///
        /// - Returns: Who is still waiting.
        mutating func stopped() -> [Entry] {
            defer { state = .stopped }
            switch state {
            case .fetching(_, let entries), .refreshing(_, _, let entries): return entries
            case .empty, .cached, .stopped: return []
            }
        }
    }

    /// A call of the app's `fetchCredentials`.
    struct FetchID: Hashable, Sendable {
        fileprivate let number: UInt64
    }
}
