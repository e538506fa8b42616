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
    /// At most one fetch is in flight. When the app invalidates credentials during a fetch, its result does not count, and
    /// another fetch follows (`refetching`). Nothing leaves `stopped`.
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
            case fetching([Entry])
            /// Credentials to use.
            case cached(ServiceCredentials)
            /// Credentials to use while newer ones are being fetched.
            case refreshing(ServiceCredentials, [Entry])
            /// A fetch is in flight that began before the app invalidated all credentials.
            case refetching([Entry])
            /// The connection is over.
            case stopped
        }

        private var state = State.empty

        /// What to do for somebody who wants credentials.
        enum WantAction: Sendable {
            /// Use these.
            case use(ServiceCredentials)
            /// Wait, and start a fetch.
            case fetch
            /// Wait for the fetch in flight.
            case wait
            /// The connection is over.
            case fail
        }

        /// Somebody needs credentials for a request.
        mutating func credentialsWanted(by entry: Entry) -> WantAction {
            switch state {
            case .empty:
                state = .fetching([entry])
                return .fetch
            case .fetching(let entries):
                state = .fetching(entries + [entry])
                return .wait
            case .refetching(let entries):
                state = .refetching(entries + [entry])
                return .wait
            case .cached(let credentials), .refreshing(let credentials, _):
                return .use(credentials)
            case .stopped:
                return .fail
            }
        }

        /// What to do for somebody who wants newer credentials.
        enum RefreshAction: Sendable {
            /// Wait, and start a fetch.
            case fetch
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
                state = .fetching([entry])
                return .fetch
            case .cached(let credentials):
                state = .refreshing(credentials, [entry])
                return .fetch
            case .fetching, .refreshing, .refetching, .stopped:
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
            case .refreshing(let credentials, let entries) where credentials == rejected:
                state = .fetching(entries)
            case .empty, .fetching, .cached, .refreshing, .refetching, .stopped:
                break
            }
        }

        /// The app says that no credentials from before this moment are to be used.
        mutating func invalidated() {
            switch state {
            case .cached:
                state = .empty
            case .fetching(let entries), .refreshing(_, let entries):
                state = .refetching(entries)
            case .empty, .refetching, .stopped:
                break
            }
        }

        /// The credentials to use, if there are any.
        var current: ServiceCredentials? {
            switch state {
            case .cached(let current), .refreshing(let current, _): current
            case .empty, .fetching, .refetching, .stopped: nil
            }
        }

        /// What to do after a fetch.
        enum FetchAction: Sendable {
            /// These get its result.
            case resume([Entry])
            /// The result does not count; fetch once more.
            case fetch
        }

        /// The fetch in flight succeeded.
        ///
        /// - Returns: Who gets the credentials.
        mutating func fetched(_ credentials: ServiceCredentials) -> FetchAction {
            switch state {
            case .fetching(let entries), .refreshing(_, let entries):
                state = .cached(credentials)
                return .resume(entries)
            case .refetching(let entries):
                state = .fetching(entries)
                return .fetch
            case .stopped:
                return .resume([])
            case .empty, .cached:
                preconditionFailure("Credentials arrived that nobody fetched")
            }
        }

        /// The fetch in flight failed.
        ///
        /// - Returns: Who gets the error.
        mutating func fetchFailed() -> FetchAction {
            switch state {
            case .fetching(let entries):
                state = .empty
                return .resume(entries)
            case .refreshing(let credentials, let entries):
                state = .cached(credentials)
                return .resume(entries)
            case .refetching(let entries):
                state = .fetching(entries)
                return .fetch
            case .stopped:
                return .resume([])
            case .empty, .cached:
                preconditionFailure("A fetch of credentials failed that nobody started")
            }
        }

        /// Somebody no longer waits.
        ///
        /// The fetch in flight goes on.
        ///
        /// - Returns: Who it is; `nil` when the wait was over already.
        mutating func cancelled(id: UInt64) -> Entry? {
            switch state {
            case .fetching(var entries):
                guard let index = entries.firstIndex(where: { $0.id == id }) else { return nil }
                let entry = entries.remove(at: index)
                state = .fetching(entries)
                return entry
            case .refreshing(let credentials, var entries):
                guard let index = entries.firstIndex(where: { $0.id == id }) else { return nil }
                let entry = entries.remove(at: index)
                state = .refreshing(credentials, entries)
                return entry
            case .refetching(var entries):
                guard let index = entries.firstIndex(where: { $0.id == id }) else { return nil }
                let entry = entries.remove(at: index)
                state = .refetching(entries)
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
            case .fetching(let entries), .refreshing(_, let entries), .refetching(let entries): return entries
            case .empty, .cached, .stopped: return []
            }
        }
    }
}
