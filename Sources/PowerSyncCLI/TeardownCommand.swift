import ArgumentParser
import Logging
import PowerSyncProtocol
import PowerSyncOperations
import PowerSyncTerminal
import PowerSyncService

/// `powersync teardown TEARDOWN`: takes away everything that a service has made.
struct TeardownCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "teardown",
        abstract: "Drop the replication slots of a service, and everything in its storage.",
        discussion: """
            Without the word TEARDOWN it says what it would drop, and drops nothing. The service must not run. Rows of the \
            source stay, and so does a publication; triggers in an embedded source go. A service that is started afterwards copies the source again, and its \
            clients download what has changed meanwhile, or everything.

            Exits with 0 when everything is gone, with 1 when something could not be dropped (it can be repeated), or \
            without the word.
            """
    )

    @Argument(help: "The word TEARDOWN, in capital letters: there is no way back.")
    var confirmation: String?

    @OptionGroup var config: ConfigurationOptions

    func run() async throws {
        let configuration = try config.read()
        guard confirmation == "TEARDOWN" else {
            try Self.describe(try await SyncService.teardownPlan(of: configuration))
            printToStandardError(
                "[\(ErrorCode.unconfirmed)] Nothing was dropped; to drop all of it: \(config.command("teardown TEARDOWN"))"
            )
            throw ExitCode.failure
        }
        try await SyncService.tearDown(configuration, logger: .ofCommand) { try? Self.describe($0) }
        try StandardOutput.print("Everything is gone.")
    }

    private static func describe(_ plan: TeardownPlan) throws {
        try StandardOutput.print(lines: [
            "source    \(plan.source); its rows stay",
            "slots     \(plan.slots.isEmpty ? "none" : plan.slots.joined(separator: ", "))",
            "storage   \(plan.storage), with everything in it",
        ])
    }
}
