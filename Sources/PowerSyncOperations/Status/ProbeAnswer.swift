import NIOCore
import NIOHTTP1
import PowerSyncProtocol
package import PowerSyncService
import PowerSyncServiceCore

/// What a running service answers to a health check on this machine.
package struct ProbeAnswer: Sendable {
    /// The question, which is the last part of the path: `/probes/readiness`.
    package enum Question: String, CaseIterable, Sendable {
        case liveness, readiness, startup
    }

    /// Whether the answer is yes.
    package let isHealthy: Bool
    /// The answer as one line, such as `http://127.0.0.1:8080 is not ready: The bucket storage cannot be written`.
    package let line: String

    /// The time after which a service that says nothing does not count as alive: 5 s.
    private static let patience = TimeAmount.seconds(5)

    /// Asks the service of a configuration at its port on this machine.
    ///
    /// The certificate is not checked: it is for the public name.
    ///
    /// - Parameters:
    ///   - question: What to ask.
    ///   - configuration: The configuration with which the service runs.
    /// - Throws: ``ServiceError`` when the probes are switched off, or `CancellationError`.
    package init(to question: Question, of configuration: ServiceConfiguration) async throws {
        guard configuration.probes.useHTTP else {
            throw ServiceError(
                .invalidConfiguration,
                "is off, so that nothing answers health checks; leave it out",
                key: "healthcheck.probes.use_http"
            )
        }
        var service = try PublicService(address: configuration.localURL, token: nil)
        service.checksCertificate = false
        service.patience = Self.patience
        do {
            let reply = try await service.withClient {
                try await service.send(.GET, "/probes/\(question.rawValue)", $0)
            }
            self.init(to: question, at: service.url, status: reply.status, body: reply.body)
        } catch {
            try Task.checkCancellation()
            self.init(isHealthy: false, line: "\(service.url) does not answer: \(AdminRequest.reason(error))")
        }
    }

    private init(isHealthy: Bool, line: String) {
        (self.isHealthy, self.line) = (isHealthy, line)
    }

    /// Reads an answer.
    init(to question: Question, at address: String, status: Int, body: String) {
        guard let probe = try? JSONObject(parsing: body), case .bool? = probe["ready"] else {
            self.init(
                isHealthy: false,
                line: "\(address) answers with status \(status) and no probe: another program has the port"
            )
            return
        }
        let isHealthy = status == 200
        let word =
            switch question {
            case .liveness: "alive"
            case .readiness: "ready"
            case .startup: "started"
            }
        var problems: [String] = []
        if case .array(let texts)? = probe["problems"] {
            problems = texts.compactMap { text in
                guard case .string(let text) = text else { return nil }
                return text.printable
            }
        }
        let reasons = problems.isEmpty || isHealthy ? "" : ": \(problems.joined(separator: "; "))"
        self.init(isHealthy: isHealthy, line: "\(address) is \(isHealthy ? "" : "not ")\(word)\(reasons)")
    }
}
