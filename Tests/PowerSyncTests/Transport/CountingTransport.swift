import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncTesting

@testable import PowerSyncClient

/// Counts what the sync client takes from another transport.
final class CountingTransport: SyncTransport {
    struct Count: Sendable {
        var streams = 0
        var lines = 0
        var bytes = 0
        /// How often the newest stream was asked for what comes next.
        var reads = 0
        /// Requests beside the streams.
        var calls = 0
    }

    private let base: any SyncTransport
    private let count = NIOLockedValueBox(Count())
    private let changes = Signal()

    init(_ base: any SyncTransport) {
        self.base = base
    }

    /// The lines that were taken so far.
    var taken: Count { count.withLockedValue { $0 } }

    /// Waits until more bytes than these were taken.
    func waitUntilTaken(moreThan bytes: Int) async throws {
        try await changes.wait { taken.bytes > bytes ? () : nil }
    }

    /// Waits until so many streams were asked for.
    func waitForStreams(_ streams: Int) async throws {
        try await changes.wait { taken.streams >= streams ? () : nil }
    }

    /// Waits until the newest stream was asked so often for what comes next.
    func waitForReads(_ reads: Int) async throws {
        try await changes.wait { taken.reads >= reads ? () : nil }
    }

    /// Waits until so many requests were sent beside the streams.
    func waitForCalls(_ calls: Int) async throws {
        try await changes.wait { taken.calls >= calls ? () : nil }
    }

    fileprivate func willRead() { change { $0.reads += 1 } }

    private func change(_ body: (inout Count) -> Void) {
        count.withLockedValue { body(&$0) }
        changes.fire()
    }

    fileprivate func add(_ lines: [ReceivedLine]) {
        change { count in
            count.lines += lines.count
            count.bytes += lines.reduce(0) { $0 + $1.byteCount }
        }
    }

    func openStream(
        _ request: StreamingSyncRequest,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> any SyncLineStream {
        change { count in
            count.streams += 1
            count.reads = 0
        }
        return CountedLines(
            try await base.openStream(request, credentials: credentials, log: log),
            transport: self
        )
    }

    func writeCheckpoint(
        clientID: String,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> WriteCheckpoint {
        change { $0.calls += 1 }
        return try await base.writeCheckpoint(clientID: clientID, credentials: credentials, log: log)
    }

    func requestCheckpoint(
        _ id: WriteCheckpoint,
        clientID: String,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> WriteCheckpoint {
        change { $0.calls += 1 }
        return try await base.requestCheckpoint(id, clientID: clientID, credentials: credentials, log: log)
    }
}

private final class CountedLines: SyncLineStream {
    private let base: any SyncLineStream
    private let transport: CountingTransport

    init(_ base: any SyncLineStream, transport: CountingTransport) {
        self.base = base
        self.transport = transport
    }

    func next() async throws -> SyncStreamElement? {
        transport.willRead()
        let element = try await base.next()
        if case .lines(let lines)? = element { transport.add(lines) }
        return element
    }
}
