import PowerSyncServiceCore

/// What the logs of servers are called: as the server that began them, also after a standby has gone on with one (docs/postgres.md "A fail-over").
///
/// A standby that is promoted has the log of its primary up to a position, and goes on there, on another timeline. Its positions are
/// compared with those that were read of the primary, so both have one name. Whether it has all that was read is another question:
/// of a log that is shorter than it was (`LogRewinds`), or has something else where something was read (``LogContinuity``).
struct LogNames: Sendable {
    /// The log that a server writes for a database.
    struct Log: Hashable, Sendable {
        /// The identifier of the cluster, which its standbys have, too.
        var system: Substring
        /// The timeline, counted from 1.
        var timeline: UInt32
        /// The number of the database.
        var database: Substring

        /// Describes a log.
        init(system: Substring, timeline: UInt32, database: Substring) {
            self.system = system
            self.timeline = timeline
            self.database = database
        }

        /// Reads the name of a history, such as `7713935193458958674.00000001.5`, whatever follows after `~`; `nil` for one of another source.
        init?(_ history: SourceHistory) {
            let parts = history.rawValue.prefix { $0 != "~" }.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 3, let timeline = UInt32(parts[1], radix: 16) else { return nil }
            self.init(system: parts[0], timeline: timeline, database: parts[2])
        }

        /// The name of a history that begins with the log.
        var name: String {
            let digits = String(timeline, radix: 16, uppercase: true)
            return "\(system).\(String(repeating: "0", count: 8 - digits.utf8.count))\(digits).\(database)"
        }

        /// Whether a standby of the server of another log may have gone on with that.
        fileprivate func mayContinue(_ other: Log) -> Bool {
            system == other.system && database == other.database && other.timeline < timeline
        }
    }

    private var names: [Log: String] = [:]
    /// What was looked for in the timelines of a log, and is not there.
    private var strangers: [Log: Set<Log>] = [:]
    /// The log that was seen last.
    private var last: Log?

    /// The log of which has to be known whether another one goes on with it, to give that one a name: the one that a stored position
    /// names, or that was seen before.
    ///
    /// - Parameters:
    ///   - log: The log that is seen.
    ///   - known: The history of a stored position.
    /// - Returns: `nil` when the log has its name.
    func predecessor(of log: Log, known: SourceHistory?) -> Log? {
        if let stored = known.flatMap({ Log($0) }), log.mayContinue(stored), names[log] != name(of: stored),
            strangers[log]?.contains(stored) != true
        {
            return stored
        }
        guard names[log] == nil, let last, log.mayContinue(last), strangers[log]?.contains(last) != true else {
            return nil
        }
        return last
    }

    /// Learns whether a log goes on with another one.
    ///
    /// - Parameters:
    ///   - log: The log.
    ///   - predecessor: The other one.
    ///   - timelines: The timelines that the log has come through.
    /// - Returns: Whether it does.
    mutating func learn(_ log: Log, after predecessor: Log, through timelines: Set<UInt32>) -> Bool {
        guard timelines.contains(predecessor.timeline) else {
            strangers[log, default: []].insert(predecessor)
            return false
        }
        names[log] = name(of: predecessor)
        return true
    }

    /// The name of a log that is seen.
    ///
    /// - Parameters:
    ///   - log: The log.
    ///   - known: The history of a stored position: another process may have named the log.
    /// - Returns: The name.
    mutating func see(_ log: Log, knowing known: SourceHistory? = nil) -> String {
        let name = known.flatMap { Log($0) } == log ? log.name : name(of: log)
        names[log] = name
        last = log
        return name
    }

    private func name(of log: Log) -> String { names[log] ?? log.name }

    /// The timelines in a timeline history file: a line for each, with its number, where it ends, and why.
    ///
    ///     1	0/3000158	no recovery target specified
    static func timelines(_ file: String) -> Set<UInt32> {
        Set(
            file.split(separator: "\n").compactMap { line in
                line.split { $0 == "\t" || $0 == " " }.first.flatMap { UInt32($0) }
            }
        )
    }
}
