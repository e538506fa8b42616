import Testing

@testable import PowerSync

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

    @Test mutating func concurrentDemandsShareOneFetch() {
        #expect(machine.credentialsWanted(by: entry(1)).isFetch)
        #expect(machine.credentialsWanted(by: entry(2)).isWait)
        #expect(machine.fetched(old).resumed.map(\.id) == [1, 2])
        #expect(machine.credentialsWanted(by: entry(3)).credentials == old)
    }

    @Test mutating func failedFetchIsRepeatedByTheNextDemand() {
        #expect(machine.credentialsWanted(by: entry(1)).isFetch)
        #expect(machine.fetchFailed().resumed.map(\.id) == [1])
        #expect(machine.credentialsWanted(by: entry(2)).isFetch)
    }

    @Test mutating func oldCredentialsStayInUseDuringARefresh() {
        cacheOld()
        #expect(machine.refreshWanted(by: entry(2)) == .fetch)
        #expect(machine.credentialsWanted(by: entry(3)).credentials == old)
        #expect(machine.refreshWanted(by: entry(4)) == .none)
        #expect(machine.fetched(new).resumed.map(\.id) == [2])
        #expect(machine.credentialsWanted(by: entry(5)).credentials == new)
    }

    /// A keepalive is handled after the refresh that an earlier one started has ended.
    @Test mutating func lateRefreshOfReplacedCredentialsFetchesNothing() {
        cacheOld()
        #expect(machine.refreshWanted(by: entry(2), replacing: old) == .fetch)
        #expect(machine.fetched(new).resumed.map(\.id) == [2])
        #expect(machine.refreshWanted(by: entry(3), replacing: old) == .none)
        #expect(machine.refreshWanted(by: entry(4), replacing: new) == .fetch)
    }

    @Test mutating func failedRefreshKeepsTheOldCredentials() {
        cacheOld()
        #expect(machine.refreshWanted(by: entry(2)) == .fetch)
        #expect(machine.fetchFailed().resumed.map(\.id) == [2])
        #expect(machine.credentialsWanted(by: entry(3)).credentials == old)
        #expect(machine.refreshWanted(by: entry(4)) == .fetch)
    }

    @Test mutating func rejectedCredentialsAreDropped() {
        cacheOld()
        machine.rejected(old)
        #expect(machine.credentialsWanted(by: entry(2)).isFetch)
    }

    @Test mutating func rejectionOfReplacedCredentialsHasNoEffect() {
        cacheOld()
        #expect(machine.refreshWanted(by: entry(2)) == .fetch)
        _ = machine.fetched(new)
        machine.rejected(old)
        #expect(machine.credentialsWanted(by: entry(3)).credentials == new)
    }

    @Test mutating func rejectionDuringARefreshMakesDemandsWaitForIt() {
        cacheOld()
        #expect(machine.refreshWanted(by: entry(2)) == .fetch)
        machine.rejected(old)
        #expect(machine.credentialsWanted(by: entry(3)).isWait)
        #expect(machine.fetched(new).resumed.map(\.id) == [2, 3])
    }

    @Test mutating func cancelledWaiterIsReturnedOnceAndTheFetchGoesOn() {
        #expect(machine.credentialsWanted(by: entry(1)).isFetch)
        #expect(machine.cancelled(id: 1)?.waiter == "waiter 1")
        #expect(machine.cancelled(id: 1) == nil)
        #expect(machine.fetched(old).resumed.isEmpty)
        #expect(machine.credentialsWanted(by: entry(2)).credentials == old)
    }

    @Test mutating func cancelledRefreshIsReturnedOnceAndTheOldCredentialsStay() {
        cacheOld()
        #expect(machine.refreshWanted(by: entry(2)) == .fetch)
        #expect(machine.cancelled(id: 2)?.waiter == "waiter 2")
        #expect(machine.cancelled(id: 2) == nil)
        #expect(machine.current == old)
        #expect(machine.fetched(new).resumed.isEmpty)
        #expect(machine.current == new)
    }

    @Test mutating func nothingIsFetchedAfterTheEnd() {
        #expect(machine.credentialsWanted(by: entry(1)).isFetch)
        #expect(machine.stopped().map(\.id) == [1])
        #expect(machine.fetched(old).resumed.isEmpty)
        #expect(machine.credentialsWanted(by: entry(2)).isFail)
        #expect(machine.refreshWanted(by: entry(3)) == .none)
    }

    @Test mutating func invalidatedCredentialsAreDropped() {
        cacheOld()
        #expect(machine.current == old)
        machine.invalidated()
        #expect(machine.current == nil)
        #expect(machine.credentialsWanted(by: entry(2)).isFetch)
    }

    @Test("A fetch from before the invalidation does not count, however it ends", arguments: [true, false])
    mutating func fetchFromBeforeTheInvalidationDoesNotCount(_ succeeds: Bool) {
        #expect(machine.credentialsWanted(by: entry(1)).isFetch)
        machine.invalidated()
        #expect(machine.credentialsWanted(by: entry(2)).isWait)
        #expect(machine.credentialsWanted(by: entry(3)).isWait)
        #expect(machine.cancelled(id: 3)?.id == 3)
        #expect(machine.refreshWanted(by: entry(4)) == .none)
        #expect(succeeds ? machine.fetched(old).isFetch : machine.fetchFailed().isFetch)
        #expect(machine.current == nil)
        #expect(machine.fetched(new).resumed.map(\.id) == [1, 2])
        #expect(machine.current == new)
    }

    @Test mutating func invalidationDuringARefreshMakesDemandsWait() {
        cacheOld()
        #expect(machine.refreshWanted(by: entry(2)) == .fetch)
        machine.invalidated()
        machine.invalidated()
        #expect(machine.credentialsWanted(by: entry(3)).isWait)
        #expect(machine.fetched(old).isFetch)
        #expect(machine.stopped().map(\.id) == [2, 3])
    }

    private mutating func cacheOld() {
        _ = machine.credentialsWanted(by: entry(1))
        _ = machine.fetched(old)
    }
}

extension CredentialsCache.StateMachine.WantAction {
    fileprivate var isFetch: Bool { if case .fetch = self { true } else { false } }
    fileprivate var isWait: Bool { if case .wait = self { true } else { false } }
    fileprivate var isFail: Bool { if case .fail = self { true } else { false } }
    fileprivate var credentials: ServiceCredentials? {
        if case .use(let credentials) = self { credentials } else { nil }
    }
}

extension CredentialsCache.StateMachine.FetchAction {
    fileprivate var isFetch: Bool { if case .fetch = self { true } else { false } }
    fileprivate var resumed: [CredentialsCache.StateMachine<Waiter>.Entry] {
        if case .resume(let entries) = self { entries } else { [] }
    }
}
