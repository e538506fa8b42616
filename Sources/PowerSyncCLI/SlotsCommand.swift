import ArgumentParser
import Foundation
import Logging
import PowerSyncOperations
import PowerSyncTerminal
import PowerSyncService
import PowerSyncServiceCore

/// `powersync slots`: shows replication slots that nobody needs, for which the server keeps its log, and drops them.
struct SlotsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "slots",
        abstract: "Show replication slots that no stream needs, and drop them.",
        discussion: """
            Lists the slots of the source whose names begin with slot_name_prefix, with the bytes of log that the server keeps \
            for each. Those that no stream of the storage has are unused: the storage was deleted, or another one. A slot that \
            is being read is never dropped. Services that share a database need prefixes of their own: one takes the slots of \
            another for unused.

            Exits with 0 when there is no unused slot, or all that were to be dropped are; with 1 otherwise; with 2 when there \
            is no connection.
            """
    )

    @OptionGroup var config: ConfigurationOptions

    @Flag(help: "Drop the unused slots.")
    var drop = false

    @Argument(help: "The slots to drop; needed when there is no storage to tell which are unused.")
    var names: [String] = []

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if !names.isEmpty, !drop { throw ValidationError("names are for --drop") }
    }

    func run() async throws {
        let configuration = try config.read()
        let slots: SlotReport?
        do {
            slots = try await SyncService.slots(of: configuration)
        } catch let error as SourceUnreachable {
            printToStandardError("\(error)")
            throw TestConnectionCommand.unreachable
        }
        guard let slots else {
            try StandardOutput.print("The source has no replication slots.")
            return
        }
        let report = SlotListing(slots)
        switch output.format {
        case .text: try StandardOutput.print(lines: report.lines)
        case .json: try StandardOutput.print(String(decoding: JSONEncoder.forReports.encode(report), as: UTF8.self))
        }
        let unused = slots.entries.filter(\.isUnused).map(\.slot.name)
        guard drop else {
            guard unused.isEmpty else { throw ExitCode.failure }
            return
        }
        let chosen = try choice(among: unused, slots)
        try await SyncService.dropSlots(chosen, of: configuration, logger: .ofCommand)
        if output.format == .text {
            try StandardOutput.print(lines: [
                chosen.isEmpty ? "Nothing to drop." : "Dropped: \(chosen.joined(separator: ", "))"
            ])
        }
    }

    /// What is dropped.
    private func choice(among unused: [String], _ slots: SlotReport) throws -> [String] {
        for name in names where !unused.contains(name) {
            throw UnreadableFile("\(name) is not one of the unused slots; nothing was dropped")
        }
        guard names.isEmpty, !unused.isEmpty, !slots.hasStorage else { return names.isEmpty ? unused : names }
        throw UnreadableFile(
            """
            There is no storage at \(slots.storage), so it cannot be told whose slots they are. Name those that are to be \
            dropped: \(config.command("slots --drop \(unused[0])"))
            """
        )
    }
}
