package import Foundation

/// A file system in memory that has a size, for which one has to be root on Linux.
package struct SmallDisk {
    /// Where it is mounted.
    package let url: URL

    /// Whether this process may make one.
    package static var isPossible: Bool {
        geteuid() == 0 && FileManager.default.isExecutableFile(atPath: "/bin/mount")
            && (try? SmallDisk(
                at: FileManager.default.temporaryDirectory.appending(path: UUID().uuidString),
                size: "1m"
            ))
            .map { $0.remove() } != nil
    }

    /// Makes one at a place where nothing is; `size` as `mount` reads it, such as `1m`.
    package init(at url: URL, size: String) throws {
        self.url = url
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        try SmallDisk.run("/bin/mount", "-t", "tmpfs", "-o", "size=\(size)", "none", url.path)
    }

    /// Makes it larger.
    package func grow(to size: String) throws {
        try SmallDisk.run("/bin/mount", "-o", "remount,size=\(size)", url.path)
    }

    /// Takes it away with its files.
    package func remove() {
        try? SmallDisk.run("/bin/umount", url.path)
        try? FileManager.default.removeItem(at: url)
    }

    private struct Failure: Error {
        let command: String
    }

    private static func run(_ path: String, _ arguments: String...) throws {
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(command: path + " " + arguments.joined(separator: " "))
        }
    }
}
