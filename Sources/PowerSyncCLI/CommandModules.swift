import PowerSyncService
import PowerSyncServiceCore

/// The databases that commands know.
enum CommandModules {
    /// The list that the entry point of the command was given, for each command that it runs.
    @TaskLocal static var current = Modules.all
}
