import PowerSyncService

/// Requests to a service, as people paste them into a shell.
enum CurlLine {
    /// The width of a terminal that nobody has made wider.
    static let columns = 80

    /// A request in one line, or in two if it is longer than ``columns``.
    ///
    /// - Parameters:
    ///   - address: Where the service listens.
    ///   - path: The path of the request.
    ///   - options: Options of `curl`.
    /// - Returns: Lines, which begin with two spaces.
    static func lines(_ address: BoundAddress, _ path: String, _ options: String) -> [String] {
        let command = "  \(curl(address)) \(options)"
        let url = "\(address.url)\(path)"
        let line = "\(command) \(url)"
        return line.count <= columns ? [line] : ["\(command) \\", "    \(url)"]
    }

    /// The sync stream of a user.
    ///
    /// - Parameters:
    ///   - address: Where the service listens.
    ///   - token: The command that prints the token of the user.
    /// - Returns: Lines, which begin with two spaces; a token is in none of them.
    static func stream(_ address: BoundAddress, token: String) -> [String] {
        [
            "  T=$(\(token))",
            "  \(curl(address)) -N -H \"Authorization: Token $T\" -H 'Content-Type: application/json' \\",
            "    -d '{\"raw_data\":true}' \(address.url)/sync/stream",
        ]
    }

    /// The program; the certificate of the service is for its public name, and not for this machine.
    private static func curl(_ address: BoundAddress) -> String { address.isEncrypted ? "curl -k" : "curl" }
}
