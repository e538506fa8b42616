import Foundation

/// A run of `scripts/check-protocol`, which checks a service over the network with curl.
package struct ProtocolCheck {
    /// The sync config that the script expects.
    package static let syncConfig = """
        config: {edition: 3}
        streams:
          lists:
            auto_subscribe: true
            priority: 1
            query: SELECT id, name FROM lists WHERE owner_id = auth.user_id()
          todos:
            query: SELECT id, list_id, title, done FROM todos WHERE list_id = subscription.parameter('list_id')
          own:
            query: SELECT id, title FROM todos WHERE list_id IN (SELECT id FROM lists WHERE owner_id = auth.user_id())
        """

    /// The tables of its source.
    package static let tables = [
        "CREATE TABLE IF NOT EXISTS lists (id TEXT PRIMARY KEY, owner_id TEXT, name TEXT)",
        "CREATE TABLE IF NOT EXISTS todos (id TEXT PRIMARY KEY, list_id TEXT, title TEXT, done INTEGER)",
    ]

    /// Its exit status.
    package let status: Int32
    /// What it printed.
    package let lines: [String]

    /// The lines about what is wrong.
    package var failures: [String] { lines.filter { !$0.hasPrefix("ok ") && !$0.hasPrefix("skipped ") } }

    /// Runs the script against a service.
    ///
    /// - Parameters:
    ///   - url: Where the service is.
    ///   - environment: What the script is given: `POWERSYNC_TOKEN` at least.
    /// - Throws: An error of starting it.
    package init(of url: String, environment: [String: String]) async throws {
        let process = Process()
        process.executableURL =
            URL(filePath: #filePath)
            .appending(path: "../../../scripts/check-protocol").standardized
        process.arguments = [url]
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        let (exits, exit) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in exit.finish() }
        try process.run()
        var lines: [String] = []
        for await line in output.fileHandleForReading.lines() { lines.append(line) }
        for await _ in exits {}
        status = process.terminationStatus
        self.lines = lines
    }
}
