import NIOConcurrencyHelpers
import Testing

@testable import PowerSyncClient

/// One fetch that all share, and that the app may overtake.
@Suite(.timeLimit(.minutes(1))) struct CredentialsCacheTests {
    private let fetches = Fetches()
    private let cache: CredentialsCache
    private let old: PowerSyncCredentials
    private let new: PowerSyncCredentials

    init() {
        cache = CredentialsCache(fetch: fetches.fetch) { [fetches] _ in
            fetches.otherEndpoints.withLockedValue { $0 += 1 }
            fetches.changes.increment()
        }
        old = PowerSyncCredentials(endpoint: "https://sync.test", token: "old")
        new = PowerSyncCredentials(endpoint: "https://sync.test", token: "new")
    }

    /// The app's `fetchCredentials`, whose calls end when a test says so, and take no notice of cancellation.
    private final class Fetches: Sendable {
        typealias Call = CheckedContinuation<PowerSyncCredentials?, any Error>

        private let calls = AsyncStream.makeStream(of: Call.self)
        /// How often it was called.
        let begun = NIOLockedValueBox(0)
        /// How often the service was another one.
        let otherEndpoints = NIOLockedValueBox(0)
        /// Counts the same.
        let changes = Counter()

        @Sendable func fetch() async throws -> PowerSyncCredentials? {
            begun.withLockedValue { $0 += 1 }
            return try await withCheckedThrowingContinuation { calls.continuation.yield($0) }
        }

        /// The next call.
        func next() async throws -> Call {
            var calls = calls.stream.makeAsyncIterator()
            return try #require(await calls.next())
        }
    }

    private struct Refusal: Error {}

    /// A task that wants credentials, and their token.
    private func wanted() -> Task<String, any Error> {
        Task { [cache] in try await cache.credentials().token }
    }

    private func refreshed() -> Task<String?, any Error> {
        Task { [cache] in try await cache.refresh(replacing: cache.current)?.token }
    }

    private func cacheOld() async throws {
        let task = wanted()
        try await fetches.next().resume(returning: old)
        #expect(try await task.value == "old")
    }

    private var otherEndpointCount: Int { fetches.otherEndpoints.withLockedValue { $0 } }
    private var fetchCount: Int { fetches.begun.withLockedValue { $0 } }

    @Test func concurrentDemandsShareOneFetch() async throws {
        let tasks = (0..<5).map { _ in wanted() }
        try await fetches.next().resume(returning: old)
        for task in tasks { #expect(try await task.value == "old") }
        #expect(try await cache.credentials().token == "old")
        #expect(fetchCount == 1)
        #expect(otherEndpointCount == 1)
    }

    @Test func failedFetchIsRepeatedByTheNextDemand() async throws {
        let task = wanted()
        try await fetches.next().resume(throwing: Refusal())
        await #expect(throws: Refusal.self) { try await task.value }
        try await cacheOld()
    }

    @Test func credentialsThatAreNoneAreAnError() async throws {
        let task = wanted()
        try await fetches.next().resume(returning: nil)
        await #expect(throws: PowerSyncError.self) { try await task.value }
        #expect(cache.current == nil)
    }

    @Test func oldCredentialsStayInUseDuringARefresh() async throws {
        try await cacheOld()
        let refresh = refreshed()
        let fetch = try await fetches.next()
        #expect(try await cache.credentials().token == "old")
        // Another task has begun it.
        #expect(try await cache.refresh(replacing: cache.current)?.token == "old")
        fetch.resume(returning: new)
        #expect(try await refresh.value == "new")
        #expect(try await cache.credentials().token == "new")
        #expect(fetchCount == 2)
        #expect(otherEndpointCount == 1)
    }

    /// A keepalive is handled after the refresh that an earlier one started has ended.
    @Test func lateRefreshOfReplacedCredentialsFetchesNothing() async throws {
        try await cacheOld()
        let expiring = cache.current
        let refresh = refreshed()
        try await fetches.next().resume(returning: new)
        #expect(try await refresh.value == "new")
        #expect(try await cache.refresh(replacing: expiring)?.token == "new")
        #expect(fetchCount == 2)
    }

    @Test func failedRefreshKeepsTheOldCredentials() async throws {
        try await cacheOld()
        let refresh = refreshed()
        try await fetches.next().resume(throwing: Refusal())
        await #expect(throws: Refusal.self) { try await refresh.value }
        #expect(try await cache.credentials().token == "old")
        let again = refreshed()
        try await fetches.next().resume(returning: new)
        #expect(try await again.value == "new")
    }

    @Test func rejectedCredentialsAreDropped() async throws {
        try await cacheOld()
        cache.invalidate(try #require(cache.current))
        #expect(cache.current == nil)
        let task = wanted()
        try await fetches.next().resume(returning: new)
        #expect(try await task.value == "new")
    }

    @Test func rejectionOfReplacedCredentialsHasNoEffect() async throws {
        try await cacheOld()
        let rejected = try #require(cache.current)
        let refresh = refreshed()
        try await fetches.next().resume(returning: new)
        #expect(try await refresh.value == "new")
        cache.invalidate(rejected)
        #expect(cache.current?.token == "new")
    }

    @Test func rejectionDuringARefreshMakesDemandsWaitForIt() async throws {
        try await cacheOld()
        let refresh = refreshed()
        let fetch = try await fetches.next()
        cache.invalidate(try #require(cache.current))
        let task = wanted()
        fetch.resume(returning: new)
        #expect(try await refresh.value == "new")
        #expect(try await task.value == "new")
        #expect(fetchCount == 2)
    }

    @Test func theFetchGoesOnWithoutADemandThatWasCancelled() async throws {
        let task = wanted()
        let fetch = try await fetches.next()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        let other = wanted()
        fetch.resume(returning: old)
        #expect(try await other.value == "old")
        #expect(fetchCount == 1)
    }

    @Test func oldCredentialsStayWhenARefreshIsCancelled() async throws {
        try await cacheOld()
        let refresh = refreshed()
        let fetch = try await fetches.next()
        refresh.cancel()
        await #expect(throws: CancellationError.self) { try await refresh.value }
        #expect(cache.current?.token == "old")
        // The fetch goes on.
        fetch.resume(returning: PowerSyncCredentials(endpoint: "https://other.test", token: "new"))
        await fetches.changes.wait(for: 2)
        #expect(cache.current?.token == "new")
    }

    @Test func nothingIsFetchedAfterTheEnd() async throws {
        let task = wanted()
        let fetch = try await fetches.next()
        async let end: Void = cache.end()
        await #expect(throws: CancellationError.self) { try await task.value }
        fetch.resume(returning: old)
        await end
        await #expect(throws: CancellationError.self) { try await cache.credentials() }
        #expect(try await cache.refresh(replacing: nil) == nil)
        cache.invalidate()
        #expect(cache.current == nil)
        #expect(fetchCount == 1)
    }

    @Test func invalidatedCredentialsAreDropped() async throws {
        try await cacheOld()
        cache.invalidate()
        #expect(cache.current == nil)
        #expect(fetchCount == 1)
        let task = wanted()
        try await fetches.next().resume(returning: new)
        #expect(try await task.value == "new")
    }

    /// When a fetch ends that began before the app invalidated all credentials.
    enum End: CaseIterable {
        case succeedsBefore, failsBefore, succeedsAfter, failsAfter

        func apply(_ call: CheckedContinuation<PowerSyncCredentials?, any Error>, _ credentials: PowerSyncCredentials) {
            switch self {
            case .succeedsBefore, .succeedsAfter: call.resume(returning: credentials)
            case .failsBefore, .failsAfter: call.resume(throwing: Refusal())
            }
        }
    }

    @Test(arguments: End.allCases)
    func fetchFromBeforeTheInvalidationDoesNotCountHoweverAndWheneverItEnds(_ end: End) async throws {
        let task = wanted()
        let first = try await fetches.next()
        cache.invalidate()
        let second = try await fetches.next()
        let isBefore = end == .succeedsBefore || end == .failsBefore
        if isBefore { end.apply(first, old) }
        #expect(cache.current == nil)
        let later = wanted()
        second.resume(returning: new)
        #expect(try await task.value == "new")
        #expect(try await later.value == "new")
        if !isBefore { end.apply(first, old) }
        for _ in 0..<100 { await Task.yield() }
        #expect(cache.current?.token == "new")
        #expect(fetchCount == 2)
    }

    @Test func invalidationDuringARefreshMakesDemandsWait() async throws {
        try await cacheOld()
        let refresh = refreshed()
        var calls = [try await fetches.next()]
        for _ in 0..<2 {
            cache.invalidate()
            calls.append(try await fetches.next())
        }
        let task = wanted()
        calls[0].resume(returning: old)
        calls[1].resume(returning: old)
        calls[2].resume(returning: new)
        #expect(try await refresh.value == "new")
        #expect(try await task.value == "new")
        #expect(fetchCount == 4)
    }

    @Test func invalidationOfAFetchThatIsNotWaitedForFetchesNothing() async throws {
        let task = wanted()
        let fetch = try await fetches.next()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        cache.invalidate()
        #expect(fetchCount == 1)
        let other = wanted()
        let next = try await fetches.next()
        fetch.resume(returning: old)
        next.resume(returning: new)
        #expect(try await other.value == "new")
    }

    @Test func credentialsForAnotherServiceAreSaid() async throws {
        try await cacheOld()
        let refresh = refreshed()
        try await fetches.next().resume(
            returning: PowerSyncCredentials(endpoint: "https://other.test", token: "new")
        )
        #expect(try await refresh.value == "new")
        #expect(otherEndpointCount == 2)
    }
}
