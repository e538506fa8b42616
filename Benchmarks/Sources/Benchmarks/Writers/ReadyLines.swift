import PowerSync
import PowerSyncProtocol

/// A service that has all lines at hand, decoded, and hands them over as fast as the client takes them.
final class ReadyLines: SyncTransport {
    private let lines: [SyncLine]

    /// Creates a service that answers each request with the same lines.
    init(_ lines: [SyncLine]) {
        self.lines = lines
    }

    nonisolated(nonsending) func openStream(
        _ request: StreamingSyncRequest,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> any SyncLineStream {
        Stream(lines)
    }

    func writeCheckpoint(
        clientID: String,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> WriteCheckpoint {
        throw SyncTransportError(.status, message: "Nothing is uploaded in this benchmark.")
    }

    func requestCheckpoint(
        _ id: WriteCheckpoint,
        clientID: String,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> WriteCheckpoint {
        throw SyncTransportError(.status, message: "Nothing is uploaded in this benchmark.")
    }

    private final class Stream: SyncLineStream {
        private var rest: ArraySlice<SyncLine>

        init(_ lines: [SyncLine]) {
            rest = lines[...]
        }

        nonisolated(nonsending) func next() async throws -> SyncStreamElement? {
            guard let line = rest.popFirst() else {
                // The stream stays open until the client closes it.
                try await Task.sleep(for: .seconds(86_400))
                return nil
            }
            return .lines([ReceivedLine(line: line, byteCount: 300_000)])
        }
    }
}
