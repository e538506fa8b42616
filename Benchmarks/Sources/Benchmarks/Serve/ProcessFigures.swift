import Foundation

/// What another process on this machine takes, as Linux tells it.
struct ProcessFigures {
    /// The resident memory in bytes.
    var memory: Int
    /// The time on processors so far.
    var cpu: Duration

    /// Looks at a process.
    ///
    /// - Returns: `nil` where the system does not tell.
    init?(of process: Int32) {
        guard let statm = Self.fields("/proc/\(process)/statm"), statm.count > 1, let pages = Int(statm[1]),
            // The second field, the name, is in parentheses, and may have spaces; that of this executable has none.
            let stat = Self.fields("/proc/\(process)/stat"), stat.count > 14,
            let user = Int(stat[13]), let system = Int(stat[14])
        else { return nil }
        memory = pages * sysconf(Int32(_SC_PAGESIZE))
        cpu = .seconds(Double(user + system) / Double(sysconf(Int32(_SC_CLK_TCK))))
    }

    private static func fields(_ path: String) -> [Substring]? {
        (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: " ")
    }
}
