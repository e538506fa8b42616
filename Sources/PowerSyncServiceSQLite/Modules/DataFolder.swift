import Foundation
import PowerSyncSQLite
import PowerSyncServiceCore

/// The folder that a database file of the configuration lies in.
struct DataFolder {
    private let folder: URL
    /// The key of the configuration that names the file.
    private let key: String

    /// The folder of a file.
    init(of path: String, key: String) {
        folder = URL(filePath: path).deletingLastPathComponent()
        self.key = key
    }

    /// Makes the folder, unless it is there.
    ///
    /// - Throws: ``ServiceError`` with code `dataFolder`.
    func create() throws(ServiceError) {
        do {
            try PrivateFiles.createFolder(at: folder.path(percentEncoded: false))
        } catch {
            throw failure(error)
        }
    }

    /// Finds what would keep ``create()`` from making the folder, and makes none.
    ///
    /// - Throws: ``ServiceError`` with code `dataFolder`.
    func check() throws(ServiceError) {
        var ancestor = folder.standardizedFileURL
        var isFolder: ObjCBool = false
        // Without a slash at the end: with one, a file is nothing.
        while unsafe !FileManager.default.fileExists(atPath: ancestor.path, isDirectory: &isFolder),
            ancestor.pathComponents.count > 1
        {
            ancestor.deleteLastPathComponent()
        }
        // What is there already does not have to be made.
        if isFolder.boolValue, ancestor.pathComponents == folder.standardizedFileURL.pathComponents { return }
        guard isFolder.boolValue, FileManager.default.isWritableFile(atPath: ancestor.path) else { throw failure(nil) }
    }

    private func failure(_ cause: (any Error)?) -> ServiceError {
        ServiceError(
            .dataFolder,
            "the folder \(folder.path(percentEncoded: false)) cannot be created; check that it may be written",
            key: key,
            underlyingError: cause
        )
    }
}
