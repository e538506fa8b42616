import Crypto
import Foundation

/// The uploads of a tus server: what has come of `photo.jpg` is in `photo.jpg.upload`, and its size in `photo.jpg.length`.
///
/// One request at a time writes, so that no two write at one offset.
actor TusUploads {
    /// How long an upload that is not finished is kept: three days.
    private static let lifetime: TimeInterval = 3 * 86_400

    /// How far an upload is.
    struct Progress {
        var offset: Int
        var length: Int
    }

    /// What became of a part.
    enum Outcome {
        case stored(Progress)
        case unknown
        case elsewhere
        case damaged
    }

    /// Begins an upload, or finds the one of this size that there is.
    func begin(_ path: String, length: Int) throws {
        if let progress = progress(of: path), progress.length == length { return }
        try remove(path)
        try Data("\(length)".utf8).write(to: URL(filePath: path + ".length"))
        try Data().write(to: URL(filePath: path + ".upload"))
        try finish(path, Progress(offset: 0, length: length))
    }

    /// How far an upload is; `nil` when there is none.
    func progress(of path: String) -> Progress? {
        if let size = size(of: path) { return Progress(offset: size, length: size) }
        guard
            let offset = size(of: path + ".upload"),
            let text = try? String(contentsOfFile: path + ".length", encoding: .utf8), let length = Int(text)
        else { return nil }
        return Progress(offset: offset, length: length)
    }

    /// Takes a part.
    ///
    /// - Parameters:
    ///   - part: The bytes.
    ///   - offset: Where they begin in the photo.
    ///   - path: The photo.
    ///   - digest: The SHA-256 digest that the bytes must have, in base64.
    /// - Returns: What became of it.
    /// - Throws: An error of the file system.
    func append(_ part: Data, at offset: Int, of path: String, digest: String?) throws -> Outcome {
        guard var progress = progress(of: path) else { return .unknown }
        guard progress.offset == offset, offset + part.count <= progress.length else { return .elsewhere }
        if let digest, digest != Data(SHA256.hash(data: part)).base64EncodedString() { return .damaged }
        guard offset < progress.length else { return .stored(progress) }
        let file = try FileHandle(forWritingTo: URL(filePath: path + ".upload"))
        defer { try? file.close() }
        try file.seekToEnd()
        try file.write(contentsOf: part)
        try file.synchronize()
        progress.offset += part.count
        try finish(path, progress)
        return .stored(progress)
    }

    /// Removes an upload that is not finished.
    func remove(_ path: String) throws {
        for suffix in [".upload", ".length"] where size(of: path + suffix) != nil {
            try FileManager.default.removeItem(atPath: path + suffix)
        }
    }

    /// Removes uploads that were not continued for too long.
    func removeOld(in folder: String) throws {
        let limit = Date(timeIntervalSinceNow: -Self.lifetime)
        guard let names = FileManager.default.enumerator(atPath: folder) else { return }
        for case let name as String in names where name.hasSuffix(".upload") {
            let path = "\(folder)/\(name)"
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            guard let changed = attributes[.modificationDate] as? Date, changed < limit else { continue }
            try remove(String(path.dropLast(".upload".count)))
        }
    }

    /// Gives a whole file its name.
    private func finish(_ path: String, _ progress: Progress) throws {
        guard progress.offset == progress.length else { return }
        try FileManager.default.moveItem(atPath: path + ".upload", toPath: path)
        try FileManager.default.removeItem(atPath: path + ".length")
    }

    private func size(of path: String) -> Int? {
        (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int
    }
}
