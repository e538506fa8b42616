/// A database in a file of this machine, with the files that are made beside it.
package struct DatabaseFile: Sendable, Hashable {
    /// The database.
    package var path: String
    /// The write-ahead log, which grows when something keeps it from being copied into the database; `nil` without one.
    package var log: String?
    /// The other files beside the database that have, or describe, rows.
    package var others: [String]

    /// Creates a description; nothing has to be there.
    package init(path: String, log: String? = nil, others: [String] = []) {
        self.path = path
        self.log = log
        self.others = others
    }

    /// The database and all files beside it.
    package var allPaths: [String] { [path] + [log].compactMap(\.self) + others }
}
