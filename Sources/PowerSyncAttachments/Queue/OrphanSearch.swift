import PowerSyncClient
import PowerSyncSQLite

/// Tells which files in a directory no row leads to.
///
/// A file can have many paths: with another slash, through a symbolic link, in another case or normal form where the volume takes
/// them for the same. So a file that no row names is compared with what the paths of the rows lead to, by device and inode. As long
/// as something cannot be compared, no file counts as an orphan.
struct OrphanSearch: Sendable {
    /// The paths of the files, by how they are compared.
    private let files: [ExactText: String]
    /// The files that rows name.
    private var named: Set<ExactText> = []
    /// The paths of rows that name none of the files.
    private var otherPaths: Set<ExactText> = []
    /// Those of them at which rows say that there is a file.
    private var otherStoredPaths: Set<ExactText> = []

    /// Creates a search.
    ///
    /// - Parameter files: The paths of the files, as the storage gives them.
    init(among files: [String]) {
        self.files = Dictionary(files.map { (OrphanSearch.spelling(of: $0), $0) }) { first, _ in first }
    }

    /// A row may have a file at a path.
    mutating func keepFile(at path: String) {
        if !isNamed(by: path) { otherPaths.insert(ExactText(path)) }
    }

    /// A row says that its file is at a path.
    mutating func keepStoredFile(at path: String) {
        guard !isNamed(by: path) else { return }
        otherPaths.insert(ExactText(path))
        otherStoredPaths.insert(ExactText(path))
    }

    /// Whether a path is that of one of the files, which is remembered.
    private mutating func isNamed(by path: String) -> Bool {
        let spelling = OrphanSearch.spelling(of: path)
        guard files[spelling] != nil else { return false }
        named.insert(spelling)
        return true
    }

    /// The path without empty components and those that mean where they are.
    private static func spelling(of path: String) -> ExactText {
        let components = path.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
        return ExactText(path.hasPrefix("/") ? "/" + components : components)
    }

    /// The files that no row leads to.
    ///
    /// - Parameter storage: Where the files are.
    /// - Returns: Their paths, as they were given.
    /// - Throws: ``PowerSyncAttachmentError`` when it cannot be found out what a path leads to; what the storage throws.
    /// - Complexity: O(*n*) system calls if there are files that no row names, *n* paths; else none.
    func orphans(in storage: any LocalStorageAdapter) async throws -> [String] {
        let candidates = files.filter { !named.contains($0.key) }.values.map { ExactText($0) }
        guard !candidates.isEmpty else { return [] }
        let found = try await OrphanSearch.identities(of: candidates)
        // A storage that is not in the file system knows each file by one path.
        guard !found.isEmpty else { return candidates.map { $0.text } }
        let kept = try await OrphanSearch.identities(of: Array(otherPaths))
        for path in otherStoredPaths where kept[path] == nil { try await checkIsMissing(path.text, in: storage) }
        let used = Set(kept.values)
        return candidates.filter { path in found[path].map { !used.contains($0) } ?? false }.map { $0.text }
    }

    /// Checks that a path that leads nowhere in the file system means nothing to the storage either.
    ///
    /// - Throws: ``PowerSyncAttachmentError/generalError(_:)`` when the storage has a file there: it may be any of those in the file system.
    private func checkIsMissing(_ path: String, in storage: any LocalStorageAdapter) async throws {
        do {
            guard try await storage.fileExists(filePath: path) else { return }
        } catch PowerSyncAttachmentError.invalidPath {
            // Paths out of date, from before the app's container has moved, lead out of the directory.
            return
        }
        throw PowerSyncAttachmentError.generalError(
            "No files are removed: the local storage has one at \(path), and lists its files by other paths."
        )
    }

    /// What paths lead to; without those that lead nowhere.
    private static func identities(of paths: [ExactText]) async throws -> [ExactText: OpenFile.Identity] {
        try await FileWork.run {
            var identities: [ExactText: OpenFile.Identity] = [:]
            for path in paths { identities[path] = try OpenFile.identity(path.text) }
            return identities
        }
    }
}
