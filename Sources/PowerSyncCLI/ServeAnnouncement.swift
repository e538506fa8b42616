import PowerSyncService

/// What `powersync serve` prints when the service is ready.
struct ServeAnnouncement {
    /// What the service was started with.
    var configuration: ServiceConfiguration
    /// The file that the configuration is from; `nil` when it is from the environment.
    var file: String?
    /// Whether somebody reads it; else it ends up in a log, where tokens and keys have no place.
    var isForPeople: Bool
    /// The program as a shell finds it.
    var program = "powersync"

    /// The lines.
    ///
    /// Of requests, none is longer than ``CurlLine/columns`` but for a path in it.
    ///
    /// - Parameters:
    ///   - address: Where the service listens.
    ///   - dashboard: Where the dashboard is, perhaps with the key that shows it.
    /// - Returns: Text to print; none beside a log of JSON that nobody reads on a terminal.
    func lines(_ address: BoundAddress, dashboard: String?) -> [String] {
        // What reads lines of JSON gets nothing else; the log says where the service is.
        guard isForPeople || configuration.logging.format != .json else { return [] }
        var lines = ["", "The service is ready."]
        guard configuration.role != .sync else {
            return lines + ["  probes     \(address.url)/probes/readiness; the role sync serves no clients"]
        }
        lines.append("  endpoint   \(address.url)")
        if let dashboard {
            if !dashboard.contains("#") {
                lines.append("  dashboard  \(dashboard), with one of api.tokens")
            } else if isForPeople {
                lines.append("  dashboard  \(dashboard)")
            }
        }
        guard (try? configuration.makeDevelopmentToken(userID: "user-1")) != nil else { return lines }
        func token(_ user: String) -> String {
            ConfigurationOptions.command("token --user \(user)", file: file, program: program)
        }
        lines.append("  token      \(token("USER"))")
        guard isForPeople else { return lines }
        return lines + ["", "To paste, the rows of user-1, as they come:", ""]
            + CurlLine.stream(address, token: token("user-1"))
    }
}
