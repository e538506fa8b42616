import Foundation
import PowerSyncClient
import PowerSyncSQLite

// New files, which take their paths exclusively.
extension FileManagerStorageAdapter {
    /// Creates a file at the first of some paths at which there is nothing, with the directories above it.
    ///
    /// A file appears at its path when it is complete and on the disk. Whatever is at a path stays, also a directory and a symbolic link,
    /// and also when another process has created it a moment before.
    public nonisolated func createFile(
        _ content: AttachmentFileContent,
        atFirstFreeOf paths: [String]
    ) async throws -> CreatedAttachmentFile? {
        guard let first = paths.first else { return nil }
        switch content {
        case .data(let data):
            return try await perform(on: first) { _ in
                let file = try TemporaryFile(for: first)
                defer { file.discard() }
                try file.write(data)
                return try file.commit(atFirstFreeOf: paths).map {
                    CreatedAttachmentFile(path: $0, size: Int64(data.count))
                }
            }
        case .chunks(let chunks):
            let file = try await perform(on: first) { _ in try TemporaryFile(for: first) }
            return try await naming(file, atFirstFreeOf: paths) { try await write(chunks, to: file, first) }
        case .copy(let source):
            return try await copy(source, atFirstFreeOf: paths)
        case .link(let source):
            if let file = try await link(source, atFirstFreeOf: paths) { return file }
            return try await copy(source, atFirstFreeOf: paths)
        case .move(let source):
            return try await move(source, atFirstFreeOf: paths)
        }
    }

    /// Writes a file and gives it its name; removes it when either fails.
    private nonisolated func naming(
        _ file: TemporaryFile,
        atFirstFreeOf paths: [String],
        _ write: () async throws -> Int64
    ) async throws -> CreatedAttachmentFile? {
        do {
            let size = try await write()
            let path = try await perform(on: paths[0]) { _ in try file.commit(atFirstFreeOf: paths) }
            try await FileWork.run { file.discard() }
            return path.map { CreatedAttachmentFile(path: $0, size: size) }
        } catch {
            try await FileWork.run { file.discard() }
            throw error
        }
    }

    private nonisolated func copy(
        _ sourcePath: String,
        atFirstFreeOf paths: [String]
    ) async throws -> CreatedAttachmentFile? {
        let (source, file) = try await openCopy(of: sourcePath, for: paths[0])
        return try await naming(file, atFirstFreeOf: paths) { try await copy(source, to: file, paths[0]) }
    }

    /// - Returns: `nil` when the file has to be copied, or no path is free.
    private nonisolated func link(
        _ source: String,
        atFirstFreeOf paths: [String]
    ) async throws -> CreatedAttachmentFile? {
        try AttachmentPath.check(systemPath: source)
        return try await perform(on: paths[0]) { _ in
            // A symbolic link would be linked itself, and lead to a file that is not ours.
            guard let attributes = try OpenFile.attributes(source, followsLinks: false) else { return nil }
            try FileManagerStorageAdapter.prepare(source, for: paths[0])
            do {
                guard let path = try paths.first(where: { try OpenFile.linkIfFree(source, to: $0) == true }) else {
                    return nil
                }
                try OpenFile.synchronizeNewName(path)
                return CreatedAttachmentFile(path: path, size: attributes.size)
            } catch PowerSyncAttachmentError.ioError(let error as POSIXError) where error.code == .EXDEV {
                return nil
            }
        }
    }

    private nonisolated func move(
        _ source: String,
        atFirstFreeOf paths: [String]
    ) async throws -> CreatedAttachmentFile? {
        try AttachmentPath.check(systemPath: source)
        let (isOnVolume, file) = try await perform(on: paths[0]) { _ -> (Bool, CreatedAttachmentFile?) in
            try FileManagerStorageAdapter.prepare(source, for: paths[0])
            let size = try OpenFile(source, for: .reading).size()
            do {
                guard let path = try paths.first(where: { try OpenFile.renameIfFree(source, to: $0) }) else {
                    return (true, nil)
                }
                try OpenFile.synchronizeDirectory(AttachmentPath.directory(of: path))
                return (true, CreatedAttachmentFile(path: path, size: size))
            } catch PowerSyncAttachmentError.ioError(let error as POSIXError) where error.code == .EXDEV {
                return (false, nil)
            }
        }
        if isOnVolume { return file }
        guard let copy = try await copy(source, atFirstFreeOf: paths) else { return nil }
        try await removeSource(sourcePath: source)
        return copy
    }
}
