import Foundation

/// The resident memory of a process, as Linux tells it.
package struct ProcessMemory {
    /// Whether this machine tells it.
    package static let isKnown = FileManager.default.fileExists(atPath: "/proc/self/clear_refs")

    private let folder: URL

    /// Looks at a process.
    ///
    /// - Parameter process: Its number; `nil` for this process.
    package init(of process: Int32? = nil) {
        folder = URL(filePath: "/proc/\(process.map(String.init) ?? "self")")
    }

    /// What it has now, in bytes.
    package var now: Int {
        get throws { try read("VmRSS") }
    }

    /// How many bytes of it are its own, in physical memory: without the pages of files, which the system takes and brings back as
    /// it likes.
    package var own: Int {
        get throws { try read("RssAnon") }
    }

    /// The most that it has had since the last call of ``forgetPeak()``, in bytes.
    package var peak: Int {
        get throws { try read("VmHWM") }
    }

    /// Sets the peak to what there is now.
    package func forgetPeak() throws {
        try Data("5".utf8).write(to: folder.appending(path: "clear_refs"))
    }

    private struct Unreadable: Error {
        let line: String
    }

    /// Reads a line such as `VmRSS:     12345 kB`.
    private func read(_ line: String) throws -> Int {
        let status = try String(contentsOf: folder.appending(path: "status"), encoding: .utf8)
        let words = status.split(separator: "\n").first { $0.hasPrefix("\(line):") }?
            .split(whereSeparator: \.isWhitespace)
        guard let words, words.count > 1, let count = Int(words[1]) else { throw Unreadable(line: line) }
        return count * 1024
    }
}
