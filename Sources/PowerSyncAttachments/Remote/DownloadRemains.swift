import Foundation
import PowerSyncClient

/// What there is at the path of a download before it begins.
///
/// Another download may be at work there, of this process or of another one. So what is found here holds only as long as the file
/// stays as it is, which ``PartialDownload`` checks when it has the file for itself.
struct DownloadRemains: Sendable {
    /// The path.
    let path: String
    /// What the system says about the file; `nil` when there is none.
    let attributes: OpenFile.Attributes?
    /// How to continue an earlier attempt; `nil` when that cannot be done.
    private(set) var record: DownloadRecord?

    /// Looks at a path.
    ///
    /// - Throws: ``PowerSyncAttachmentError``
    static func find(at path: String) async throws -> DownloadRemains {
        try await FileWork.run {
            // Before the record: a file that is changed in between is one that has changed.
            var remains = DownloadRemains(path: path, attributes: try OpenFile.attributes(path))
            let state = AttachmentPath.downloadStatePath(for: path)
            guard
                let size = try OpenFile.attributes(path, followsLinks: false)?.size,
                let file = try? OpenFile(state, for: .reading),
                let record = try? JSONDecoder().decode(DownloadRecord.self, from: file.read(upTo: 4096)),
                record.bytes > 0, record.bytes <= size
            else { return remains }
            remains.record = record
            return remains
        }
    }

    private init(path: String, attributes: OpenFile.Attributes?) {
        self.path = path
        self.attributes = attributes
    }

    /// Checks that the volume has room for what is still to come.
    ///
    /// - Parameters:
    ///   - record: Which bytes of the file stay.
    ///   - size: The size of the whole file; `nil` when it is not known, and nothing is checked.
    /// - Throws: ``PowerSyncAttachmentError/ioError(_:)``, which says that the disk is full.
    func checkRoom(after record: DownloadRecord, upTo size: Int64?) async throws {
        guard let size, size > record.bytes else { return }
        // What is there and does not stay makes room.
        let returned = max(0, (attributes?.size ?? 0) - record.bytes)
        let needed = size - record.bytes - returned
        let directory = AttachmentPath.directory(of: path)
        try await FileWork.run {
            guard let available = DownloadRemains.availableSpace(in: directory), needed > available else { return }
            throw PowerSyncAttachmentError.ioError(POSIXError(.ENOSPC))
        }
    }

    /// How many bytes this process may still write to the volume of a directory.
    ///
    /// It blocks. Others write as well: a write may fail nevertheless.
    ///
    /// - Returns: `nil` when that cannot be found out, for example because there is no such directory.
    private static func availableSpace(in directory: String) -> Int64? {
        var status = statvfs()
        guard unsafe statvfs(directory, &status) == 0 else { return nil }
        // The types differ from system to system.
        let (bytes, overflows) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        let free = overflows ? Int64.max : Int64(clamping: bytes)
        #if os(iOS) || os(macOS) || os(visionOS)
        // The system makes room for files by removing what it can get again, which does not count as free.
        let key = URLResourceKey.volumeAvailableCapacityForImportantUsageKey
        let values = try? URL(filePath: directory).resourceValues(forKeys: [key])
        return max(free, values?.volumeAvailableCapacityForImportantUsage ?? 0)
        #else
        return free
        #endif
    }
}
