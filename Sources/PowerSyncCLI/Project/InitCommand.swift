import ArgumentParser
import Foundation
import PowerSyncTerminal

/// `powersync init my-app`: writes the files with which a service begins.
struct InitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Write a service configuration, sync streams and sample rows to begin with.",
        discussion: "Overwrites nothing: when one of the files is there, none is written, and the exit code is 1."
    )

    @Argument(help: "The folder; it is made if it is missing.", completion: .directory)
    var folder: String = "."

    @Option(help: "The port of the service.")
    var port: Int = 8080

    func validate() throws {
        guard (1024...65535).contains(port) else {
            throw ValidationError("--port must be between 1024 and 65535, got \(port)")
        }
    }

    func run() throws {
        let files = ProjectFiles(port: port)
        try files.write(to: URL(filePath: folder, directoryHint: .isDirectory))
        var lines = files.all.map { "Wrote \(folder == "." ? $0.name : "\(folder)/\($0.name)")" } + [""]
        lines.append("Next:")
        if folder != "." { lines.append("  cd '\(folder.replacing("'", with: "'\\''"))'") }
        lines.append("  powersync dev")
        try StandardOutput.print(lines.joined(separator: "\n"))
    }
}
