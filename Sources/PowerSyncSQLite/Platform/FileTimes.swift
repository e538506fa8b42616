import Foundation

/// The names of times differ.
extension stat {
    /// When the content was changed, in nanoseconds since 1970.
    var modified: Int64 {
        #if canImport(Darwin)
        Self.nanoseconds(st_mtimespec)
        #else
        Self.nanoseconds(st_mtim)
        #endif
    }

    /// When content, name, owner or rights were changed, in nanoseconds since 1970.
    var changed: Int64 {
        #if canImport(Darwin)
        Self.nanoseconds(st_ctimespec)
        #else
        Self.nanoseconds(st_ctim)
        #endif
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
