import PowerSyncClient
import PowerSyncProtocol
import PowerSyncTerminal

/// Asks a running app, and prints its answer.
struct AppInspection: Sendable {
    let app: RunningApp
    let request: InspectionRequest
    let format: OutputFormat
    /// Prints lines.
    let printing: @Sendable ([String]) throws -> Void

    /// Asks and prints, and with `follow` again, until the app listens no more.
    ///
    /// - Throws: ``RunningAppError``, and what printing throws.
    func run() async throws {
        try await app.withConversation { conversation in
            let answer = try await conversation.ask(request)
            try printing(lines(answer))
            guard request == .follow else { return }
            while let status = try await conversation.nextStatus() {
                if format == .text { try printing([""]) }
                try printing(lines(status))
            }
        }
    }

    private func lines(_ answer: JSONObject) -> [String] {
        guard format == .text else { return [answer.text] }
        switch request {
        case .status, .follow: return AppStatusText(answer).lines
        case .query: return AppRowsText(answer).lines
        case .subscribe(let stream, _, _): return ["subscribed to \(stream.name), until the app listens no more"]
        case .unsubscribe(let stream, _): return ["unsubscribed from \(stream.name)"]
        }
    }
}
