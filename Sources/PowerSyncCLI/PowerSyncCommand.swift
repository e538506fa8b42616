import ArgumentParser
import PowerSyncDemo
import PowerSyncInspection
import PowerSyncProtocol

/// The `powersync` command.
@main
struct PowerSyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "powersync",
        abstract: "A sync service for PowerSync clients, and tools around it.",
        version: PackageVersion.current,
        subcommands: [
            InitCommand.self, DevCommand.self, ServeCommand.self, StatusCommand.self, DoctorCommand.self,
            TestConnectionCommand.self, SlotsCommand.self, MigrateCommand.self, CompactCommand.self,
            TeardownCommand.self,
            ValidateCommand.self, TestCommand.self, TokenCommand.self, InspectCommand.self,
            GenerateCommand.self, DemoCommand.self,
        ]
    )

    static func main() async { await runAndExit() }
}
