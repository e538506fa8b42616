import PowerSyncService

/// What `powersync serve` prints when the service is ready.
struct ServeAnnouncement {
    /// What the service was started with.
    var configuration: ServiceConfiguration
    /// The file that the configuration is from.
    var file: String
    /// Whether somebody reads it; else it ends up in a log, where tokens and keys have no place.
    var isForPeople: Bool

    /// The lines.
    ///
    /// - Parameters:
    ///   - address: Where the service listens.
    ///   - dashboard: Where the dashboard is, perhaps with the key that shows it.
    /// - Returns: Text to print.
    func lines(_ address: BoundAddress, dashboard: String?) -> [String] {
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
        guard let token = try? configuration.makeDevelopmentToken(userID: "user-1") else { return lines }
        guard isForPeople else { return lines + ["  token      powersync token --user USER --config \(file)"] }
        return lines + [
            "  user       user-1; for another one: powersync token --user USER --config \(file)",
            "  token      \(token)",
            "  try it     \(CurlLine.stream(address, token: token))",
        ]
    }
}
