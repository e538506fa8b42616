package import PowerSyncService
package import Foundation
package import Logging
import PowerSyncSyncConfig
package import PowerSyncServiceCore
import PowerSyncAuth

/// Looks for everything that keeps a service from starting, from working, or from being reached
/// (docs/operating.md "What doctor looks at").
///
/// It runs the checks of a start themselves, as far as they change nothing: what it says is what the service would say.
package struct Doctor: Sendable {
    let now: @Sendable () -> Date
    let logger: Logger
    /// How many bytes are free where a folder is; `nil` when that cannot be told.
    let freeBytes: @Sendable (_ folder: String) -> Int64?

    /// Creates a doctor.
    ///
    /// - Parameters:
    ///   - logger: For warnings of an embedded source.
    ///   - now: Tells the time.
    package init(logger: Logger, now: @escaping @Sendable () -> Date = { Date() }) {
        self.init(logger: logger, now: now, freeBytes: { Self.freeBytes(at: $0) })
    }

    /// Creates a doctor that sees other disks.
    init(
        logger: Logger,
        now: @escaping @Sendable () -> Date = { Date() },
        freeBytes: @escaping @Sendable (_ folder: String) -> Int64?
    ) {
        self.logger = logger
        self.now = now
        self.freeBytes = freeBytes
    }

    /// Examines a service by its configuration file.
    ///
    /// - Parameters:
    ///   - file: The configuration.
    ///   - environment: Where `!env` finds values.
    /// - Returns: The findings, in the order of the looks.
    /// - Throws: `CancellationError`.
    package func examine(file: String, environment: [String: String]) async throws -> [Finding] {
        try await examine(ConfigurationLocation(argument: file, environment: environment))
    }

    /// Examines a service by where its configuration is.
    ///
    /// - Parameters:
    ///   - location: The file, or the variable of the environment.
    ///   - role: What the process is to do.
    /// - Returns: The findings, in the order of the looks.
    /// - Throws: `CancellationError`.
    package func examine(
        _ location: ConfigurationLocation,
        as role: ServiceConfiguration.Role = .unified
    ) async throws -> [Finding] {
        var findings: [Finding] = []
        var configuration: ServiceConfiguration
        do {
            configuration = try location.read()
            configuration.role = role
        } catch {
            findings.fail(.configuration, error)
            for warning in error.warnings { findings.warn(.configuration, warning, remedy: Self.fileRemedy) }
            return findings
        }
        findings.ok(
            .configuration,
            location.file == nil ? "the variable can be used" : "the file can be used",
            place: location.name
        )
        checkPermissions(of: location.file, configuration, &findings)
        return findings + (try await examine(configuration))
    }

    /// Examines a service by its configuration.
    ///
    /// - Parameter configuration: The configuration.
    /// - Returns: The findings, in the order of the looks.
    /// - Throws: `CancellationError`.
    package func examine(_ configuration: ServiceConfiguration) async throws -> [Finding] {
        var findings: [Finding] = []
        for warning in configuration.warnings {
            findings.warn(.configuration, warning, remedy: Self.fileRemedy)
        }
        do { try configuration.checkRole() } catch { findings.fail(.configuration, error) }
        let isUsable = checkSyncConfig(configuration, &findings)
        try await checkKeys(configuration.authentication, &findings)
        checkCertificate(configuration, &findings)
        let running = try await checkPorts(configuration, &findings)
        let hasStorage = try await checkStorage(configuration, isRunning: running, &findings)
        // The tables to check are those of the sync config.
        if isUsable { try await checkSource(configuration, hasStorage: hasStorage, &findings) }
        return findings
    }

    // MARK: Configuration

    private static let fileRemedy = "Correct it in the file, or leave it out; it keeps no service from starting."

    /// Looks whether others can read what is secret, or change what is run.
    func checkPermissions(
        of file: String?,
        _ configuration: ServiceConfiguration,
        _ findings: inout [Finding]
    ) {
        var files = [file].compactMap(\.self).map { ($0, containsSecret($0, configuration)) }
        if let key = configuration.tls?.privateKey { files.append((key, true)) }
        for (file, isSecret) in files {
            guard let mode = FileStamp.permissions(of: file) else { continue }
            if mode & 0o022 != 0 {
                findings.warn(
                    .configuration,
                    "other users of this machine can change the file",
                    place: file,
                    remedy: "chmod go-w '\(file)'"
                )
            }
            if mode & 0o004 != 0, isSecret {
                findings.warn(
                    .configuration,
                    "the file has secrets, and every user of this machine can read it",
                    place: file,
                    remedy: """
                        chgrp the file to the group of the service, then chmod u=rw,g=r,o= '\(file)'; or take the secrets from the \
                        environment: !env PS_NAME
                        """
                )
            }
        }
    }

    /// Whether a secret stands in the file itself, and not in the environment.
    private func containsSecret(_ file: String, _ configuration: ServiceConfiguration) -> Bool {
        guard let text = try? String(contentsOf: URL(filePath: file), encoding: .utf8) else { return false }
        return configuration.secrets.contains { text.contains($0) }
    }

    /// For a warning that has no hint.
    private static let warningRemedy = "Change what the warning is about; until then the sync config is used as it is."

    /// Whether the sync config can be deployed.
    private func checkSyncConfig(_ configuration: ServiceConfiguration, _ findings: inout [Finding]) -> Bool {
        do {
            // What a start says: it opens nothing.
            _ = try SyncService(configuration: configuration, logger: Logger.silent)
            guard let (text, file) = try configuration.readSyncConfigText() else {
                findings.ok(.syncConfig, "comes through the admin API")
                return true
            }
            let config = SyncConfig.parse(text)
            for diagnostic in config.diagnostics {
                var finding = Finding(diagnostic, file: file)
                finding.remedy = finding.remedy ?? Self.warningRemedy
                findings.append(finding)
            }
            findings.ok(.syncConfig, "can be deployed", place: file)
            if let events = config.plan?.eventNames, !events.isEmpty {
                findings.ok(
                    .syncConfig,
                    """
                    \(events.joined(separator: " and ")): the back end tells when uploads are through, so clients complete with \
                    complete(writeCheckpoint:), and requests for a write checkpoint of the service are refused with 400
                    """,
                    place: file
                )
            }
            return true
        } catch {
            findings.fail(error.code == .invalidSyncConfig ? .syncConfig : .configuration, error)
            return error.code != .invalidSyncConfig && error.file == nil
        }
    }

    // MARK: Certificate

    private func checkCertificate(_ configuration: ServiceConfiguration, _ findings: inout [Finding]) {
        guard let files = configuration.tls else { return }
        do {
            let validity = try ServerCertificate.load(files, now: now()).validity
            if let problem = validity.problem(at: now()) {
                findings.warn(
                    .certificate,
                    problem,
                    remedy: "Renew it; a running service notices the new files by itself."
                )
            } else {
                findings.ok(
                    .certificate,
                    "valid until \(validity.endText)",
                    place: files.certificate
                )
            }
        } catch {
            findings.fail(.certificate, error)
        }
    }
}

extension Logger {
    /// A logger for what is said in another way.
    static var silent: Logger { Logger(label: "powersync") { _ in SwiftLogNoOpLogHandler() } }
}

extension FileStamp {
    /// The permissions of the file that a name leads to, through symbolic links; `nil` when there is none.
    static func permissions(of path: String) -> Int? {
        // A link itself has all permissions.
        let path = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return (attributes?[.posixPermissions] as? NSNumber)?.intValue
    }
}

extension ServiceConfiguration {
    /// All secrets of the configuration, as they would stand in a file.
    fileprivate var secrets: [String] {
        var secrets = admin.tokens + [authentication.supabaseSecret].compactMap { $0 }
        for key in authentication.keys.map(\.key) {
            guard case .symmetric(let bytes) = key.material else { continue }
            secrets.append(
                Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
                    .replacing("=", with: "")
            )
        }
        secrets += source.module.secrets + storage.module.secrets
        return secrets.filter { !$0.isEmpty }
    }
}
