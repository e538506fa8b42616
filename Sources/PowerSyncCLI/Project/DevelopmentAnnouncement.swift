import PowerSyncService
import PowerSyncTerminal

/// What `powersync dev` prints when the service is ready.
struct DevelopmentAnnouncement {
    /// Where the service listens.
    var address: BoundAddress
    /// The page that shows what it does, with the key for it.
    var dashboard: String?
    /// The file whose rows were inserted; `nil` when there were rows.
    var seed: String?
    /// The users that there are tokens for.
    var users: [String]
    /// The files that requests are made of.
    var files: DevelopmentFiles
    /// Whether there is an upload among them.
    var hasUpload: Bool

    /// The lines.
    ///
    /// Of requests and Swift code, none is longer than ``CurlLine/columns`` but for a path in it.
    var lines: [String] {
        var lines = ["", "The service is ready, for development."]
        if let seed { lines.append("  rows       those of \(seed)") }
        lines.append("  endpoint   \(address.url)")
        if let dashboard { lines.append("  dashboard  \(dashboard)") }
        return lines + requests + connector
    }

    private var requests: [String] {
        var lines = ["", "Requests to paste; tokens for 12 hours are in \(files.path("")):", ""]
        for user in users {
            lines.append("  # the rows of \(user), as they come")
            lines += CurlLine.lines(address, "/sync/stream", "-N -H @\(headers(of: user)) -d '{}'")
        }
        if let user = users.first, hasUpload {
            lines.append("  # a row that \(user) writes")
            let body = files.path("write.json").shellWord
            lines += CurlLine.lines(address, "/dev/write", "-H @\(headers(of: user)) -d @\(body)")
        }
        lines.append("  # a token for another user")
        let header = files.path("json.headers").shellWord
        return lines
            + CurlLine.lines(address, "/dev/token", "-H @\(header) -d '{\"user_id\":\"anybody\"}'")
    }

    private func headers(of user: String) -> String { files.path(DevelopmentFiles.name(of: user)).shellWord }

    /// Code for an app on this machine.
    private var connector: [String] {
        guard let user = users.first else { return [] }
        let token = files.absolutePath("\(DevelopmentFiles.name(of: user)).token")
        return [
            "", "A connector for an app on this machine, as \(user):", "",
            "  let connector = try HTTPBackendConnector(",
            "      uploadURL: \"\(address.url)/dev/write\"",
            "  ) {",
            "      let file = \"\(token.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\"",
            "      return PowerSyncCredentials(",
            "          endpoint: \"\(address.url)\",",
            "          token: try String(contentsOfFile: file, encoding: .utf8)",
            "      )",
            "  }",
        ]
    }
}
