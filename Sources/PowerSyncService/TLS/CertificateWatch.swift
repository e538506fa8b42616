import Foundation
import Logging
import PowerSyncServiceCore
import ServiceLifecycle

/// Takes up a certificate that was renewed, and says in time when one has to be (docs/operating.md "TLS").
///
/// Two files are never replaced at the same moment: what does not go together is logged, once, and tried again until it can be
/// used. The problem need not be in the files: it may be their permissions, or the time.
struct CertificateWatch: Service {
    /// How often to look: renewed files are taken up after 10 to 20 seconds.
    static let interval = Duration.seconds(10)
    /// How often an end that comes near, or has come, is logged: once a day, in seconds.
    private static let warningPause = 24.0 * 3600

    private let certificate: ServerCertificate
    private let looks: RegularLooks
    private let now: @Sendable () -> Date
    private let logger: Logger

    /// Creates a watch.
    ///
    /// - Parameters:
    ///   - certificate: What is replaced.
    ///   - looks: When to look.
    ///   - now: Tells the time.
    ///   - logger: Gets an error for files that cannot be used, and a warning before the end.
    init(
        _ certificate: ServerCertificate,
        looks: RegularLooks,
        now: @escaping @Sendable () -> Date,
        logger: Logger
    ) {
        self.certificate = certificate
        self.looks = looks
        self.now = now
        self.logger = logger
    }

    func run() async throws {
        try await untilShutdown { try await watch() }
    }

    private func watch() async throws {
        var state = WatchedFileState(known: certificate.stamps)
        var seen: UInt64 = 0
        var warned: Warning?
        var problem: String?
        while true {
            warn(&warned)
            let isAsked = try await looks.next(after: &seen)
            switch state.didLook(TLSFiles.Stamps(certificate.files)) {
            case .reportMissing where !isAsked:
                logger.error(
                    "A file of the certificate is gone; the present one stays",
                    metadata: [
                        LogKey.certificate: "\(certificate.files.certificate)",
                        LogKey.privateKey: "\(certificate.files.privateKey)",
                    ]
                )
            case .none where !isAsked: break
            case .read, .none, .reportMissing:
                let last = isAsked ? nil : problem
                problem = takeUp(lastProblem: last)
                if problem == nil { warned = nil } else { state.didFail() }
            }
        }
    }

    /// Reads the files.
    ///
    /// - Parameter lastProblem: What has been logged already.
    /// - Returns: Why they cannot be used.
    private func takeUp(lastProblem: String?) -> String? {
        do {
            try certificate.reload(now: now())
            logger.notice(
                "The certificate has been read",
                metadata: [LogKey.notAfter: "\(certificate.current.validity.endText)"]
            )
            return nil
        } catch {
            let problem = "\(error)"
            if problem != lastProblem {
                logger.error(
                    "The new certificate cannot be used; the present one stays",
                    metadata: [LogKey.error: "\(problem)"]
                )
            }
            return problem
        }
    }

    /// What was said last.
    private struct Warning {
        /// Of which state.
        var state: CertificateValidity.State
        var date: Date
    }

    private func warn(_ warned: inout Warning?) {
        let now = now()
        let validity = certificate.current.validity
        let state = validity.state(at: now)
        // The end itself is news, however short ago it was that it came near.
        if let warned, warned.state == state, now.timeIntervalSince(warned.date) < Self.warningPause { return }
        guard let problem = validity.problem(at: now) else { return }
        warned = Warning(state: state, date: now)
        switch state {
        case .valid: break
        case .endsSoon: logger.warning("The certificate has to be renewed", metadata: [LogKey.warning: "\(problem)"])
        case .ended, .notBegun: logger.error("The certificate is not valid", metadata: [LogKey.error: "\(problem)"])
        }
    }
}
