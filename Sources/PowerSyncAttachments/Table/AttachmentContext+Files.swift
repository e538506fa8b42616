import Foundation
import PowerSyncClient

/// Finds the path of a file name.
///
/// It throws for names that lead out of the attachments directory: such a file is never touched.
typealias AttachmentLocation = @Sendable (_ filename: String) async throws -> String

/// The ids of the rows that refer to a path, by paths in lower case: paths that differ by case only count as one, since on some volumes they
/// are one file.
typealias PathClaims = [String: Set<String>]

/// What was found on the disk, before a transaction that depends on it.
struct ExaminedFile: Sendable {
    /// The row whose file it is, as it was then.
    let row: Attachment
    /// Where the file is.
    let file: LocalFile

    /// Whether it still tells something about a row.
    func isAbout(_ row: Attachment) -> Bool {
        row.localUri == self.row.localUri && row.filename == self.row.filename
    }
}

extension AttachmentContext {
    /// Collects the paths that rows refer to.
    static func claims(of rows: some Sequence<Attachment>) -> PathClaims {
        rows.reduce(into: [:]) { claims, row in
            if let path = row.localUri { claims[path.lowercased(), default: []].insert(row.id) }
        }
    }

    /// Looks for the file of a row.
    ///
    /// - Parameters:
    ///   - row: The row.
    ///   - claims: The paths that rows refer to: no row takes over the file of another.
    ///   - localUri: Where files are now.
    ///   - storage: What to ask.
    /// - Returns: `nil`, after a log message, when the storage cannot tell or the file's name is none.
    /// - Throws: `CancellationError` when the task is cancelled.
    func examine(
        _ row: Attachment,
        claims: PathClaims,
        localUri: AttachmentLocation,
        storage: any LocalStorageAdapter
    ) async throws -> ExaminedFile? {
        do {
            var refusal: (any Error)?
            do {
                if let path = row.localUri, try await storage.fileExists(filePath: path) {
                    return ExaminedFile(row: row, file: .inPlace)
                }
            } catch {
                // A path of an earlier directory may be one that the storage refuses, or may not look at.
                refusal = error
            }
            let path = AttachmentPath.current(row.localUri, for: try await localUri(row.filename), id: row.id)
            if path != row.localUri, !claims[path.lowercased(), default: []].contains(where: { $0 != row.id }),
                try await storage.fileExists(filePath: path)
            {
                return ExaminedFile(row: row, file: .moved(to: path))
            }
            switch refusal {
            case nil: break
            // It will never be readable there.
            case PowerSyncAttachmentError.invalidPath? where path != row.localUri: break
            case let error?: throw error
            }
            return ExaminedFile(row: row, file: .missing)
        } catch {
            // The storage may throw CancellationError by itself; only a cancelled task ends the work.
            try Task.checkCancellation()
            logger.error(
                "The file \(row.filename) of \(row.id) could not be looked for: \(error.localizedDescription)",
                tag: LogTag.attachments
            )
            return nil
        }
    }
}

/// Where the file of an attachment was found on this device.
enum LocalFile: Sendable, Equatable {
    /// At the row's own path.
    case inPlace
    /// Not at the row's path, but at the one that its file name has now: the directory was moved, for example.
    case moved(to: String)
    /// At neither of them.
    case missing
}
