import Foundation
import PowerSyncOperations
import PowerSyncProtocol
import PowerSyncService
import PowerSyncServiceCore
import PowerSyncTerminal

/// The demo on a database of the user's.
extension DemoCommand {
    /// Runs the demo on the database that `--source` names.
    ///
    /// - Parameters:
    ///   - address: Where the server is.
    ///   - folder: For files.
    ///   - key: What tokens are signed with.
    ///   - terminal: For the output.
    ///   - makeDemo: Makes the demo over a deployment.
    /// - Throws: ``DemoFailure``, ``Interruption``, `UnwritableOutput`, or an error of the server.
    func run(
        on address: String,
        _ folder: URL,
        key: DemoKey,
        terminal: Terminal,
        _ makeDemo: (any DemoDeployment) async throws -> Demo
    ) async throws {
        guard let server = try Modules.all.source(named: address) as? any DemoServer else {
            throw DemoFailure("--source is the address of a server: \(Modules.all.serverForms)")
        }
        try await server.run(self, folder, key: key, terminal: terminal, makeDemo)
    }

    /// Runs a demo between making something on a server and taking it away, whatever happens.
    func run(
        _ demo: Demo,
        _ terminal: Terminal,
        making make: () async throws -> Void,
        removing remove: () async throws -> Void
    ) async throws {
        let interruptions = await Interruptions()
        let outcome: Result<Void, any Error>
        do {
            // Not cancelled: the connection has to be of use afterwards.
            try await make()
            try await interruptions.stopping { try await demo.run() }
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        do {
            try await remove()
        } catch {
            try? terminal.line("What the demo has made on the server is still there, until the next run: \(error)")
            try outcome.get()
            throw error
        }
        try outcome.get()
        try terminal.line("Everything that the demo has made on the server is gone.")
    }
}

extension Modules {
    /// How addresses of servers look, for help and messages.
    var serverForms: String { argumentForms.filter { !$0.schemes.isEmpty }.map(\.form).joined(separator: ", or ") }

    /// What the demo needs on each kind of server, for help: a paragraph for each.
    var demoNeeds: String { sources.compactMap { ($0 as? any DemoServer.Type)?.demoNeeds }.joined(separator: "\n\n") }

    /// Where passwords come from that are in no address.
    var passwordPlaces: String { argumentForms.compactMap(\.passwordPlaces).joined(separator: ", or ") }
}

extension ServiceConfiguration {
    /// Makes sure that the source can be replicated.
    ///
    /// - Parameter made: The codes of what the demo makes itself.
    /// - Throws: ``DemoFailure`` that says what is missing.
    func checkSourceForDemo(apartFrom made: Set<ErrorCode> = []) async throws {
        let report = try await SyncService.checkSource(of: self, logger: .demo)
        switch report.outcome {
        case .unreachable(let finding):
            let remedy = finding.remedy.map { "\n  \($0)" } ?? ""
            throw DemoFailure("there is no connection to \(report.source): \(finding.message)\(remedy)")
        case .checked(let findings):
            let errors = findings.filter { finding in
                finding.severity == .error && !(finding.code.map { made.contains($0) } ?? false)
            }
            try expect(
                errors.isEmpty,
                "\(report.source) cannot be replicated yet.\n" + errors.map(\.description).joined(separator: "\n")
            )
        }
    }
}
