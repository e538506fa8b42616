import Foundation
import PowerSyncClient

/// The room that is left on volumes.
enum VolumeSpace {
    /// How many bytes this process may still write to the volume of a directory.
    ///
    /// It blocks. Others write as well: a write may fail nevertheless.
    ///
    /// - Returns: `nil` when that cannot be found out, for example because there is no such directory.
    static func available(in directory: String) -> Int64? {
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
