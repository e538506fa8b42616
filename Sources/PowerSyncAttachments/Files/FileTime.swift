import Foundation

extension stat {
    /// When the file was last changed: its content, or what the system keeps about it, such as its names.
    ///
    /// A file that is linked or renamed keeps the time of its content, which may be long ago.
    var changed: Date {
        #if canImport(Darwin)
        return max(Date(st_mtimespec), Date(st_ctimespec))
        #else
        return max(Date(st_mtim), Date(st_ctim))
        #endif
    }
}

extension Date {
    fileprivate init(_ time: timespec) {
        self.init(timeIntervalSince1970: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
    }
}
