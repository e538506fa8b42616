import ArgumentParser
import PowerSyncTerminal
import PowerSyncService

/// `powersync compact --config powersync.yaml`: compacts the storage of a service, which may be running.
struct CompactCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Remove history that no client needs from the storage of a service.",
        discussion: """
            Clients that sync for the first time download less afterwards. A running service does this once a day by \
            itself. It may run meanwhile, and this command may be interrupted at any time.
            """
    )

    @OptionGroup var config: ConfigurationOptions

    func run() async throws {
        let configuration = try config.read()
        // It may take minutes.
        Terminal.say("Compacting …")
        let summary = try await SyncService.compact(configuration)
        try StandardOutput.print("operations without their row   \(summary.movedOperations)")
        try StandardOutput.print("operations replaced by one     \(summary.clearedOperations)")
        try StandardOutput.print("parameter entries deleted      \(summary.deletedParameterEntries)")
        try StandardOutput.print("checkpoint requests deleted    \(summary.deletedCheckpointRequests)")
    }
}
