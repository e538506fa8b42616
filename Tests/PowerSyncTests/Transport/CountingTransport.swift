import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncTesting

@testable import PowerSync

/// Counts what the sync client takes from another transport.
final class CountingTransport: SyncTransport {
    struct Count: Sendable {
        var streams = 0
        var lines = 0
        var bytes = 0
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

    fileprivate func add(_ lines: [ReceivedLine]) {
        count.withLockedValue { count in
            count.lines += lines.count
            count.bytes += lines.reduce(0) { $0 + $1.byteCount }
        }
        changes.fire()
    }

    func openStream(
        _ request: StreamingSyncRequest,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> any SyncLineStream {
        count.withLockedValue { $0.streams += 1 }
        changes.fire()
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
        try await base.writeCheckpoint(clientID: clientID, credentials: credentials, log: log)
    }

    func requestCheckpoint(
        _ id: WriteCheckpoint,
        clientID: String,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> WriteCheckpoint {
        try await base.requestCheckpoint(id, clientID: clientID, credentials: credentials, log: log)
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
        let element = try await base.next()
        if case .lines(let lines)? = element { transport.add(lines) }
        return element
    }
}
