import NIOCore
import PowerSyncProtocol
import TestSupport

/// A stream with every kind of line in it, and the service that has sent it; always the same.
struct ModelTranscript {
    /// The service after the last line.
    let model = ModelService(seed: 4)
    /// The lines, as JSON.
    let lines: [String]

    private static let shared = ModelTranscript()

    /// The lines of every transcript.
    static var lines: [String] { shared.lines }

    /// A service after the last line, for a test to change.
    static func makeModel() -> ModelService { shared.model.copy() }

    init() {
        var session = ModelSession(StreamingSyncRequest())
        var lines: [SyncLine] = []
        model.change(count: 30)
        lines += model.nextLines(&session)
        lines.append(.keepalive(tokenExpiresIn: 3600))
        model.change(count: 6)
        model.setPriority(of: 1, to: 3)
        lines += model.nextLines(&session)
        model.setVisible(false, bucket: 2)
        model.compact()
        model.change(count: 4)
        lines += model.nextLines(&session)
        model.setVisible(true, bucket: 2)
        model.change(count: 8)
        lines += model.nextLines(&session)
        self.lines = lines.map { line in
            var text = ByteBuffer()
            line.encode(as: .ndjson, into: &text)
            return String(String(buffer: text).dropLast())
        }
    }
}
