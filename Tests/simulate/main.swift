import CSimulation
import Foundation

simulation_restart_deterministic(CommandLine.unsafeArgv)

guard let command = Command(CommandLine.arguments.dropFirst()) else {
    FileHandle.standardError.write(Data(Command.usage.utf8))
    exit(64)
}
if let runs = command.shrinkingRuns {
    try command.shrink(runs)
    exit(0)
}
let isWell = try command.run()
// Nothing that was simulated is taken down.
_exit(isWell ? 0 : 1)
