import Foundation
import PowerSyncClient

/// The app's local storage, each of whose calls a queue can go on without (see ``AppCodeScope``).
struct LeavableStorage: LocalStorageAdapter {
    private let base: any LocalStorageAdapter

    private init(base: any LocalStorageAdapter) {
        self.base = base
    }

    /// A storage of which each call can be left; the same one for that of the file system, whose calls return.
    static func over(_ storage: any LocalStorageAdapter) -> any LocalStorageAdapter {
        storage is FileManagerStorageAdapter ? storage : LeavableStorage(base: storage)
    }

    func createFile(
        _ content: AttachmentFileContent,
        atFirstFreeOf paths: [String]
    ) async throws -> CreatedAttachmentFile? {
        try await AppCodeScope.call { try await base.createFile(content, atFirstFreeOf: paths) }
    }

    func saveFile(filePath: String, data: Data) async throws -> Int64 {
        try await AppCodeScope.call { try await base.saveFile(filePath: filePath, data: data) }
    }

    func saveFile(filePath: String, chunks: AttachmentChunks) async throws -> Int64 {
        try await AppCodeScope.call { try await base.saveFile(filePath: filePath, chunks: chunks) }
    }

    func readFile(filePath: String, mediaType: String?) async throws -> Data {
        try await AppCodeScope.call { try await base.readFile(filePath: filePath, mediaType: mediaType) }
    }

    func deleteFile(filePath: String) async throws {
        try await AppCodeScope.call { try await base.deleteFile(filePath: filePath) }
    }

    func fileExists(filePath: String) async throws -> Bool {
        try await AppCodeScope.call { try await base.fileExists(filePath: filePath) }
    }

    func fileSize(filePath: String) async throws -> Int64? {
        try await AppCodeScope.call { try await base.fileSize(filePath: filePath) }
    }

    func makeDir(path: String) async throws {
        try await AppCodeScope.call { try await base.makeDir(path: path) }
    }

    func rmDir(path: String) async throws {
        try await AppCodeScope.call { try await base.rmDir(path: path) }
    }

    func copyFile(sourcePath: String, targetPath: String) async throws {
        try await AppCodeScope.call { try await base.copyFile(sourcePath: sourcePath, targetPath: targetPath) }
    }

    func moveFile(sourcePath: String, targetPath: String) async throws {
        try await AppCodeScope.call { try await base.moveFile(sourcePath: sourcePath, targetPath: targetPath) }
    }

    func linkFile(sourcePath: String, targetPath: String) async throws {
        try await AppCodeScope.call { try await base.linkFile(sourcePath: sourcePath, targetPath: targetPath) }
    }

    func removeSource(sourcePath: String) async throws {
        try await AppCodeScope.call { try await base.removeSource(sourcePath: sourcePath) }
    }

    func removeTemporaryFiles(path: String, olderThan date: Date) async throws {
        try await AppCodeScope.call { try await base.removeTemporaryFiles(path: path, olderThan: date) }
    }

    func files(path: String, notChangedSince date: Date) async throws -> [String] {
        try await AppCodeScope.call { try await base.files(path: path, notChangedSince: date) }
    }
}
