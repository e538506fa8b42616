package import PowerSyncCore
package import PowerSyncProtocol

extension SyncEvent {
    /// A line whose length does not matter.
    package static func line(_ line: SyncLine) -> SyncEvent {
        .line(ReceivedLine(line: line, byteCount: 1))
    }
}

extension SyncAction {
    /// The request of the stream that is to be opened.
    package var establishedRequest: StreamingSyncRequest? {
        if case .establishStream(let request) = self { request } else { nil }
    }
}
