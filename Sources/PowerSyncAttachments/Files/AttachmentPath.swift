import Crypto
import Foundation
import PowerSyncClient
import PowerSyncSQLite

/// The rules for names and paths of attachments (docs/attachments.md "Names and paths").
///
/// Ids, extensions and file names come from synced data, so possibly from another user: they are checked before they
/// become part of a path, and the path is checked again, with its symbolic links resolved.
enum AttachmentPath {
    /// What the names of unfinished files end with.
    static let temporarySuffix = ".pstmp"
    /// What stands before that in the name of a download.
    private static let downloadTag = "download"
    /// What stands before that in the name of what must be known to continue a download.
    private static let stateTag = "state"
    /// What stands before that in the name of what must be known to continue an upload.
    private static let uploadTag = "upload"

    /// The most bytes of one component of a path, on all file systems that matter.
    private static let componentLimit = 255

    /// Checks a file name, which may contain sub-directories.
    ///
    /// - Throws: ``PowerSyncAttachmentError/invalidPath(_:)``
    static func check(filename: String) throws(PowerSyncAttachmentError) {
        let bytes = filename.utf8
        guard !bytes.isEmpty else { throw .invalidPath("the file name is empty") }
        guard !bytes.contains(0) else { throw .invalidPath("the file name contains a NUL") }
        guard bytes.first != slash else { throw .invalidPath("the file name \(shown(filename)) is absolute") }
        guard bytes.last != slash else { throw .invalidPath("the file name \(shown(filename)) ends with a slash") }
        for component in bytes.split(separator: slash, omittingEmptySubsequences: false) {
            switch String(component) ?? "" {
            case "": throw .invalidPath("the file name \(shown(filename)) has an empty component")
            case ".", "..": throw .invalidPath("the file name \(shown(filename)) has a relative component")
            default: break
            }
            guard component.count <= componentLimit else {
                throw .invalidPath("a component of \(component.count) bytes is too long: \(shown(filename))")
            }
        }
        guard !isTemporary(filename) else {
            throw .invalidPath("the file name \(shown(filename)) ends like those of unfinished files")
        }
    }

    /// Checks the extension of a file, without the dot.
    ///
    /// - Throws: ``PowerSyncAttachmentError/invalidPath(_:)``
    static func check(fileExtension: String) throws(PowerSyncAttachmentError) {
        let isForbidden = fileExtension.utf8.contains { $0 == slash || $0 == UInt8(ascii: "\\") || $0 == 0 }
        guard !isForbidden, fileExtension != ".." else {
            throw .invalidPath("the file extension \(shown(fileExtension)) is not one")
        }
    }

    /// Checks that a path leads into a directory, with the symbolic links on both ways resolved.
    ///
    /// Neither needs to exist. The last component is resolved as well: a link to a file elsewhere is no attachment.
    ///
    /// - Throws: ``PowerSyncAttachmentError/invalidPath(_:)``
    /// - Complexity: One system call for each component.
    static func check(path: String, inside directory: String) throws(PowerSyncAttachmentError) {
        let parent = try resolvedComponents(of: directory)
        let child = try resolvedComponents(of: path)
        guard child.count > parent.count, child.starts(with: parent) else {
            throw .invalidPath("\(shown(path)) is not inside \(shown(directory))")
        }
    }

    /// Checks that a path means the same to the system: C strings end at a NUL.
    ///
    /// - Throws: ``PowerSyncAttachmentError/invalidPath(_:)``
    static func check(systemPath path: String) throws(PowerSyncAttachmentError) {
        guard !path.isEmpty else { throw .invalidPath("the path is empty") }
        guard !path.utf8.contains(0) else { throw .invalidPath("\(shown(path)) contains a NUL") }
    }

    /// Whether a name or path is that of an unfinished file.
    static func isTemporary(_ path: String) -> Bool {
        path.lowercased().hasSuffix(temporarySuffix)
    }

    /// Whether a name or path is one of those that ``downloadFiles(for:)`` and ``uploadJournalPath(for:)`` give: a later attempt uses them.
    static func isKeptForLater(_ path: String) -> Bool {
        let path = path.lowercased()
        return [downloadTag, stateTag, uploadTag].contains { path.hasSuffix(".\($0)\(temporarySuffix)") }
    }

    /// A name for an unfinished file beside its target: `<target>.<tag>.pstmp`.
    ///
    /// The target's name is shortened if the result would be too long for a file system; the same target and tag give
    /// the same path.
    static func temporaryPath(for target: String, tag: String) -> String {
        let suffix = ".\(tag)\(temporarySuffix)"
        let start = target.utf8.lastIndex(of: slash).map { target.utf8.index(after: $0) } ?? target.startIndex
        let name = target[start...]
        guard name.utf8.count + suffix.utf8.count > componentLimit else { return target + suffix }
        let digest = digest(of: name)
        var kept = name
        while kept.utf8.count + 1 + digest.utf8.count + suffix.utf8.count > componentLimit { kept.removeLast() }
        return "\(target[..<start])\(kept).\(digest)\(suffix)"
    }

    /// Where a file is downloaded to before it gets its name; a later attempt finds it there.
    static func downloadPath(for target: String) -> String {
        temporaryPath(for: target, tag: downloadTag)
    }

    /// All files that an unfinished download may have left.
    static func downloadFiles(for target: String) -> [String] {
        let path = downloadPath(for: target)
        return [path, downloadStatePath(for: path)]
    }

    /// Where a transport keeps what it must know to continue the download at a path.
    static func downloadStatePath(for downloadPath: String) -> String {
        temporaryPath(for: downloadPath, tag: stateTag)
    }

    /// Where a transport keeps what it must know to continue the upload of the file at a path.
    static func uploadJournalPath(for path: String) -> String {
        temporaryPath(for: path, tag: uploadTag)
    }

    /// The paths that the file of an attachment may have, in the order in which they are tried.
    ///
    /// The first one is the path of the file's name. Where something else is there, the others follow, in the same directory: `photo.jpg`,
    /// then `photo.9f86d081884c7d65.jpg` with the beginning of a digest of the id, then `photo.9f86d081884c7d65-2.jpg` up to `-9`.
    ///
    /// - Parameters:
    ///   - path: The path of the file's name.
    ///   - id: The id of the attachment.
    /// - Returns: Ten paths.
    static func candidates(for path: String, id: String) -> [String] {
        let digest = digest(of: id)
        let start = path.utf8.lastIndex(of: slash).map { path.utf8.index(after: $0) } ?? path.startIndex
        let name = path[start...]
        // A dot at the beginning is that of a hidden file.
        let end = name.dropFirst().lastIndex(of: ".") ?? name.endIndex
        var (stem, fileExtension) = (name[..<end], name[end...])
        return [path]
            + (1..<10).map { number in
                let tag = number == 1 ? ".\(digest)" : ".\(digest)-\(number)"
                while !stem.isEmpty, stem.utf8.count + tag.utf8.count + fileExtension.utf8.count > componentLimit {
                    stem.removeLast()
                }
                if stem.isEmpty { fileExtension = "" }
                return "\(path[..<start])\(stem)\(tag)\(fileExtension)"
            }
    }

    /// The error for a file that finds something at each of its ``candidates(for:id:)``.
    static func taken(_ paths: [String], _ filename: String) -> PowerSyncAttachmentError {
        .generalError(
            "There is no free path for the file \(filename): files that do not belong to it are at \(paths.joined(separator: ", ")). "
                + "Remove them, for example with sweepOrphanFiles(olderThan:)."
        )
    }

    /// Where the file of an attachment is when its directory has moved.
    ///
    /// - Parameters:
    ///   - stored: The path that its row has.
    ///   - path: The path that its file name has now.
    ///   - id: The id of the attachment.
    /// - Returns: One of ``candidates(for:id:)``: the one with the last component of the stored path, else the first one.
    static func current(_ stored: String?, for path: String, id: String) -> String {
        guard let stored, lastComponent(of: stored) != lastComponent(of: path) else { return path }
        return candidates(for: path, id: id).first { lastComponent(of: $0) == lastComponent(of: stored) } ?? path
    }

    private static func lastComponent(of path: String) -> ExactText {
        ExactText(path.utf8.split(separator: slash).last.map { String(Substring($0)) } ?? "")
    }

    private static func digest(of text: some StringProtocol) -> String {
        SHA256.hash(data: Data(text.utf8)).prefix(8).map { String(format: "%02x", $0) }.joined()
    }

    /// The directory of a path; `.` for a name alone.
    static func directory(of path: String) -> String {
        guard let end = path.utf8.lastIndex(of: slash) else { return "." }
        return end == path.startIndex ? "/" : String(path[..<end])
    }

    private static let slash = UInt8(ascii: "/")
    /// The links that are followed before a path counts as a circle, as in the kernel.
    private static let linkLimit = 40

    /// The components of an absolute path without `.`, `..` and links.
    ///
    /// What does not exist is taken as it is.
    private static func resolvedComponents(of path: String) throws(PowerSyncAttachmentError) -> [Substring] {
        guard path.utf8.first == slash, !path.utf8.contains(0) else {
            throw .invalidPath("\(shown(path)) is not an absolute path")
        }
        var rest = Array(components(of: path).reversed())
        var resolved: [Substring] = []
        var links = 0
        while let component = rest.popLast() {
            switch component {
            case ".": continue
            case "..": _ = resolved.popLast()
            default:
                let here = "/" + (resolved + [component]).joined(separator: "/")
                guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: here) else {
                    resolved.append(component)
                    continue
                }
                links += 1
                guard links <= linkLimit else { throw .invalidPath("\(shown(path)) has too many symbolic links") }
                if target.utf8.first == slash { resolved.removeAll() }
                rest += components(of: target).reversed()
            }
        }
        return resolved
    }

    /// What the system takes for components: a slash ends one also before a combining character, with which it is one `Character`.
    private static func components(of path: String) -> [Substring] {
        path.utf8.split(separator: slash).map { Substring($0) }
    }

    /// A name for a message: quoted, and not longer than a line.
    private static func shown(_ text: String) -> String {
        text.count > 80 ? "\(text.prefix(80).debugDescription)…" : text.debugDescription
    }
}
