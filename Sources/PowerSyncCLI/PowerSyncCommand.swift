import ArgumentParser
import PowerSyncDemo
import PowerSyncInspection
import PowerSyncProtocol
import PowerSyncService
import PowerSyncServiceCore

/// The `powersync` command.
@main
struct PowerSyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "powersync",
        abstract: "A sync service for PowerSync clients, and tools around it.",
        version: PackageVersion.current,
        subcommands: [
            InitCommand.self, DevCommand.self, ImportCommand.self, ServeCommand.self, StatusCommand.self,
            HealthCommand.self,
            DoctorCommand.self, TestConnectionCommand.self, SlotsCommand.self, MigrateCommand.self, CompactCommand.self,
            TeardownCommand.self,
            ValidateCommand.self, TestCommand.self, ConvertCommand.self, TokenCommand.self, SeedCommand.self,
            InspectCommand.self, GenerateCommand.self, SchemaCommand.self, DemoCommand.self,
        ]
    )

    static func main() async { await runAndExit(modules: .all) }
}
