import ArgumentParser
import Foundation
import PowerSyncServiceCore
import PowerSyncTerminal

/// `powersync init my-app`: writes the files with which a service begins.
struct InitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Write a service configuration, sync streams and sample rows to begin with, and a back end in Swift.",
        discussion: "Overwrites nothing: when one of the files is there, none is written, and the exit code is 1."
    )

    @Argument(help: "The folder; it is made if it is missing.", completion: .directory)
    var folder: String = "."

    @Option(
        help: ArgumentHelp(
            "The kind of server that the service watches; a file of its own if it is left out.",
            valueName: "type"
        )
    )
    var source: String?

    @Option(help: "The port of the service; that of a back end is the next one.")
    var port: Int = 8080

    @Flag(
        help: """
            Write a back end in Swift, too, in the folder backend: uploads, a sign-in to replace, tokens with a key of its own, and tests.
            """
    )
    var backend = false

    @Option(
        help: ArgumentHelp("Where the back end finds powersync-swift: a URL, or a folder.", valueName: "place"),
        completion: .directory
    )
    var package: String?

    func validate() throws {
        guard (1024...65535).contains(port) else {
            throw ValidationError("--port must be between 1024 and 65535, got \(port)")
        }
        let modules = CommandModules.current
        if let source, modules.serverStarter(ofType: source, password: "") == nil {
            throw ValidationError("--source must be \(modules.serverStarters), got \(source)")
        }
        if backend, source != nil {
            throw ValidationError(
                "--backend writes one over the service's own file; for servers, see the page “Writing a backend”, and leave one of the two out"
            )
        }
        if package != nil, !backend { throw ValidationError("--package is for --backend") }
    }

    func run() throws {
        let server = source.flatMap {
            CommandModules.current.serverStarter(ofType: $0, password: ProjectFiles.makePassword())
        }
        var files = ProjectFiles(port: port, over: server)
        if backend { files.backend = BackendFiles(port: port < 65535 ? port + 1 : port - 1, package: place) }
        try files.write(to: URL(filePath: folder, directoryHint: .isDirectory))
        var lines = files.all.map { "Wrote \(folder == "." ? $0.name : "\(folder)/\($0.name)")" } + [""]
        lines.append("Next:")
        if folder != "." { lines.append("  cd '\(folder.replacing("'", with: "'\\''"))'") }
        if let server {
            lines += (server.steps + ["powersync test-connection", "powersync serve"]).map { "  \($0)" }
        } else {
            lines.append("  powersync dev")
        }
        if let backend = files.backend {
            lines.append("And in another terminal, once the service has made its file:")
            if package == nil { lines.append("  put the address of powersync-swift into backend/Package.swift") }
            let place = folder == "." ? "" : "\(folder)/"
            lines.append("  cd '\((place + BackendFiles.folder).replacing("'", with: "'\\''"))'")
            lines += ["  swift test", "  swift run    # http://127.0.0.1:\(backend.port)"]
        }
        try StandardOutput.print(lines.joined(separator: "\n"))
    }

    /// What the manifest of a back end says of powersync-swift: a URL, or the whole path of a folder.
    private var place: String {
        guard let package else { return BackendFiles.publishedPackage }
        if package.contains("://") { return package }
        return URL(filePath: package, directoryHint: .isDirectory).standardizedFileURL.path(percentEncoded: false)
    }
}
