import PowerSyncService
import PowerSyncProtocol
import PowerSyncServiceCore

extension Doctor {
    /// Checks the source as `powersync test-connection` does, and looks for slots without a use.
    ///
    /// - Parameters:
    ///   - configuration: Names it.
    ///   - hasStorage: Whether the storage answers, which knows the slots that are needed.
    ///   - findings: Gets what is wrong.
    /// - Throws: `CancellationError`.
    func checkSource(
        _ configuration: ServiceConfiguration,
        hasStorage: Bool,
        _ findings: inout [Finding]
    ) async throws {
        do {
            let report = try await SyncService.checkSource(of: configuration, logger: logger)
            switch report.outcome {
            case .unreachable(var finding):
                finding.place.location = report.source
                finding.remedy =
                    finding.remedy ?? "Check that the server runs and lets the service in; its log may say more."
                findings.append(finding)
                return
            case .checked(let found):
                for var finding in found {
                    finding.place.location = finding.place.location ?? report.source
                    findings.append(finding)
                }
                guard !found.hasErrors else { break }
                let version = report.serverVersion.map { ", version \($0)" } ?? ""
                findings.ok(.source, "can be replicated", place: report.source + version)
            }
            if hasStorage { try await checkSlots(configuration, &findings) }
        } catch let error as CancellationError {
            throw error
        } catch {
            findings.fail(.source, configuration.startError(error))
        }
    }

    private func checkSlots(_ configuration: ServiceConfiguration, _ findings: inout [Finding]) async throws {
        guard let report = try await SyncService.slots(of: configuration) else { return }
        let unused = report.entries.filter(\.isUnused).map(\.slot.name)
        guard !unused.isEmpty else {
            return findings.ok(.slots, "none without a stream", place: "\(report.prefix)…")
        }
        findings.warn(
            .slots,
            """
            no stream of the storage has \(unused.joined(separator: ", ")), and the server keeps \
            \(ByteCount.text(report.wastedBytes)) of its log for that
            """,
            place: report.source,
            remedy: "powersync slots shows them, powersync slots --drop drops them."
        )
    }
}
