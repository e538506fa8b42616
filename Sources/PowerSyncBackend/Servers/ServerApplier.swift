package import Foundation
import NIOConcurrencyHelpers
package import PowerSyncUpload

/// Lends connections to a database server.
package protocol UploadServers: Sendable {
    associatedtype Server: UploadServer

    /// Lends a connection for as long as a closure runs.
    func withServer<Result: Sendable>(_ body: (Server) async throws -> Result) async throws -> Result
}

/// What the appliers over database servers have in common: connections, the tables of the records, limits of time.
package struct ServerApplier<Servers: UploadServers>: Sendable {
    private let servers: Servers
    private let options: UploadApplierOptions
    private let timing: UploadTiming
    private let authorize: ServerUpload<Servers.Server>.Authorization
    /// Whether the tables of the records are known to be there.
    private let hasTables = NIOLockedValueBox(false)

    package init(
        _ servers: Servers,
        _ options: UploadApplierOptions,
        _ timing: UploadTiming,
        authorize: @escaping ServerUpload<Servers.Server>.Authorization
    ) {
        self.servers = servers
        self.options = options
        self.timing = timing
        self.authorize = authorize
    }

    /// Applies a request; see ``UploadApplier/apply(_:for:)``.
    package func apply(_ request: UploadRequest, for user: BackendUser) async throws -> UploadResponse {
        try request.validate()
        guard !request.entries.isEmpty else { return UploadResponse(appliedThrough: nil) }
        let context = UploadContext(request, user, options)
        return try await withinLimit {
            try await withServer { server in
                try await ServerUpload.apply(context, on: server, timing, authorize)
            }
        }
    }

    /// Forgets clients that were not seen since a date.
    ///
    /// - Returns: How many there were.
    package func forgetClients(notSeenSince date: Date) async throws -> Int {
        let date = Int64(date.timeIntervalSince1970)
        return try await withServer { server in try await server.forgetClients(notSeenSince: date) }
    }

    /// Lends a connection; the tables of the records are there.
    private func withServer<Result: Sendable>(
        _ body: (Servers.Server) async throws -> Result
    ) async throws -> Result {
        try await servers.withServer { server in
            if !hasTables.withLockedValue({ $0 }) {
                try await server.makeRecords()
                hasTables.withLockedValue { $0 = true }
            }
            return try await body(server)
        }
    }

    /// Runs a closure, and cancels it after the limit of a request.
    private func withinLimit(
        _ body: @escaping @Sendable () async throws -> UploadResponse
    ) async throws -> UploadResponse {
        let (limit, timing) = (options.requestTimeLimit, timing)
        return try await withThrowingTaskGroup(of: UploadResponse?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await timing.sleep(limit)
                return nil
            }
            defer { group.cancelAll() }
            guard let first = try await group.next(), let response = first else {
                throw UploadTimeLimitError(limit: limit)
            }
            return response
        }
    }
}

/// Time and chance of an applier.
package struct UploadTiming: Sendable {
    /// Tells the time.
    package var now: @Sendable () -> Date
    /// Waits.
    package var sleep: @Sendable (Duration) async throws -> Void
    /// A number from 0 to 1.
    package var random: @Sendable () -> Double

    package init(
        now: @escaping @Sendable () -> Date = { Date() },
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await ContinuousClock().sleep(for: $0) },
        random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
    ) {
        self.now = now
        self.sleep = sleep
        self.random = random
    }

    /// The first pause before a request is begun again: 10 ms.
    private static let firstPause = Duration.milliseconds(10)
    /// The longest: 1 s.
    private static let longestPause = Duration.seconds(1)

    /// The pause before a request is begun again: twice as long each time, and half of it by chance, so that requests that have met do not
    /// meet again.
    ///
    /// - Parameter retry: 1 for the first time.
    /// - Returns: 5 to 10 ms for the first time, 0.5 to 1 s from the eighth one on.
    func pause(before retry: Int) -> Duration {
        let half = min(Self.firstPause * (1 << min(retry - 1, 20)), Self.longestPause) / 2
        return half + .microseconds(Int64(half / .microseconds(1) * random()))
    }
}
