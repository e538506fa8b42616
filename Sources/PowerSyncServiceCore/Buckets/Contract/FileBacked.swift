/// A source or a storage in files of this machine.
package protocol FileBacked: Sendable {
    /// Looks whether the files are still those that were opened, whole, and can be written.
    ///
    /// SQLite does not look: it goes on with what it has opened, and what is written then is gone when the process ends.
    ///
    /// - Throws: ``FileProblem``.
    func checkFiles() throws(FileProblem)
}

/// What has become of a file under a running process: what is written now may be lost.
package struct FileProblem: Error, Sendable, Equatable, CustomStringConvertible {
    /// The file.
    package let path: String
    /// What has become of it, as the end of a sentence that begins with the file.
    package let problem: String

    /// Creates a problem.
    package init(_ path: String, _ problem: String) {
        self.path = path
        self.problem = problem
    }

    package var description: String {
        "The database file \(path) \(problem): what is written now may be lost. Put it back as it was, or restart the service."
    }
}
