/// The log of one connection's requests, in the form that apps and tests know.
///
/// The value of `Authorization` never reaches it.
package struct SyncRequestLog: Sendable {
    private let configuration: SyncRequestLoggerConfiguration?

    /// Creates a log.
    ///
    /// - Parameter configuration: Where lines go, and how many; `nil` logs nothing.
    package init(_ configuration: SyncRequestLoggerConfiguration?) {
        self.configuration = configuration
    }

    /// Logs nothing.
    package static let disabled = SyncRequestLog(nil)

    /// Whether bodies and sync lines are logged.
    ///
    /// Ask before making a text of one.
    package var logsBodies: Bool {
        switch configuration?.requestLevel {
        case .all, .body: true
        case .headers, .info, .some(.none), nil: false
        }
    }

    private var logsHeaders: Bool {
        switch configuration?.requestLevel {
        case .all, .headers: true
        case .body, .info, .some(.none), nil: false
        }
    }

    private var logsRequests: Bool {
        switch configuration?.requestLevel {
        case .all, .headers, .body, .info: true
        case .some(.none), nil: false
        }
    }

    /// A request is about to be sent.
    package func requestWillStart(
        _ method: String,
        url: String,
        headers: some Sequence<(name: String, value: String)>,
        body: @autoclosure () -> String?
    ) {
        guard logsRequests else { return }
        configuration?.log("Starting request to \(method) \(url)")
        log(headers)
        if logsBodies, let body = body() {
            configuration?.log("with body: \(body)")
        }
        configuration?.log("sending request")
    }

    /// The head of a response has arrived.
    package func responseStarted(
        status: Int,
        url: String,
        headers: some Sequence<(name: String, value: String)>
    ) {
        guard logsRequests else { return }
        configuration?.log("Got response code \(status) on \(url)")
        log(headers)
    }

    /// A whole response body has been read.
    package func responseBody(_ text: @autoclosure () -> String) {
        guard logsBodies else { return }
        configuration?.log("  Response: \(text())")
    }

    /// A sync line has arrived.
    package func responseLine(_ text: @autoclosure () -> String) {
        guard logsBodies else { return }
        configuration?.log("Response line: \(text())")
    }

    /// The response is complete.
    package func responseEnded() {
        guard logsBodies else { return }
        configuration?.log("End of response")
    }

    /// The exchange failed.
    package func failed(_ error: any Error) {
        guard logsRequests else { return }
        configuration?.log("Error: \(error.lineOfText)")
    }

    private func log(_ headers: some Sequence<(name: String, value: String)>) {
        guard logsHeaders else { return }
        for (name, value) in headers {
            let shown = name.lowercased() == "authorization" ? "<redacted>" : value
            configuration?.log("with header \(name): \(shown)")
        }
    }
}
