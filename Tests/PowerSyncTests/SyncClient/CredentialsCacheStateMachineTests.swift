import Testing

@testable import PowerSyncClient

@Suite struct CredentialsCacheStateMachineTests {
    typealias Machine = CredentialsCache.StateMachine<String>

    private let old: ServiceCredentials
    private let new: ServiceCredentials
    private var machine = Machine()

    init() throws {
        let endpoint = try ServiceEndpoint("https://sync.test")
        old = ServiceCredentials(endpoint: endpoint, token: "old")
        new = ServiceCredentials(endpoint: endpoint, token: "new")
    }

    private func entry(_ id: UInt64) -> Machine.Entry {
        Machine.Entry(id: id, waiter: "waiter \(id)")
    }

    private mutating func fetchWanted(by id: UInt64) throws -> CredentialsCache.FetchID {
        let action = machine.credentialsWanted(by: entry(id))
        return try #require(action.fetch)
    }

    private mutating func refreshWanted(by id: UInt64) throws -> CredentialsCache.FetchID {
        let action = machine.refreshWanted(by: entry(id), replacing: old)
        return try #require(action.fetch)
    }

    private mutating func invalidated() throws -> CredentialsCache.FetchID {
        let fetch = machine.invalidated()
        return try #require(fetch)
    }

    @Test mutating func concurrentDemandsShareOneFetch() throws {
        let fetch = try fetchWanted(by: 1)
        #expect(machine.credentialsWanted(by: entry(2)).isWait)
        let fetched = machine.fetched(old, by: fetch)
        let news = try #require(fetched)
        #expect(news.entries.map(\.id) == [1, 2])
        #expect(news.isOtherEndpoint)
        #expect(machine.credentialsWanted(by: entry(3)).credentials == old)
    }

    @Test mutating func failedFetchIsRepeatedByTheNextDemand() throws {
        let fetch = try fetchWanted(by: 1)
        #expect(machine.failed(fetch).map(\.id) == [1])
        #expect(machine.credentialsWanted(by: entry(2)).fetch != nil)
    }

    @Test mutating func oldCredentialsStayInUseDuringARefresh() throws {
        try cacheOld()
        let fetch = try refreshWanted(by: 2)
        #expect(machine.credentialsWanted(by: entry(3)).credentials == old)
        #expect(machine.refreshWanted(by: entry(4)) == .none)
        let fetched = machine.fetched(new, by: fetch)
        let news = try #require(fetched)
        #expect(news.entries.map(\.id) == [2])
        #expect(!news.isOtherEndpoint)
        #expect(machine.credentialsWanted(by: entry(5)).credentials == new)
    }

    /// A keepalive is handled after the refresh that an earlier one started has ended.
    @Test mutating func lateRefreshOfReplacedCredentialsFetchesNothing() throws {
        try cacheOld()
        let fetch = try refreshWanted(by: 2)
        #expect(machine.fetched(new, by: fetch)?.entries.map(\.id) == [2])
        #expect(machine.refreshWanted(by: entry(3), replacing: old) == .none)
        #expect(machine.refreshWanted(by: entry(4), replacing: new).fetch != nil)
    }

    @Test mutating func failedRefreshKeepsTheOldCredentials() throws {
        try cacheOld()
        let fetch = try refreshWanted(by: 2)
        #expect(machine.failed(fetch).map(\.id) == [2])
        #expect(machine.credentialsWanted(by: entry(3)).credentials == old)
        #expect(machine.refreshWanted(by: entry(4)).fetch != nil)
    }

    @Test mutating func rejectedCredentialsAreDropped() throws {
        try cacheOld()
        machine.rejected(old)
        #expect(machine.credentialsWanted(by: entry(2)).fetch != nil)
    }

    @Test mutating func rejectionOfReplacedCredentialsHasNoEffect() throws {
        try cacheOld()
        let fetch = try refreshWanted(by: 2)
        _ = machine.fetched(new, by: fetch)
        machine.rejected(old)
        #expect(machine.credentialsWanted(by: entry(3)).credentials == new)
    }

    @Test mutating func rejectionDuringARefreshMakesDemandsWaitForIt() throws {
        try cacheOld()
        let fetch = try refreshWanted(by: 2)
        machine.rejected(old)
        #expect(machine.credentialsWanted(by: entry(3)).isWait)
        #expect(machine.fetched(new, by: fetch)?.entries.map(\.id) == [2, 3])
    }

    @Test mutating func cancelledWaiterIsReturnedOnceAndTheFetchGoesOn() throws {
        let fetch = try fetchWanted(by: 1)
        #expect(machine.cancelled(id: 1)?.waiter == "waiter 1")
        #expect(machine.cancelled(id: 1) == nil)
        #expect(machine.fetched(old, by: fetch)?.entries.isEmpty == true)
        #expect(machine.credentialsWanted(by: entry(2)).credentials == old)
    }

    @Test mutating func cancelledRefreshIsReturnedOnceAndTheOldCredentialsStay() throws {
        try cacheOld()
        let fetch = try refreshWanted(by: 2)
        #expect(machine.cancelled(id: 2)?.waiter == "waiter 2")
        #expect(machine.cancelled(id: 2) == nil)
        #expect(machine.current == old)
        #expect(machine.fetched(new, by: fetch)?.entries.isEmpty == true)
        #expect(machine.current == new)
    }

    @Test mutating func nothingIsFetchedAfterTheEnd() throws {
        let fetch = try fetchWanted(by: 1)
        #expect(machine.stopped().map(\.id) == [1])
        #expect(machine.fetched(old, by: fetch) == nil)
        #expect(machine.credentialsWanted(by: entry(2)).isFail)
        #expect(machine.refreshWanted(by: entry(3)) == .none)
        #expect(machine.invalidated() == nil)
    }

    @Test mutating func invalidatedCredentialsAreDropped() throws {
        try cacheOld()
        #expect(machine.current == old)
        #expect(machine.invalidated() == nil)
        #expect(machine.current == nil)
        #expect(machine.credentialsWanted(by: entry(2)).fetch != nil)
    }

    /// When a fetch ends that began before the app invalidated all credentials.
    enum End: CaseIterable {
        case succeedsBefore, failsBefore, succeedsAfter, failsAfter, never
    }

    @Test(arguments: End.allCases)
    mutating func fetchFromBeforeTheInvalidationDoesNotCountHoweverAndWheneverItEnds(_ end: End) throws {
        let first = try fetchWanted(by: 1)
        let second = try invalidated()
        #expect(machine.credentialsWanted(by: entry(2)).isWait)
        #expect(machine.credentialsWanted(by: entry(3)).isWait)
        #expect(machine.cancelled(id: 3)?.id == 3)
        #expect(machine.refreshWanted(by: entry(4)) == .none)
        if end == .succeedsBefore { #expect(machine.fetched(old, by: first) == nil) }
        if end == .failsBefore { #expect(machine.failed(first).isEmpty) }
        #expect(machine.current == nil)
        #expect(machine.fetched(new, by: second)?.entries.map(\.id) == [1, 2])
        if end == .succeedsAfter { #expect(machine.fetched(old, by: first) == nil) }
        if end == .failsAfter { #expect(machine.failed(first).isEmpty) }
        #expect(machine.current == new)
    }

    @Test mutating func invalidationDuringARefreshMakesDemandsWait() throws {
        try cacheOld()
        let fetch = try refreshWanted(by: 2)
        let second = try invalidated()
        let third = try invalidated()
        #expect(machine.credentialsWanted(by: entry(3)).isWait)
        #expect(machine.fetched(old, by: fetch) == nil)
        #expect(machine.fetched(old, by: second) == nil)
        #expect(machine.fetched(new, by: third)?.entries.map(\.id) == [2, 3])
    }

    @Test mutating func invalidationOfAFetchThatNobodyWaitsForFetchesNothing() throws {
        let fetch = try fetchWanted(by: 1)
        _ = machine.cancelled(id: 1)
        #expect(machine.invalidated() == nil)
        #expect(machine.fetched(old, by: fetch) == nil)
        #expect(machine.credentialsWanted(by: entry(2)).fetch != nil)
    }

    private mutating func cacheOld() throws {
        let fetch = try fetchWanted(by: 1)
        _ = machine.fetched(old, by: fetch)
    }
}

extension CredentialsCache.StateMachine.WantAction {
    fileprivate var fetch: CredentialsCache.FetchID? { if case .fetch(let id) = self { id } else { nil } }
    fileprivate var isWait: Bool { if case .wait = self { true } else { false } }
    fileprivate var isFail: Bool { if case .fail = self { true } else { false } }
    fileprivate var credentials: ServiceCredentials? {
        if case .use(let credentials) = self { credentials } else { nil }
    }
}

extension CredentialsCache.StateMachine.RefreshAction {
    fileprivate var fetch: CredentialsCache.FetchID? { if case .fetch(let id) = self { id } else { nil } }
}
