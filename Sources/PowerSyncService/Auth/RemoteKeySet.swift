import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncAuth
import PowerSyncServiceCore
import ServiceLifecycle

/// Keys that a server publishes (docs/service.md "Authentication").
///
/// They are fetched when tokens are checked, by ``run()``; see ``KeySetCache`` for when. An error leaves the keys that are known.
final class RemoteKeySet: KeySource, Service {
    /// The longest time that a check waits for keys: 3 s.
    static let patience = Duration.seconds(3)

    private let rules: TokenRules
    private let clock: any Clock<Duration>
    private let stopwatch: Stopwatch
    private let fetch: @Sendable () async throws(AuthorizationError) -> KeySetDocument
    private let cache = NIOLockedValueBox(KeySetCache())
    private let asked = ChangeSignal()
    private let answered = ChangeSignal()

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - rules: What holds for tokens that are signed with the keys.
    ///   - clock: Measures ages and waits.
    ///   - fetch: Gets the keys from the server.
    init(
        rules: TokenRules = TokenRules(),
        clock: any Clock<Duration> = ContinuousClock(),
        fetch: @escaping @Sendable () async throws(AuthorizationError) -> KeySetDocument
    ) {
        self.rules = rules
        self.clock = clock
        self.fetch = fetch
        stopwatch = Stopwatch(clock)
    }

    func knownKeys() -> CurrentKeys? {
        let (step, current) = check()
        return step == .wait ? nil : current
    }

    func currentKeys() async -> CurrentKeys {
        let seen = answered.version
        if let known = knownKeys() { return known }
        await waitForAnswer(after: seen)
        return cache.withLockedValue { cache in
            let isLate = cache.isAsking && cache.keys.isEmpty
            return CurrentKeys(
                cache.keys,
                leftOut: cache.leftOut,
                failure: isLate ? .keySetRequest("no answer yet") : cache.failure
            )
        }
    }

    func keyWasMissing() {
        let now = stopwatch.elapsed
        if cache.withLockedValue({ cache in
            let wasAsking = cache.isAsking
            cache.keyWasMissing(at: now)
            return cache.isAsking && !wasAsking
        }) {
            asked.advance()
        }
    }

    private func check() -> (KeySetCache.Step, CurrentKeys) {
        let now = stopwatch.elapsed
        let (step, isNew, current) = cache.withLockedValue { cache in
            let wasAsking = cache.isAsking
            let step = cache.check(at: now)
            return (
                step, cache.isAsking && !wasAsking,
                CurrentKeys(cache.keys, leftOut: cache.leftOut, failure: cache.failure)
            )
        }
        if isNew { asked.advance() }
        return (step, current)
    }

    private func waitForAnswer(after seen: UInt64) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [answered] in try? await answered.wait(after: seen) }
            group.addTask { [clock] in try? await clock.sleep(for: Self.patience) }
            await group.next()
            group.cancelAll()
        }
    }

    /// Fetches the keys whenever they are asked for, until it is cancelled or the process shuts down.
    func run() async throws {
        try? await cancelWhenGracefulShutdown { try await self.answer() }
    }

    private func answer() async throws {
        while true {
            let seen = asked.version
            guard cache.withLockedValue(\.isAsking) else {
                try await asked.wait(after: seen)
                continue
            }
            do throws(AuthorizationError) {
                let document = try await fetch()
                let keys = document.keys.map { VerifyingKey($0, rules: rules) }
                let now = stopwatch.elapsed
                cache.withLockedValue { $0.didReceive(keys, leftOut: document.leftOut, at: now) }
            } catch {
                try Task.checkCancellation()
                cache.withLockedValue { $0.didFail(error) }
            }
            answered.advance()
        }
    }
}
